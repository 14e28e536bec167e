//! One game between two players.

use crate::{Clock, Limit, Player, PlayerError, Thought, TimeControl, Turn};
use mavis_game::{EndReason, Game, Move, Outcome, Position, Side};
use mavis_search::Cancel;
use std::{
    fmt,
    time::{Duration, Instant},
};

/// How games are refereed.
#[derive(Clone, Debug)]
pub struct Referee {
    /// Limit per move for each side; the clock is added by the referee.
    pub limits: [Limit; 2],
    /// Clocks, if the game is timed.
    pub time_control: Option<TimeControl>,
    /// Time a player may overstep before it loses on time, for the lag of the machine.
    pub tolerance: Duration,
    /// Whether draws that may be claimed (threefold repetition, fifty moves) end the game.
    pub claim_draws: bool,
    /// Plies after which the game is stopped as a draw; `None` means no end but the rules'.
    pub max_plies: Option<u32>,
    /// Cancelled from outside to abandon the game.
    pub cancel: Cancel,
}

impl Default for Referee {
    fn default() -> Self {
        Self {
            limits: [Limit::default(), Limit::default()],
            time_control: None,
            tolerance: Duration::from_millis(20),
            claim_draws: true,
            max_plies: None,
            cancel: Cancel::default(),
        }
    }
}

/// A game as it was played.
#[derive(Clone, Debug)]
pub struct GameRecord<G = Position> {
    /// Where it started.
    pub start: G,
    /// Every move with what its player thought.
    pub moves: Vec<MoveRecord>,
    /// Where it stopped.
    pub end: G,
    /// The result and its reason; `None` when the game was abandoned from outside or a player broke.
    pub verdict: Option<Verdict>,
    /// Whose network failed, and why ([`PlayerError::Broken`]); the game then counts for nobody.
    pub broken: Option<(Side, String)>,
}

/// One move of a record.
#[derive(Clone, Debug)]
pub struct MoveRecord {
    /// The move.
    pub mv: Move,
    /// Its text in the position it was played in.
    pub text: String,
    /// What the player thought.
    pub thought: Thought,
    /// How long it took.
    pub time: Duration,
}

/// Result and reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Who won.
    pub outcome: Outcome,
    /// Why the game ended.
    pub termination: Termination,
}

/// Why a game ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Termination {
    /// By the rules.
    Rules(EndReason),
    /// A draw that could be claimed was taken.
    ClaimedDraw,
    /// The side overstepped its time.
    Time(Side),
    /// The side made a move the rules do not allow.
    IllegalMove(Side),
    /// The side's player failed.
    Failure {
        /// Whose player.
        side: Side,
        /// What happened.
        reason: String,
    },
    /// The side gave up.
    Resignation(Side),
    /// The game reached its maximum length.
    MaxLength,
    /// Someone other than the rules decided it.
    Adjudication(String),
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let player = |side: Side| if side == Side::First { "first" } else { "second" };
        match self {
            Self::Rules(reason) => write!(f, "{reason}"),
            Self::ClaimedDraw => f.write_str("draw claimed"),
            Self::Time(side) => write!(f, "{} player lost on time", player(*side)),
            Self::IllegalMove(side) => write!(f, "illegal move by the {} player", player(*side)),
            Self::Failure { side, reason } => write!(f, "{} player failed: {reason}", player(*side)),
            Self::Resignation(side) => write!(f, "{} player resigned", player(*side)),
            Self::MaxLength => f.write_str("maximum length"),
            Self::Adjudication(reason) => write!(f, "adjudicated: {reason}"),
        }
    }
}

/// Sees every move of a game as it is played, and may end the game.
pub trait Observer<G = Position> {
    /// Called after each move with the position it led to; a verdict ends the game.
    fn moved(&mut self, record: &MoveRecord, position: &G) -> Option<Verdict>;
}

impl<G, F: FnMut(&MoveRecord, &G)> Observer<G> for F {
    fn moved(&mut self, record: &MoveRecord, position: &G) -> Option<Verdict> {
        self(record, position);
        None
    }
}

impl Referee {
    /// Plays a game to its end; whatever a player does, there is a record. One whose network fails has no verdict.
    pub fn play<G: Game>(&self, start: &G, players: [&mut dyn Player<G>; 2]) -> GameRecord<G> {
        self.play_observed(start, players, &mut |_: &MoveRecord, _: &G| {})
    }

    /// The same, with someone watching.
    pub fn play_observed<G: Game>(
        &self,
        start: &G,
        mut players: [&mut dyn Player<G>; 2],
        observer: &mut dyn Observer<G>,
    ) -> GameRecord<G> {
        let mut record = GameRecord {
            start: start.clone(),
            moves: Vec::new(),
            end: start.clone(),
            verdict: None,
            broken: None,
        };
        for player in &mut players {
            player.new_game(start.rules());
        }
        let mut clocks = self.time_control.map(|control| [control.base; 2]);
        let mut played = Vec::new();
        while !self.cancel.is_cancelled() {
            if let Some(verdict) = self.end_by_rules(&record) {
                record.verdict = Some(verdict);
                break;
            }
            let side = record.end.side_to_move();
            let began = Instant::now();
            let mut turn = Turn {
                start,
                moves: &played,
                position: &record.end,
                limit: self.limit(side, clocks),
                cancel: self.cancel.clone(),
                sink: &mut |_| {},
            };
            let answer = players[side.index()].choose(&mut turn);
            let time = began.elapsed();
            if let Err(PlayerError::Broken(reason)) = answer {
                record.broken = Some((side, reason));
                break;
            }
            if self.cancel.is_cancelled() && answer.is_err() {
                break;
            }
            match self.judge(&record.end, answer, time, clocks.map(|clocks| clocks[side.index()])) {
                Err(termination) => {
                    let outcome = Outcome::Win(side.other());
                    record.verdict = Some(Verdict { outcome, termination });
                    break;
                }
                Ok((mv, thought)) => {
                    if let (Some(clocks), Some(control)) = (&mut clocks, self.time_control) {
                        let left = &mut clocks[side.index()];
                        *left = left.saturating_sub(time).saturating_add(control.increment);
                    }
                    let text = record.end.move_text(mv);
                    record.end.play_unchecked(mv);
                    played.push(mv);
                    let made = MoveRecord { mv, text, thought, time };
                    players[record.end.side_to_move().index()].overhear(&made.thought);
                    let ended = observer.moved(&made, &record.end);
                    record.moves.push(made);
                    if ended.is_some() && self.end_by_rules(&record).is_none() {
                        record.verdict = ended;
                        break;
                    }
                }
            }
        }
        record
    }

    fn end_by_rules<G: Game>(&self, record: &GameRecord<G>) -> Option<Verdict> {
        let position = &record.end;
        if let (Some(outcome), Some(reason)) = (position.outcome(), position.end_reason()) {
            return Some(Verdict { outcome, termination: Termination::Rules(reason) });
        }
        let draw = |termination| Some(Verdict { outcome: Outcome::Draw, termination });
        if self.claim_draws && position.claimable_draw() {
            return draw(Termination::ClaimedDraw);
        }
        match self.max_plies {
            Some(most) if record.moves.len() >= most as usize => draw(Termination::MaxLength),
            _ => None,
        }
    }

    fn limit(&self, side: Side, clocks: Option<[Duration; 2]>) -> Limit {
        let mut limit = self.limits[side.index()].clone();
        if let (Some(clocks), Some(control)) = (clocks, self.time_control) {
            limit.clock = Some(Clock {
                own: clocks[side.index()],
                other: clocks[side.other().index()],
                increment: control.increment,
                other_increment: control.increment,
                moves_to_go: None,
            });
        }
        limit
    }

    /// The move that stands, or why the side has lost by what it did.
    fn judge<G: Game>(
        &self,
        position: &G,
        answer: Result<crate::Choice, PlayerError>,
        time: Duration,
        left: Option<Duration>,
    ) -> Result<(Move, Thought), Termination> {
        let side = position.side_to_move();
        let choice = answer.map_err(|error| match error {
            PlayerError::Resign => Termination::Resignation(side),
            other => Termination::Failure { side, reason: other.to_string() },
        })?;
        let allowed = [left, self.limits[side.index()].time].into_iter().flatten().min();
        if allowed.is_some_and(|allowed| time > allowed.saturating_add(self.tolerance)) {
            return Err(Termination::Time(side));
        }
        if !position.is_legal(choice.mv) {
            return Err(Termination::IllegalMove(side));
        }
        Ok((choice.mv, choice.thought))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, RandomPlayer};
    use mavis_game::Rules;

    struct Scripted(Box<dyn FnMut() -> Result<Choice, PlayerError> + Send>);

    impl Player for Scripted {
        fn name(&self) -> String {
            "scripted".to_owned()
        }

        fn choose(&mut self, _: &mut Turn<'_>) -> Result<Choice, PlayerError> {
            (self.0)()
        }
    }

    fn against_random(
        referee: &Referee,
        script: impl FnMut() -> Result<Choice, PlayerError> + Send + 'static,
    ) -> Verdict {
        let (mut first, mut second) = (Scripted(Box::new(script)), RandomPlayer::new(7));
        let record = referee.play(&Position::start(Rules::Connect4), [&mut first, &mut second]);
        record.verdict.expect("a game always ends")
    }

    #[test]
    fn misbehavior_is_a_result_with_a_reason() {
        let verdict = against_random(&Referee::default(), || Ok(Choice::plain(Move(77))));
        assert_eq!(verdict.termination, Termination::IllegalMove(Side::First));
        assert_eq!(verdict.outcome, Outcome::Win(Side::Second));
        let verdict = against_random(&Referee::default(), || Err(PlayerError::Failed("engine died".into())));
        assert!(verdict.termination.to_string().contains("engine died"));
        let verdict = against_random(&Referee::default(), || Err(PlayerError::Resign));
        assert_eq!(verdict.termination, Termination::Resignation(Side::First));
        let mut slow = Referee::default();
        slow.limits[0].time = Some(Duration::from_millis(1));
        let verdict = against_random(&slow, || {
            std::thread::sleep(Duration::from_millis(60));
            Ok(Choice::plain(Move(0)))
        });
        assert_eq!(verdict.termination, Termination::Time(Side::First));
    }

    #[test]
    fn the_same_seeds_give_the_same_game() {
        let game = || {
            let (mut first, mut second) = (RandomPlayer::new(1), RandomPlayer::new(2));
            Referee::default().play(&Position::start(Rules::Connect4), [&mut first, &mut second])
        };
        let (one, two) = (game(), game());
        assert_eq!(one.end, two.end);
        assert_eq!(one.verdict, two.verdict);
        assert_eq!(one.moves.len(), two.moves.len());
    }

    #[test]
    fn a_reseeded_player_plays_as_a_new_one() {
        let game = |players: [&mut dyn Player; 2]| {
            Referee::default().play(&Position::start(Rules::Connect4), players).end
        };
        let mut used: [Box<dyn Player>; 2] =
            [Box::new(RandomPlayer::new(1)), Box::new(crate::RolloutPlayer::new(Some(50), None, 2))];
        let [first, second] = &mut used;
        let expected = game([&mut **first, &mut **second]);
        first.reseed(1);
        second.reseed(2);
        assert_eq!(game([&mut **first, &mut **second]), expected);
    }

    #[test]
    fn length_is_bounded_when_asked() {
        let referee = Referee { max_plies: Some(5), ..Referee::default() };
        let (mut first, mut second) = (RandomPlayer::new(1), RandomPlayer::new(2));
        let record = referee.play(&Position::start(Rules::Connect4), [&mut first, &mut second]);
        assert_eq!(record.moves.len(), 5);
        assert_eq!(record.verdict.expect("ended").termination, Termination::MaxLength);
    }
}
