use super::*;
use crate::{Cache, Mistaken, Mistakes, Recorder, Scripted, ready};
use mavis_game::{Outcome, Position, Rules};
use mavis_value::Mistake;

const GAMES: [&str; 8] =
    ["chess", "chess960", "connect4", "othello", "hex", "hex:size=5,swap", "hex:size=4", "togyz"];

/// Running positions of random games, some of each.
fn positions() -> Vec<Position> {
    let mut seed = 0;
    let mut positions = Vec::new();
    for rules in GAMES.map(|game| game.parse::<Rules>().unwrap()) {
        for plies in [0, 1, 2, 5, 9, 20, 40, 60, 90, 120] {
            let mut position = Position::start(rules);
            position.playout(plies, || {
                seed += 1;
                mavis_stable::seed::mix(seed) as u32
            });
            positions.extend(position.outcome().is_none().then_some(position));
        }
    }
    positions
}

/// What a move is worth follows from the position after it, by what is the same in all views.
#[derive(Clone, Copy)]
struct Symmetric;

impl Evaluator for Symmetric {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let value = |state: &Position, mv| {
            let mut after = state.clone();
            after.play_unchecked(mv);
            let mut weights = [0.0; N_BUCKETS];
            weights[after.n_legal_moves() % N_BUCKETS] += 0.75;
            weights[N_BUCKETS - 1 - usize::from(after.outcome().is_some())] += 0.25;
            Value::from(Distribution(weights))
        };
        ready(requests.iter().map(|request| crate::double::by_rules(request, value)).collect())
    }

    fn describe(&self) -> String {
        "symmetric".to_owned()
    }
}

/// The moves of a state by an evaluator, in the order of the rules.
async fn moves(evaluator: &impl Evaluator, position: &Position) -> Vec<MoveValue> {
    let evaluation = evaluator.evaluate_one(Request::state(position.clone())).await.unwrap();
    assert_eq!(*evaluation.state, *position);
    let EndOrMoves::Moves(moves) = evaluation.content else { panic!("the game is not over") };
    moves
}

#[tokio::test]
async fn what_symmetries_do_not_change_is_as_without_views() {
    for position in positions() {
        let alone = moves(&Symmetric, &position).await;
        for most in 1..=8 {
            assert_eq!(moves(&Views::new(Symmetric, most), &position).await, alone, "{position} {most}");
        }
    }
}

#[tokio::test]
async fn what_they_change_is_averaged_over_all_views() {
    let scripted = Scripted::new(5);
    let mut most_seen = HashMap::new();
    for position in positions() {
        for most in 1..=8 {
            let views: Vec<(usize, Position)> =
                (0..position.n_views()).filter_map(|n| Some((n, position.view(n)?))).take(most).collect();
            let seen = most_seen.entry(position.rules()).or_insert(0);
            *seen = views.len().max(*seen);
            let mut asked = Vec::new();
            for (number, view) in &views {
                asked.push((*number, moves(&scripted, view).await));
            }
            let averaged = moves(&Views::new(scripted, most), &position).await;
            assert_eq!(averaged.len(), position.n_legal_moves());
            for entry in &averaged {
                let of_view = |(number, moves): &(usize, Vec<MoveValue>)| {
                    let mv = position.move_in_view(*number, entry.mv);
                    moves.iter().find(|entry| entry.mv == mv).unwrap().value.clone()
                };
                let values: Vec<Value> = asked.iter().map(of_view).collect();
                let n = values.len() as f32;
                let mean = values.iter().map(|value| value.mean).sum::<f32>() / n;
                assert!((entry.value.mean - mean).abs() < 1e-6, "{position}");
                let distribution = entry.value.distribution.as_ref().unwrap();
                for bucket in 0..N_BUCKETS {
                    let weights = values.iter().map(|value| value.distribution.as_ref().unwrap().0[bucket]);
                    assert_eq!(distribution.0[bucket], weights.sum::<f32>() / n);
                }
                assert_eq!(entry.value.mode, distribution.win_probability(Scoring::Max));
            }
        }
    }
    let of = |game: &str| most_seen[&game.parse().unwrap()];
    assert_eq!(["chess", "connect4", "othello", "hex", "togyz"].map(of), [4, 2, 8, 2, 1]);
}

#[tokio::test]
async fn the_views_of_all_requests_are_one_batch_and_are_remembered() {
    let recorder = Recorder::new(Scripted::new(2));
    let cache = Cache::new(recorder.clone(), 100);
    let views = Views::new(cache.clone(), 8);
    let played = |game: &str, moves: &[&str]| {
        let mut position = Position::start(game.parse().unwrap());
        moves.iter().for_each(|mv| assert!(position.play_text(mv).is_ok()));
        position
    };
    let othello = played("othello", &["d3", "c3"]);
    let chess = played("chess", &["e4"]);
    let over = played("connect4", &["1", "2", "1", "2", "1", "2", "1"]);
    let togyz = played("togyz", &[]);
    let requests = [&othello, &chess, &over, &togyz].map(|position| Request::state(position.clone()));
    let replies = Views::new(recorder.clone(), 8).evaluate(requests.to_vec()).await;
    // Eight views; colors exchanged and not, with castling; the end; and a game without symmetries.
    assert_eq!(recorder.batch_sizes(), [8 + 2 + 1 + 1]);
    let end = replies[2].as_ref().unwrap();
    assert!(matches!(end.content, EndOrMoves::Ended(Outcome::Win(_))));
    let first = views.evaluate(requests.to_vec()).await;
    assert_eq!(first, replies);
    assert_eq!(cache.counts().misses, 12);
    let each = views.evaluate_each(requests[..2].to_vec());
    assert_eq!(all(each).await, first[..2]);
    // A player without views finds the position among them.
    cache.evaluate_one(requests[0].clone()).await.unwrap();
    assert_eq!((cache.counts().misses, cache.counts().hits), (12, 11));
}

#[tokio::test]
async fn a_child_is_the_state_after_the_move_by_the_rules() {
    let start = Position::start(Rules::Othello);
    let mv = start.legal_moves()[0];
    let mut after = start.clone();
    after.play_unchecked(mv);
    let views = Views::new(Scripted::new(5), 3);
    let asked = views.evaluate_one(Request::child(start.clone(), mv)).await;
    assert_eq!(asked, views.evaluate_one(Request::state(after)).await);
    let illegal = views.evaluate_one(Request::child(start, Move(0))).await;
    assert!(
        matches!(illegal, Err(EvalError::Hallucination { kind: Mistake::IllegalMove, .. })),
        "{illegal:?}"
    );
}

/// Fixed answers to the requests of a batch, in their order.
struct Fixed(fn(usize, Reply) -> Reply);

impl Evaluator for Fixed {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let answers = requests.iter().map(|request| {
            crate::double::by_rules(request, |_, _| {
                Value::certain(if requests[0] == *request { 0.25 } else { 0.75 })
            })
        });
        ready(answers.enumerate().map(|(at, reply)| self.0(at, reply)).collect())
    }

    fn describe(&self) -> String {
        "fixed".to_owned()
    }
}

#[tokio::test]
async fn a_view_with_a_mistake_does_not_count_and_a_failure_is_the_answer() {
    let position = Position::start(Rules::Othello);
    let ask = |answer: fn(usize, Reply) -> Reply| {
        Views::new(Fixed(answer), 2).evaluate_one(Request::state(position.clone()))
    };
    let values = |reply: Reply| match reply.unwrap().content {
        EndOrMoves::Moves(moves) => moves.iter().map(|entry| entry.value.clone()).collect::<Vec<_>>(),
        EndOrMoves::Ended(_) => panic!("the game is not over"),
    };
    fn malformed() -> Reply {
        Err(EvalError::hallucination(Mistake::Malformed, "on purpose"))
    }
    fn failed() -> Reply {
        Err(EvalError::Failed("on purpose".to_owned()))
    }
    fn end(reply: Reply) -> Reply {
        reply.map(|it| Evaluation { content: EndOrMoves::Ended(Outcome::Draw), ..it })
    }
    assert_eq!(
        values(ask(|_, reply| reply).await),
        [const { Value { mean: 0.5, mode: 0.5, distribution: None } }; 4]
    );
    let first_is_wrong = ask(|at, reply| if at == 0 { malformed() } else { reply }).await;
    assert_eq!(values(first_is_wrong), [const { Value { mean: 0.75, mode: 0.75, distribution: None } }; 4]);
    let second_is_over = ask(|at, reply| if at == 1 { end(reply) } else { reply }).await;
    assert_eq!(values(second_is_over)[0].mean, 0.25);
    assert_eq!(ask(|_, _| malformed()).await, malformed());
    assert_eq!(ask(|at, reply| if at == 1 { failed() } else { reply }).await, failed());
}

#[tokio::test]
async fn moves_that_a_view_leaves_out_or_invents_change_nothing_in_the_others() {
    let mistakes = Mistakes { missing_move: 0.5, illegal_move: 0.5, seed: 3, ..Mistakes::default() };
    let views = Views::new(Mistaken::new(Scripted::new(5), mistakes), 8);
    for position in positions().into_iter().filter(|position| position.n_views() > 1) {
        let listed = moves(&views, &position).await;
        assert!(listed.iter().all(|entry| position.is_legal(entry.mv)), "{position}");
        assert!(listed.len() + 1 >= position.n_legal_moves());
    }
}
