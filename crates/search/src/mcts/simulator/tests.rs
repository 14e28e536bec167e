use super::*;
use crate::mcts::{VirtualCounts, VirtualValue, tree::Stat, world::ByRules};
use mavis_game::{Connect4, Game as _, Side};
use proptest::prelude::*;

fn simulator(settings: &MctsSettings) -> Simulator<ByRules<Connect4>> {
    Simulator::new(ByRules { root: Connect4::default() }, settings)
}

fn columns(n: u16) -> Vec<(Move, f32)> {
    (0..n).map(|column| (Move(column), 0.5)).collect()
}

/// Figure 5: three simulations with leaves at depth 3, two of which share their first move.
#[test]
fn virtual_counts_are_those_of_figure_5() {
    let settings: MctsSettings = "virtual=dynamic,n_min=2,n_max=8".parse().unwrap();
    let mut simulator = simulator(&settings);
    let new = |simulator: &mut Simulator<_>, n| simulator.expand(0, &columns(n));
    let root = new(&mut simulator, 2);
    let (left, right) = (new(&mut simulator, 2), new(&mut simulator, 1));
    let deep: Vec<NodeIdx> = (0..3).map(|_| new(&mut simulator, 1)).collect();
    let edge = |simulator: &Simulator<ByRules<Connect4>>, node, index| {
        let edge = simulator.tree.edges(node).nth(index).unwrap();
        Step { node, edge }
    };
    let [a, b] = [0, 1].map(|index| edge(&simulator, root, index));
    let [aa, ab] = [0, 1].map(|index| edge(&simulator, left, index));
    let ba = edge(&simulator, right, 0);
    let leaves: Vec<Step> = deep.iter().map(|&node| edge(&simulator, node, 0)).collect();
    for path in [[a, aa, leaves[0]], [a, ab, leaves[1]], [b, ba, leaves[2]]] {
        simulator.lend(&path);
    }
    let count = |step: &Step| simulator.tree.stat(step.edge).virtual_visits;
    // As printed, from the top: +4 +2, +4 +4 +4, +8 +8 +8.
    assert_eq!([a, b].map(|step| count(&step)), [4, 2]);
    assert_eq!([aa, ab, ba].map(|step| count(&step)), [4, 4, 4]);
    assert_eq!(leaves.iter().map(count).collect::<Vec<_>>(), [8, 8, 8]);
    assert_eq!(simulator.tree.node(root).virtual_visits, 6);
}

/// Algorithm 4 divides V by N with the virtual counts in it; with V from 0 to 1 they are lost visits, with -1 to 1 draws.
#[test]
fn virtual_counts_weigh_in_the_mean_as_the_settings_say() {
    let stat = Stat { prior: 0.5, score: 0.6, visits: 6, virtual_visits: 4 };
    assert_eq!(stat.lowered_score(VirtualValue::None), 0.6);
    assert!((stat.lowered_score(VirtualValue::Draw) - 0.36).abs() < 1e-6);
    // Win probabilities: 0.8 of 6 visits are 4.8 points, of 10 visits 0.48, which is -0.04 from -1 to 1.
    assert!((stat.lowered_score(VirtualValue::Loss) + 0.04).abs() < 1e-6);
    let pending = Stat { prior: 0.5, score: 0.0, visits: 0, virtual_visits: 8 };
    assert_eq!(pending.lowered_score(VirtualValue::Draw), 0.0);
    assert_eq!(pending.lowered_score(VirtualValue::Loss), -1.0);
    let shut = Stat { score: f32::NEG_INFINITY, ..pending };
    assert_eq!(shut.lowered_score(VirtualValue::Loss), f32::NEG_INFINITY);
}

/// A leaf under evaluation with all of the prior: where simulations wait, only its own counts keep the next one away.
#[test]
fn a_leaf_under_evaluation_is_governed_by_its_counts_where_simulations_wait() {
    let second = |spec: &str| {
        let settings: MctsSettings = format!("k=1,epsilon=0,virtual=dynamic,{spec}").parse().unwrap();
        let mut simulator = simulator(&settings);
        simulator.expand_root(&[(Move(3), 0.9), (Move(4), 0.1)]);
        assert!(matches!(simulator.begin(), Begun::Leaf(..)));
        simulator.begin()
    };
    assert!(matches!(second("collision=elsewhere"), Begun::Leaf(..)));
    // 2 * sqrt(8) / 9 beats the other move's 0.
    assert!(matches!(second("collision=wait,n_max=8"), Begun::Blocked));
    // A lost visit does not.
    assert!(matches!(second("collision=wait,n_max=8,virtual_value=loss"), Begun::Leaf(..)));
}

/// What happens to the oldest or newest leaf in flight.
#[derive(Clone, Copy, Debug)]
enum Event {
    Begin,
    Answer { newest: bool, values: u64 },
    Dead { newest: bool },
    GiveUp { newest: bool },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Begin),
        3 => (any::<bool>(), any::<u64>()).prop_map(|(newest, values)| Event::Answer { newest, values }),
        1 => any::<bool>().prop_map(|newest| Event::Dead { newest }),
        1 => any::<bool>().prop_map(|newest| Event::GiveUp { newest }),
    ]
}

fn legal_values(position: &Connect4, values: u64) -> Vec<(Move, f32)> {
    let mut moves = mavis_game::Moves::new();
    position.legal_moves_into(&mut moves);
    moves.iter().map(|&mv| (mv, ((values >> (8 * mv.0)) & 255) as f32 / 255.0)).collect()
}

/// Everything that must hold whenever nothing is in flight.
fn check_at_rest(simulator: &Simulator<ByRules<Connect4>>, n_completed: u32) {
    let tree = &simulator.tree;
    assert_eq!(tree.node(NodeIdx::ROOT).visits, n_completed);
    for index in 0..tree.nodes.len() {
        let node = NodeIdx(index as u32);
        assert_eq!(tree.node(node).virtual_visits, 0);
        let visits: u32 = tree.edges(node).map(|edge| tree.stat(edge).visits).sum();
        assert_eq!(tree.node(node).visits, visits, "visits sum");
        for edge in tree.edges(node) {
            let (stat, link) = (tree.stat(edge), tree.link(edge));
            assert_eq!(stat.virtual_visits, 0);
            assert_ne!(link.fate, Fate::Pending);
            if link.child != NodeIdx::NONE {
                let below = tree.node(link.child).visits;
                match link.fate {
                    // One visit for the move's own evaluation, the others went on.
                    Fate::Open => assert_eq!(stat.visits, below + 1),
                    _ => assert!(stat.visits > below),
                }
            }
            if link.fate == Fate::Open {
                assert!(stat.score.abs() <= 1.0);
                assert_eq!(stat.score, tree.mean(edge).unwrap_or(0.0));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever fails, times out or is dead, in whatever order: at rest no count is left over.
    #[test]
    fn virtual_counts_vanish(
        events in prop::collection::vec(event(), 1..400),
        solver in any::<bool>(),
        (virtual_counts, virtual_value, collision) in (0..3_usize, 0..3_usize, 0..2_usize),
        start in prop::collection::vec(0_u16..7, 0..30),
    ) {
        let mut settings = MctsSettings { solver, ..Default::default() };
        settings.set("virtual", VirtualCounts::WORDS[virtual_counts]).unwrap();
        settings.set("virtual_value", VirtualValue::WORDS[virtual_value]).unwrap();
        settings.set("collision", Collision::WORDS[collision]).unwrap();
        let mut root = Connect4::default();
        for column in start {
            if root.outcome().is_none() {
                let _ = root.play(Move(column)); // A full column is passed over.
            }
        }
        prop_assume!(root.outcome().is_none());
        let mut simulator = Simulator::new(ByRules { root }, &settings);
        simulator.expand_root(&legal_values(&root, 0x1234_5678_9abc_def0));
        let mut flights = std::collections::VecDeque::new();
        let mut n_completed = 0;
        for event in events {
            let mut take = |newest| if newest { flights.pop_back() } else { flights.pop_front() };
            match event {
                Event::Begin => match simulator.begin() {
                    Begun::Leaf(ticket, position) => flights.push_back((ticket, position)),
                    Begun::Known => n_completed += 1,
                    Begun::Blocked => prop_assert!(!flights.is_empty()),
                    Begun::Settled => break,
                },
                Event::Answer { newest, values } => if let Some((ticket, position)) = take(newest) {
                    simulator.answer(ticket, &legal_values(&position, values));
                    n_completed += 1;
                },
                Event::Dead { newest } => if let Some((ticket, _)) = take(newest) {
                    simulator.answer_dead(ticket);
                },
                Event::GiveUp { newest } => if let Some((ticket, _)) = take(newest) {
                    simulator.give_up(ticket);
                },
            }
            let lent: u32 = flights.iter().map(|&(Ticket(ticket), _)| {
                let path = &simulator.paths[ticket];
                simulator.virtual_rule.count(1, path.len())
            }).sum();
            prop_assert_eq!(simulator.tree.node(NodeIdx::ROOT).virtual_visits, lent);
        }
        for (ticket, _) in flights {
            simulator.give_up(ticket);
        }
        check_at_rest(&simulator, n_completed);
    }

    /// What the solver proves is what a full search of the rules says.
    #[test]
    fn proofs_are_true(start in prop::collection::vec(0_u16..7, 60), seed in any::<u64>()) {
        let mut root = Connect4::default();
        for column in start {
            if root.ply() < 31 {
                let mut next = root;
                if next.play(Move(column)).is_ok() && next.outcome().is_none() {
                    root = next;
                }
            }
        }
        prop_assume!(root.ply() >= 28);
        let settings = MctsSettings { simulations: 3000, seed, ..Default::default() };
        let mut values = seed | 1;
        let report = crate::mcts::search_game(&root, &settings, &crate::Stop::never(), |position, moves| {
            values = values.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            moves.extend(legal_values(position, values));
        });
        let truth = negamax(root);
        if let Some(value) = report.proof.value() {
            prop_assert_eq!(value, truth as f32);
        }
        for entry in &report.moves {
            let mut after = root;
            after.play_unchecked(entry.mv);
            if let Some(value) = entry.proof.value() {
                prop_assert_eq!(value, -negamax(after) as f32);
            }
        }
    }
}

/// The result for the side to move by looking at everything.
fn negamax(position: Connect4) -> i32 {
    if let Some(outcome) = position.outcome() {
        return outcome.winner().map_or(0, |winner| if winner == position.side_to_move() { 1 } else { -1 });
    }
    let mut moves = mavis_game::Moves::new();
    position.legal_moves_into(&mut moves);
    let mut best = -1;
    for &mv in &moves {
        let mut after = position;
        after.play_unchecked(mv);
        best = best.max(-negamax(after));
        if best == 1 {
            break;
        }
    }
    best
}

#[test]
fn a_known_end_is_worth_exactly_what_it_is() {
    let settings = MctsSettings { solver: false, simulations: 300, ..Default::default() };
    let root = {
        let mut root = Connect4::default();
        for column in [3, 0, 3, 0, 3, 0] {
            root.play(Move(column)).unwrap();
        }
        root
    };
    assert_eq!(root.side_to_move(), Side::First);
    let free = |position: &Connect4, moves: &mut Vec<(Move, f32)>| {
        moves.extend(legal_values(position, u64::MAX / 2))
    };
    let report = crate::mcts::search_game(&root, &settings, &crate::Stop::never(), free);
    let win = report.moves.iter().find(|entry| entry.mv == Move(3)).unwrap();
    assert_eq!((report.best, win.value), (Some(Move(3)), Some(1.0)));
    assert_eq!(report.counts.completed, 300);
    // With the solver the win is proven before the first simulation.
    let settings = MctsSettings { solver: true, ..settings };
    let report = crate::mcts::search_game(&root, &settings, &crate::Stop::never(), free);
    assert_eq!((report.proof, report.stopped), (Proof::Win, crate::mcts::Stopped::Settled));
    assert_eq!(report.counts.simulations, 0);
}

/// An evaluator that overlooks the only winning move, and a prior that never looks at it.
#[test]
fn a_move_that_wins_at_once_is_found_whatever_the_evaluator_says() {
    let overlooks = |position: &Connect4, moves: &mut Vec<(Move, f32)>| {
        let wins = |mv: Move| {
            let mut after = *position;
            after.play_unchecked(mv);
            after.outcome().is_some()
        };
        moves.extend(position.legal_moves().into_iter().map(|mv| (mv, if wins(mv) { 0.0 } else { 0.9 })));
    };
    let mut root = Connect4::default();
    for column in [3, 0, 3, 0, 3, 0] {
        root.play(Move(column)).unwrap();
    }
    let settings = MctsSettings { simulations: 1, top_k: 2, epsilon: 0.0, ..Default::default() };
    let search = |settings| crate::mcts::search_game(&root, &settings, &crate::Stop::never(), overlooks);
    let found = search(settings.clone());
    assert_eq!((found.best, found.proof), (Some(Move(3)), Proof::Win));
    assert_ne!(search(MctsSettings { solver: false, ..settings }).best, Some(Move(3)));
}
