//! Scores of moves: what a policy chooses by.

use super::{PredictorSpec, Target, examples::index, input, tokens};
use crate::{ModelError, forward::Forward};
use mavis_game::{Game as _, Move, Position};
use mavis_net::{Batch, Want};

/// Scores moves of positions, in passes of at most `most` inputs: the expected win probability of the mover for AV and SV, the probability of
/// being the oracle's choice for BC.
///
/// SV asks for every position a move leads to, from the opponent's view; where the rules end the game there, they give the value. Values of a predictor that
/// learned by squared error may lie a little outside of 0 to 1, which keeps their order; a win by the rules is then above them all.
///
/// # Errors
/// Positions that are not chess, or a network that fails.
pub fn score_moves(
    network: &mut (impl Forward + ?Sized),
    spec: PredictorSpec,
    positions: &[(&Position, &[Move])],
    most: usize,
) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut asked = Asked { network, spec, most: most.max(1), batch: Batch::default(), answers: Vec::new() };
    let mut places = Vec::with_capacity(positions.len());
    for (position, moves) in positions {
        let place = asked.n_asked();
        places.push(match spec.target {
            Target::ActionValue => {
                let characters = characters(position)?;
                for mv in *moves {
                    let action = index(position, *mv).map_err(ModelError::Input)?;
                    asked.ask(&characters, Some(action))?;
                }
                vec![Score::Asked(place); moves.len()]
            }
            Target::StateValue => asked.children(position, moves)?,
            Target::BehavioralCloning => {
                asked.ask(&characters(position)?, None)?;
                vec![Score::Asked(place); moves.len()]
            }
        });
    }
    asked.run()?;
    let answers = asked.answers;
    let score = |(position, moves): &(&Position, &[Move]), places: Vec<Score>| {
        let mut scores: Vec<f32> = Vec::with_capacity(moves.len());
        let mut wins = Vec::new();
        for (offset, (place, mv)) in places.into_iter().zip(*moves).enumerate() {
            scores.push(match (place, spec.target) {
                (Score::Known(value), _) => {
                    wins.extend((value == 1.0).then_some(offset));
                    value
                }
                (Score::Asked(first), Target::ActionValue) => spec.value(&answers[first + offset]),
                (Score::Asked(place), Target::StateValue) => 1.0 - spec.value(&answers[place]),
                (Score::Asked(place), Target::BehavioralCloning) => {
                    let action = index(position, *mv).map_err(ModelError::Input)?;
                    probability(&answers[place], usize::from(action))
                }
            });
        }
        let highest = scores.iter().copied().fold(f32::MIN, f32::max);
        if highest > 1.0 {
            wins.into_iter().for_each(|idx| scores[idx] = highest.next_up());
        }
        Ok(scores)
    };
    positions.iter().zip(places).map(|(asked, places)| score(asked, places)).collect()
}

/// Where a move's score comes from.
#[derive(Clone, Copy)]
enum Score {
    /// The rules.
    Known(f32),
    /// The answer with this number; for AV that of the position's first move.
    Asked(usize),
}

/// Inputs gathered into passes.
struct Asked<'a, N: ?Sized> {
    network: &'a mut N,
    spec: PredictorSpec,
    most: usize,
    batch: Batch,
    /// Logits of every input that ran.
    answers: Vec<Vec<f32>>,
}

impl<N: Forward + ?Sized> Asked<'_, N> {
    fn n_asked(&self) -> usize {
        self.answers.len() + self.batch.n_sequences()
    }

    fn ask(
        &mut self,
        characters: &[u8; tokens::N_CHARACTERS],
        action: Option<u16>,
    ) -> Result<(), ModelError> {
        input(&mut self.batch, characters, action);
        if self.batch.n_sequences() == self.most { self.run() } else { Ok(()) }
    }

    fn children(&mut self, position: &Position, moves: &[Move]) -> Result<Vec<Score>, ModelError> {
        let mover = position.side_to_move();
        let mut scores = Vec::with_capacity(moves.len());
        for mv in moves {
            let mut after = position.clone();
            after.play_unchecked(*mv);
            scores.push(match after.outcome() {
                Some(outcome) => {
                    Score::Known(outcome.winner().map_or(0.5, |winner| f32::from(u8::from(winner == mover))))
                }
                None => {
                    let place = self.n_asked();
                    self.ask(&characters(&after)?, None)?;
                    Score::Asked(place)
                }
            });
        }
        Ok(scores)
    }

    fn run(&mut self) -> Result<(), ModelError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let logits = self.network.forward(&self.batch, &Want::last(&self.batch))?;
        let n_outputs = self.spec.n_outputs();
        self.answers.extend((0..logits.n_rows()).map(|row| logits.row(row)[..n_outputs].to_vec()));
        self.batch.clear();
        Ok(())
    }
}

fn characters(position: &Position) -> Result<[u8; tokens::N_CHARACTERS], ModelError> {
    match position {
        Position::Chess(_) => {
            tokens::characters(&position.to_string()).map_err(|error| ModelError::Input(error.to_string()))
        }
        other => Err(ModelError::Input(format!("predictors know chess, not {}", other.rules()))),
    }
}

/// The softmax probability of a class.
fn probability(logits: &[f32], class: usize) -> f32 {
    let most = logits.iter().copied().fold(f32::MIN, f32::max);
    let total: f32 = logits.iter().map(|logit| (logit - most).exp()).sum();
    (logits[class] - most).exp() / total
}
