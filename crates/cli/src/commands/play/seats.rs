//! Which game, and who sits on which side.

use crate::input::{BadInput, Place};
use clap::Args;
use mavis_game::{Chess, Position, Rules};
use mavis_web::{LEVELS, Level};
use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A person at the terminal.
pub(super) const HUMAN: &str = "human";
/// The opponent where none is named.
const USUAL_LEVEL: &str = "thinker";

#[derive(Args)]
pub(super) struct Seats {
    /// The game: chess, chess960, connect4, hex (hex:size=13, hex:swap), othello or togyz (default chess)
    #[arg(value_name = "GAME")]
    name: Option<String>,
    /// The same as a flag
    #[arg(long, conflicts_with = "name")]
    game: Option<String>,
    /// Position text (a FEN for chess). Default: the start position
    #[arg(long, allow_hyphen_values = true)]
    position: Option<String>,
    /// Your opponent: a level of the list below or a player line (default thinker)
    #[arg(long, value_name = "LEVEL", conflicts_with_all = ["first", "second"])]
    against: Option<String>,
    /// Your side: first, second, or its color (default first)
    #[arg(long, conflicts_with_all = ["first", "second"])]
    side: Option<String>,
    /// The player who moves first from the start position (White in chess): human, a level or a player line
    #[arg(long, value_name = "PLAYER")]
    first: Option<String>,
    /// The other player
    #[arg(long, value_name = "PLAYER")]
    second: Option<String>,
}

impl Seats {
    /// A game between two players.
    pub(super) fn between(game: &str, first: &str, second: &str) -> Self {
        Self {
            name: Some(game.to_owned()),
            game: None,
            position: None,
            against: None,
            side: None,
            first: Some(first.to_owned()),
            second: Some(second.to_owned()),
        }
    }

    /// The position given; without one the start, which the seed draws in Chess960.
    pub(super) fn start(&self, seed: u64) -> Result<Position, BadInput> {
        let game = self.name.as_ref().or(self.game.as_ref()).map_or("chess", String::as_str);
        let place = Place { game: game.to_owned(), position: self.position.clone() };
        let array = || Xoshiro256PlusPlus::seed_from_u64(seed).random_range(0..960);
        match (place.rules()?, &place.position) {
            (Rules::Chess960, None) => {
                Chess::start960(array()).map(Position::Chess).ok_or_else(|| BadInput::new("no such array"))
            }
            _ => place.position(),
        }
    }

    /// Player lines of both sides; `human` is a person. Whoever is not named is you, or the usual opponent.
    pub(super) fn names(&self, rules: Rules) -> Result<[String; 2], BadInput> {
        let other = |name: &String| if name == HUMAN { level(USUAL_LEVEL) } else { HUMAN.to_owned() };
        let (first, second) = (self.first.as_deref().map(level), self.second.as_deref().map(level));
        Ok(match (first, second) {
            (Some(first), Some(second)) => [first, second],
            (Some(first), None) => [first.clone(), other(&first)],
            (None, Some(second)) => [other(&second), second],
            (None, None) => {
                let against = level(self.against.as_deref().unwrap_or(USUAL_LEVEL));
                match self.own_side(rules)? {
                    0 => [HUMAN.to_owned(), against],
                    _ => [against, HUMAN.to_owned()],
                }
            }
        })
    }

    /// The names of a saved game, except where the command line says otherwise.
    pub(super) fn names_or(&self, [first, second]: [String; 2]) -> [String; 2] {
        let instead = |name: String| match &self.against {
            Some(against) if name != HUMAN => level(against),
            _ => name,
        };
        [
            self.first.as_deref().map_or_else(|| instead(first), level),
            self.second.as_deref().map_or_else(|| instead(second), level),
        ]
    }

    fn own_side(&self, rules: Rules) -> Result<usize, BadInput> {
        let (_, colors) = mavis_web::names(rules);
        let Some(side) = &self.side else { return Ok(0) };
        let known = [["first", colors[0]], ["second", colors[1]]];
        known.iter().position(|names| names.iter().any(|name| name.eq_ignore_ascii_case(side))).ok_or_else(
            || {
                let colors = colors.map(str::to_lowercase).join(" or ");
                BadInput::new(format!("--side: '{side}' is not first, second, {colors}"))
            },
        )
    }
}

/// The player line of a level's name; anything else is a player line already.
fn level(name: &str) -> String {
    Level::named(name).map_or_else(|| name.to_owned(), |level| level.player.to_owned())
}

/// The levels, for the help.
pub(super) fn levels_help() -> String {
    let mut text = "Levels, weakest first:\n".to_owned();
    for level in LEVELS {
        text.push_str(&format!("  {:<14} {} ({})\n", level.word(), level.help, level.player));
    }
    text + "\nA player line names any other player: mavis help players lists them."
}
