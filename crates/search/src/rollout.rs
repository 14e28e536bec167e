//! Plain MCTS: UCT, a uniform prior, one random game a simulation. The baseline of paper 001.

mod tree;

use crate::{Stop, random::Random, tunable::tunables};
use mavis_game::{Game, GameVisitor, Move, Moves, Outcome, Side};
use tree::{ROOT, Tree};

tunables! {
    /// Settings of the rollout search.
    pub struct RolloutSettings {
        simulations "sims": u32 = 100, Integer(1, 4_000_000_000), "Simulations to run; each ends in one random game or in a finished position.";
        // The constant of UCT is √2 for rewards in [0, 1]; kept on our range of [-1, 1] it explores half as much.
        c "c": f32 = std::f32::consts::SQRT_2, Real(0.0, 1000.0), "Exploration constant of UCT, for values from -1 to 1.";
        seed "seed": u64 = 0, Integer(0, u64::MAX), "Seed of the random games.";
        max_nodes "max_nodes": u32 = 1 << 26, Integer(1, 1 << 31), "Most nodes of the tree (16 bytes each); a full tree is still searched, but grows no further.";
    }
}

/// What the search found out about one root move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MoveReport {
    /// The move.
    pub mv: Move,
    /// Simulations that went through it.
    pub visits: u32,
    /// Their mean result for the player who makes the move, -1 (loss) to 1 (win); 0 when unvisited.
    pub value: f32,
}

/// The result of a rollout search.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Every legal move in the order of the rules.
    pub moves: Vec<MoveReport>,
    /// The move with the most visits, ties by value; `None` when the game is over.
    pub best: Option<Move>,
    /// Simulations run, fewer than asked when stopped.
    pub simulations: u32,
    /// Nodes in the tree at the end.
    pub nodes: usize,
}

/// Searches a position of any game.
#[must_use]
pub fn search<G: Game>(position: &G, settings: &RolloutSettings, stop: &Stop) -> Report {
    position.visit(Rollouts { settings, stop })
}

/// The search as a visitor, so that random games are played by the rules of one game and not through a sum of games.
struct Rollouts<'a> {
    settings: &'a RolloutSettings,
    stop: &'a Stop,
}

impl GameVisitor for Rollouts<'_> {
    type Output = Report;

    fn visit<G: Game>(self, position: &G) -> Report {
        search_game(position, self.settings, self.stop)
    }
}

/// Searches a position of a game known at compile time.
#[must_use]
pub fn search_game<G: Game>(root: &G, settings: &RolloutSettings, stop: &Stop) -> Report {
    let mut random = Random::seeded(settings.seed);
    let mut moves = Moves::new();
    root.legal_moves_into(&mut moves);
    let mut tree = Tree::new();
    tree.expand(ROOT, &moves);
    let mut simulations = 0;
    if !moves.is_empty() {
        // The clock is read every 16 simulations: even the slowest game does thousands per second.
        while simulations < settings.simulations && (simulations % 16 != 0 || !stop.is_due()) {
            simulate(&mut tree, root, settings, &mut random);
            simulations += 1;
        }
    }
    report(&tree, &moves, simulations)
}

/// One simulation: down by UCT, one new node, a random game, the result up the path.
fn simulate<G: Game>(tree: &mut Tree, root: &G, settings: &RolloutSettings, random: &mut Random) {
    let mut game = root.clone();
    let mut node = ROOT;
    let mut moves = Moves::new();
    tree.path.clear();
    let result = loop {
        if !tree.has_children(node) {
            // A node is expanded at its second visit: most nodes of a tree are seen once.
            if tree.visits(node) == 0 || tree.len() >= settings.max_nodes as usize {
                break game.playout(u32::MAX, || random.bits());
            }
            moves.clear();
            if game.claimable_draw() {
                break Some(Outcome::Draw);
            }
            game.legal_moves_into(&mut moves);
            if moves.is_empty() {
                break game.outcome();
            }
            tree.expand(node, &moves);
        }
        node = tree.select(node, settings.c, random);
        tree.path.push(node);
        game.play_unchecked(tree.mv(node));
    };
    let root_side = root.side_to_move();
    tree.back_up(root_side, result.and_then(Outcome::winner));
}

fn report(tree: &Tree, moves: &Moves, simulations: u32) -> Report {
    let mut reports: Vec<MoveReport> = tree.children(ROOT).collect();
    reports.sort_by_key(|report| moves.iter().position(|&mv| mv == report.mv));
    // `max_by` keeps the last of equals; reversed, so that the first legal move wins a full tie.
    let best = reports
        .iter()
        .rev()
        .max_by(|a, b| a.visits.cmp(&b.visits).then(a.value.total_cmp(&b.value)))
        .map(|report| report.mv);
    Report { moves: reports, best, simulations, nodes: tree.len() }
}

/// 1 when `side` won, -1 when it lost, 0 for a draw.
fn points(side: Side, winner: Option<Side>) -> i32 {
    match winner {
        None => 0,
        Some(winner) if winner == side => 1,
        Some(_) => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::{Position, Rules};

    fn connect4(columns: &str) -> Position {
        let mut position = Position::start(Rules::Connect4);
        for column in columns.chars() {
            position.play_text(&column.to_string()).unwrap();
        }
        position
    }

    #[test]
    fn visits_sum_to_the_simulations_and_repeat_with_the_seed() {
        let settings = RolloutSettings { simulations: 1000, seed: 7, ..Default::default() };
        let first = search(&connect4("44"), &settings, &Stop::never());
        assert_eq!(first.moves.iter().map(|report| report.visits).sum::<u32>(), 1000);
        assert_eq!(first, search(&connect4("44"), &settings, &Stop::never()));
        let other = RolloutSettings { seed: 8, ..settings };
        assert_ne!(first, search(&connect4("44"), &other, &Stop::never()));
    }

    #[test]
    fn takes_a_win_and_stops_a_loss() {
        let settings = RolloutSettings { simulations: 400, ..Default::default() };
        let win = search(&connect4("414141"), &settings, &Stop::never());
        assert_eq!(win.best, Some(Move(3)));
        assert_eq!(win.moves[3].value, 1.0, "a finished game counts exactly");
        assert_eq!(search(&connect4("1414243"), &settings, &Stop::never()).best, Some(Move(3)));
    }

    #[test]
    fn a_cancelled_search_ends_at_once_and_a_finished_game_has_no_best_move() {
        let stop = Stop::never();
        stop.cancel.cancel();
        let report = search(&connect4(""), &RolloutSettings::default(), &stop);
        assert_eq!((report.simulations, report.best), (0, Some(Move(0))));
        let over = search(&connect4("4141414"), &RolloutSettings::default(), &Stop::never());
        assert_eq!((over.simulations, over.best), (0, None));
    }

    #[test]
    fn a_full_tree_is_still_searched() {
        let settings = RolloutSettings { simulations: 300, max_nodes: 20, ..Default::default() };
        let report = search(&connect4(""), &settings, &Stop::never());
        assert_eq!(report.simulations, 300);
        assert!(report.nodes < 20 + 7);
    }
}
