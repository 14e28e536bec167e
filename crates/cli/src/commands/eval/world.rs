//! `mavis eval world`: games on a model's own word, and what the rules have to say about it.

use super::legality::decoder;
use crate::commands::{answer, answer_json};
use crate::input::OrBadInput;
use clap::Args;
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_lang::{Commands, Request, check_answer};
use mavis_model::decode::{FanOutAnswer, MavDecoder};
use mavis_value::{Mistake, MistakeCounts};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// Plays games of a model against itself with the model as world model, and counts its mistakes against the rules.
///
/// After a few random moves, each state, its legal moves and its end are the model's answer to the previous state and the last move. The
/// model plays the listed move with the highest mean value. Every answer is compared with the rules. An illegal move is replaced by the
/// best legal move of the list, or by a random legal move if the list has none. The next request starts from the true position, so that
/// each mistake counts once.
///
/// Example: mavis eval world --game connect4 --games 100
#[derive(Args)]
pub(crate) struct World {
    /// The model, as a player: mav for the bundled one, mav:model=FILE,device=cuda for another
    #[arg(long, default_value = "mav")]
    player: String,
    /// The games, e.g. connect4 or hex:size=7; repeatable
    #[arg(long, default_values_t = ["connect4".to_owned()])]
    game: Vec<String>,
    /// Number of games of each, played concurrently
    #[arg(long, default_value_t = 50)]
    games: usize,
    /// Random moves at the start of a game
    #[arg(long, default_value_t = 4)]
    random_plies: u32,
    /// Maximum number of moves per game
    #[arg(long, default_value_t = 200)]
    max_plies: u32,
    /// Makes the games repeat exactly
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    player: String,
    games: Vec<Played>,
}

/// Games of one kind, and what was wrong in them.
#[derive(Default, Serialize)]
struct Played {
    game: String,
    n_games: usize,
    /// Games that came to their end; the others were broken off.
    n_ended: usize,
    /// Answers, one per move and one at the end of a game.
    n_answers: usize,
    n_moves: usize,
    /// Answers with nothing wrong in them.
    n_right: usize,
    wrong_states: usize,
    /// Lists that are not exactly the legal moves.
    wrong_lists: usize,
    /// Mistakes by kind, of any answer.
    mistakes: Vec<(String, usize)>,
    /// Moves that the referee replaced by the best legal one of the list, and by any legal one.
    replaced: usize,
    drawn_by_lot: usize,
    /// Passes of the network for an answer.
    passes: f64,
}

/// A game under way.
struct Table {
    previous: Position,
    last: Move,
    position: Position,
}

impl World {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let games: Vec<Rules> =
            self.game.iter().map(|name| name.parse()).collect::<Result<_, _>>().or_bad_input()?;
        let mut decoder = decoder(&self.player)?;
        let played = games.into_iter().map(|rules| self.play(&mut decoder, rules));
        let shown = Shown { player: self.player.clone(), games: played.collect::<anyhow::Result<_>>()? };
        if self.json { answer_json(&shown) } else { answer(&shown.text()) }
    }

    fn play(&self, decoder: &mut MavDecoder, rules: Rules) -> anyhow::Result<Played> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut tables: Vec<Table> =
            (0..self.games).filter_map(|_| opened(rules, self.random_plies.max(1), &mut random)).collect();
        let mut played = Played { game: rules.to_string(), n_games: tables.len(), ..Played::default() };
        let mut counts = MistakeCounts::default();
        let mut n_passes = 0;
        let commands = Commands { best: false, ..Commands::tracking(rules) };
        for _ in 0..self.max_plies {
            if tables.is_empty() {
                break;
            }
            let requests: Vec<Request> = tables
                .iter()
                .map(|table| Request::after(table.previous.clone(), table.last, commands))
                .collect();
            let answers = decoder.fan_out(&requests)?;
            for ((table, request), answer) in tables.iter_mut().zip(&requests).zip(&answers) {
                n_passes += answer.n_passes;
                played.count(request, answer, &mut counts);
                if table.position.outcome().is_none() {
                    let mv = played.choose(answer, &table.position, &mut random);
                    table.previous = table.position.clone();
                    table.last = mv;
                    table.position.play_unchecked(mv);
                } else {
                    played.n_ended += 1;
                }
            }
            // Those that were over before this round have given their last answer.
            let mut requests = requests.iter();
            tables.retain(|_| requests.next().is_some_and(|request| request.current().outcome().is_none()));
        }
        played.mistakes =
            counts.iter().filter(|(_, n)| *n > 0).map(|(kind, n)| (kind.to_string(), n)).collect();
        played.passes = n_passes as f64 / played.n_answers.max(1) as f64;
        Ok(played)
    }
}

/// A game after some random moves; `None` if they ended it at once.
fn opened(rules: Rules, n_plies: u32, random: &mut Xoshiro256PlusPlus) -> Option<Table> {
    let mut position = Position::start(rules);
    let mut last = None;
    for _ in 0..n_plies {
        let Some(mv) = position.random_move(random.random()) else { break };
        last = Some((position.clone(), mv));
        position.play_unchecked(mv);
    }
    last.map(|(previous, last)| Table { previous, last, position })
}

impl Played {
    /// Compares an answer with the rules.
    fn count(&mut self, request: &Request, answer: &FanOutAnswer, counts: &mut MistakeCounts) {
        self.n_answers += 1;
        if let Some(Err(broken)) = &answer.tracked {
            counts.add(broken.kind);
            self.wrong_states += 1;
            self.wrong_lists += 1;
            return;
        }
        let check = check_answer(request, &answer.answer(request));
        self.n_right += usize::from(check.is_right());
        self.wrong_states += usize::from(check.tracked_right == Some(false));
        let about_list = |kind: Mistake| {
            matches!(
                kind,
                Mistake::IllegalMove | Mistake::MissingMove | Mistake::RepeatedMove | Mistake::WrongEnd
            )
        };
        self.wrong_lists += usize::from(check.mistakes.iter().any(|mistake| about_list(mistake.kind)));
        check.mistakes.iter().for_each(|mistake| counts.add(mistake.kind));
    }

    /// The move that is played, by the model's word or the referee's.
    fn choose(
        &mut self,
        answer: &FanOutAnswer,
        position: &Position,
        random: &mut Xoshiro256PlusPlus,
    ) -> Move {
        self.n_moves += 1;
        let mut listed: Vec<(Move, f32)> =
            answer.fan.values.iter().map(|(mv, values)| (*mv, values.mean())).collect();
        listed.sort_by(|one, other| other.1.total_cmp(&one.1));
        match listed.iter().position(|(mv, _)| position.is_legal(*mv)) {
            Some(idx) => {
                self.replaced += usize::from(idx > 0);
                listed[idx].0
            }
            None => {
                self.drawn_by_lot += 1;
                let legal = position.legal_moves();
                legal[random.random_range(0..legal.len())]
            }
        }
    }
}

impl Shown {
    fn text(&self) -> String {
        let mut text = String::new();
        for played in &self.games {
            let per_thousand = |n: usize| 1e3 * n as f64 / played.n_answers.max(1) as f64;
            text.push_str(&format!(
                "{}: {} games, {} to their end, {} moves, {} answers in {:.2} passes each\n",
                played.game, played.n_games, played.n_ended, played.n_moves, played.n_answers, played.passes
            ));
            text.push_str(&format!(
                "  per 1,000 answers: {:.2} wrong states, {:.2} lists not exact, {:.2} with any mistake\n",
                per_thousand(played.wrong_states),
                per_thousand(played.wrong_lists),
                per_thousand(played.n_answers - played.n_right)
            ));
            for (kind, n) in &played.mistakes {
                text.push_str(&format!("  {kind}: {n} ({:.2} per 1,000)\n", per_thousand(*n)));
            }
            text.push_str(&format!(
                "  the referee replaced {} moves by the best legal one of the list, {} at random\n",
                played.replaced, played.drawn_by_lot
            ));
        }
        text
    }
}
