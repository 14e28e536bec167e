//! Games as other programs read them.

use super::{config, games, options, run_in};
use mavis_game::{Game, Rules};
use mavis_league::wire::pgn;

#[test]
fn pgn_reads_back_with_evaluations() {
    use pgn_reader::{Reader, SanPlus, Visitor, shakmaty};
    use shakmaty::{Chess, Position as _};
    use std::ops::ControlFlow;
    struct Replay(Vec<String>);
    impl Visitor for Replay {
        type Tags = ();
        type Movetext = (Chess, usize);
        type Output = (Chess, usize);
        fn begin_tags(&mut self) -> ControlFlow<Self::Output, ()> {
            ControlFlow::Continue(())
        }
        fn begin_movetext(&mut self, (): ()) -> ControlFlow<Self::Output, Self::Movetext> {
            ControlFlow::Continue((Chess::default(), 0))
        }
        fn san(&mut self, (position, n): &mut Self::Movetext, san: SanPlus) -> ControlFlow<Self::Output> {
            position.play_unchecked(san.san.to_move(position).expect("legal"));
            *n += 1;
            ControlFlow::Continue(())
        }
        fn comment(
            &mut self,
            _: &mut Self::Movetext,
            comment: pgn_reader::RawComment<'_>,
        ) -> ControlFlow<Self::Output> {
            self.0.push(String::from_utf8_lossy(comment.as_bytes()).into_owned());
            ControlFlow::Continue(())
        }
        fn end_game(&mut self, movetext: Self::Movetext) -> Self::Output {
            movetext
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'pgn \"quoted\"'
        game = 'chess'
        openings.random_plies = 4
        schedule.pairs = 1
        adjudication.max_plies = 31
        players = [{ player = 'evaluates:35', name = 'a' }, { player = 'random' }]
    ";
    run_in(folder.path(), &config(text), &options()).expect("runs");
    for game in games(folder.path()) {
        let text = pgn(&config(text), Rules::Chess, &game).expect("replays");
        assert!(text.contains("[Event \"pgn \\\"quoted\\\"\"]"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        let mut replay = Replay(Vec::new());
        let (position, n) = Reader::new(std::io::Cursor::new(&text)).read_game(&mut replay).unwrap().unwrap();
        assert_eq!(n, 4 + game.moves.len());
        let (last, mv) = game.positions(Rules::Chess).expect("replays").pop().expect("moves");
        let mut end = last;
        end.play_unchecked(mv);
        assert_eq!(
            shakmaty::fen::Fen::from_position(&position, shakmaty::EnPassantMode::Legal).to_string(),
            end.to_string()
        );
        let sign = if game.first == "a" { "" } else { "-" };
        assert!(
            replay.0.iter().any(|comment| comment.starts_with(&format!("[%eval {sign}0.35,3] [%emt "))),
            "{text}"
        );
        assert_eq!(replay.0[0], "book");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.ends_with("{maximum length} 1/2-1/2"), "{text}");
    }
}
