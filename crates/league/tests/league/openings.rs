//! Where games begin.

use super::{FOUR, config, games, options, run_in};
use mavis_game::Position;
use mavis_league::openings;

#[test]
fn pairs_share_an_opening_and_swap_sides() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &config(FOUR), &options()).expect("runs");
    let games = games(folder.path());
    for pair in games.chunks(2) {
        assert_eq!(pair[0].opening, pair[1].opening);
        assert_eq!((&pair[0].first, &pair[0].second), (&pair[1].second, &pair[1].first));
        assert_eq!(pair[0].opening.len(), 2);
    }
    let distinct: std::collections::BTreeSet<_> = games.iter().map(|game| &game.opening).collect();
    assert!(distinct.len() > 20, "{}", distinct.len());
}

#[test]
fn books_of_every_kind_give_openings() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("book.epd"),
        "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq c6 hmvc 0; fmvn 2;\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("book.pgn"),
        "[Event \"x\"]\n\n1. d4 d5 2. c4 (2. Nf3) e6 *\n\n1. c4 *\n",
    )
    .unwrap();
    let with = |openings_text: &str, game: &str| {
        let text = format!(
            "name='b'\ngame='{game}'\nopenings={openings_text}\nplayers=[{{player='random'}},{{player='lookahead:1'}}]"
        );
        openings::<Position>(&config(&text), folder.path())
    };
    let position = |openings_text: &str, game: &str, number: u64| {
        let openings = with(openings_text, game).expect("a good book");
        openings
            .opening(number)
            .expect("an opening")
            .position::<Position>(openings.rules())
            .expect("legal")
            .to_string()
    };
    assert!(
        position("{book='book.epd'}", "chess", 0)
            .starts_with("rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2")
    );
    assert!(
        position("{book='book.pgn',in_order=true}", "chess", 2)
            .starts_with("rnbqkbnr/ppp2ppp/4p3/3p4/2PP4/8/PP2PPPP/RNBQKBNR w")
    );
    assert!(position("{book='book.pgn',in_order=true,plies=1}", "chess", 0).contains("/3P4/"));
    let table: std::collections::BTreeSet<String> =
        (0..586).map(|number| position("{book='table4'}", "chess", number)).collect();
    assert_eq!(table.len(), 586);
    assert_ne!(
        position("{book='table4'}", "chess", 0),
        position("{book='table4',in_order=true}", "chess", 0)
    );
    // Chess960 draws arrays, the same for the same number.
    let arrays: std::collections::BTreeSet<String> =
        (0..200).map(|number| position("{}", "chess960", number)).collect();
    assert!(arrays.len() > 150, "{}", arrays.len());
    assert_eq!(position("{}", "chess960", 3), position("{}", "chess960", 3));
    for game in ["chess", "chess960", "connect4", "hex:size=5", "othello", "togyz"] {
        assert_ne!(position("{random_plies=5}", game, 1), position("{random_plies=5}", game, 2), "{game}");
    }
    // A book without a tag `Variant` holds games of the league; these moves are chess.
    assert!(with("{book='book.pgn'}", "othello").is_err());
    std::fs::write(folder.path().join("four.pgn"), "1. 4 4 2. 4 *\n\n[Variant \"connect4\"]\n\n1. 1 *\n")
        .unwrap();
    assert_eq!(
        position("{book='four.pgn',in_order=true}", "connect4", 1),
        format!("{}x...... o", "......./".repeat(5))
    );
    assert_eq!(
        position("{book='four.pgn',in_order=true,plies=2}", "connect4", 0),
        format!("{}...o.../...x... x", "......./".repeat(4))
    );
    assert!(with("{book='four.pgn'}", "togyz").is_err());
    assert!(with("{book='nowhere.epd'}", "chess").is_err());
}
