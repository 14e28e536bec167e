//! A game at the terminal between a person and a player, or two persons.

mod board;
mod prompt;
mod saved;

pub(crate) use board::Style;
pub(crate) use saved::{Continued, SavedGame};

use crate::commands::answer;
use board::draw;
use indicatif::{ProgressBar, ProgressStyle};
use mavis_data::pgn::move_text;
use mavis_game::{Game as _, Move, Outcome, Position, Side};
use mavis_play::{Choice, Clock, Limit, Player, PlayerError, Registry, TimeControl, Turn};
use mavis_search::Cancel;
use prompt::{COMMANDS, Prompt, Typed};
use std::time::{Duration, Instant};

/// Who answers `hint`.
const ADVISOR: &str = "mav-mcts:sims=100,batch=8";

/// One side of the board.
pub(crate) enum Seat {
    Person,
    Player(Box<dyn Player>),
}

/// What a game needs before it begins.
pub(crate) struct TerminalGame {
    pub(crate) start: Position,
    pub(crate) moves: Vec<Move>,
    pub(crate) seats: [Seat; 2],
    /// For the players; persons take their time.
    pub(crate) limit: Limit,
    pub(crate) clock: Option<TimeControl>,
    pub(crate) claim_draws: bool,
    pub(crate) max_plies: Option<u32>,
    pub(crate) saved: SavedGame,
    pub(crate) registry: Registry,
    pub(crate) style: Style,
    pub(crate) quiet: bool,
    /// Ctrl-C while a player thinks.
    pub(crate) cancel: Cancel,
}

/// How a game ended or why it stopped.
struct End {
    /// `None` when it can be continued.
    outcome: Option<Outcome>,
    reason: String,
}

impl TerminalGame {
    /// Plays until the game ends or the person leaves.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut table = Table::new(self)?;
        table.introduce()?;
        let end = loop {
            table.save("*")?;
            if let Some(end) = table.end_by_rules() {
                break end;
            }
            let began = Instant::now();
            let side = table.position.side_to_move();
            let end = match &table.game.seats[side.index()] {
                Seat::Person => table.person_moves()?,
                Seat::Player(_) => table.player_moves()?,
            };
            if let Some(end) = end.or_else(|| table.punch(side, began.elapsed())) {
                break end;
            }
        };
        table.save(end.outcome.map_or("*", Outcome::as_str))?;
        table.conclude(&end)
    }
}

/// A game in play.
struct Table {
    game: TerminalGame,
    position: Position,
    clocks: Option<[Duration; 2]>,
    turned: bool,
    prompt: Prompt,
    advisor: Option<Box<dyn Player>>,
}

impl Table {
    fn new(mut game: TerminalGame) -> anyhow::Result<Self> {
        let rules = game.start.rules();
        for seat in &mut game.seats {
            if let Seat::Player(player) = seat {
                player.new_game(rules);
            }
        }
        let turned = matches!(game.seats, [Seat::Player(_), Seat::Person]);
        let clocks = game.clock.map(|clock| [clock.base; 2]);
        let position = after(&game.start, &game.moves);
        Ok(Self { position, clocks, turned, prompt: Prompt::new()?, advisor: None, game })
    }

    fn introduce(&self) -> anyhow::Result<()> {
        let (title, sides) = mavis_web::names(self.game.start.rules());
        let who = |side: usize| match &self.game.seats[side] {
            Seat::Person => "you".to_owned(),
            Seat::Player(player) => player.name(),
        };
        let players = format!("{}: {}, {}: {}", sides[0], who(0), sides[1], who(1));
        answer(&self.game.style.strong(&format!("{title}. {players}")))?;
        answer(&self.game.style.faint("Type a move, or help."))?;
        self.show()
    }

    fn save(&self, result: &str) -> anyhow::Result<()> {
        self.game.saved.write(&self.game.start, &self.game.moves, result)
    }

    fn show(&self) -> anyhow::Result<()> {
        if self.game.quiet {
            return Ok(());
        }
        let last =
            self.game.moves.split_last().map(|(&mv, before)| after(&self.game.start, before).move_text(mv));
        answer(&draw(&self.position, last.as_deref(), self.turned, self.game.style))
    }

    fn end_by_rules(&self) -> Option<End> {
        if let Some(outcome) = self.position.outcome() {
            let reason = self.position.end_reason().map(|reason| reason.to_string()).unwrap_or_default();
            return Some(End { outcome: Some(outcome), reason });
        }
        let drawn = |reason: &str| Some(End { outcome: Some(Outcome::Draw), reason: reason.to_owned() });
        if self.game.claim_draws && self.position.claimable_draw() {
            return drawn("draw claimed");
        }
        let n_plies = u32::try_from(self.game.moves.len()).unwrap_or(u32::MAX);
        if self.game.max_plies.is_some_and(|most| n_plies >= most) {
            return drawn("maximum length");
        }
        None
    }

    /// Takes the time of a move off the clock.
    fn punch(&mut self, side: Side, time: Duration) -> Option<End> {
        let (clocks, control) = (self.clocks.as_mut()?, self.game.clock?);
        let left = &mut clocks[side.index()];
        if time > *left {
            return Some(End { outcome: Some(Outcome::Win(side.other())), reason: "time".to_owned() });
        }
        *left = (*left - time).saturating_add(control.increment);
        None
    }

    fn play(&mut self, mv: Move, value: Option<f32>) -> anyhow::Result<()> {
        let text = move_text(&self.position, mv);
        let number = number(&self.position);
        self.position.play_unchecked(mv);
        self.game.moves.push(mv);
        let value = value.map(|value| self.game.style.faint(&format!("  ({:.1} %)", 100.0 * value)));
        answer(&format!(
            "{}{}",
            self.game.style.strong(&format!("{number} {text}")),
            value.unwrap_or_default()
        ))?;
        self.show()
    }

    fn person_moves(&mut self) -> anyhow::Result<Option<End>> {
        loop {
            let moves = self.position.legal_moves().iter().map(|&mv| move_text(&self.position, mv)).collect();
            let prompt = self.prompt_text();
            match self.prompt.read(&prompt, moves)? {
                Typed::Move(text) => match self.position.parse_move(&text) {
                    Ok(mv) => return self.play(mv, None).map(|()| None),
                    Err(error) => answer(&format!("{error} (moves lists the legal ones)"))?,
                },
                Typed::Command(command) => {
                    if let Some(end) = self.obey(command)? {
                        return Ok(Some(end));
                    }
                    // Taking back may leave the move to someone else.
                    if !matches!(self.game.seats[self.position.side_to_move().index()], Seat::Person) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn prompt_text(&self) -> String {
        let (_, sides) = mavis_web::names(self.game.start.rules());
        let side = self.position.side_to_move().index();
        let clock = self.clocks.map(|clocks| format!(" [{:.0} s]", clocks[side].as_secs_f64()));
        format!("{} {}{}> ", number(&self.position), sides[side], clock.unwrap_or_default())
    }

    fn obey(&mut self, command: &str) -> anyhow::Result<Option<End>> {
        let side = self.position.side_to_move();
        match command {
            "help" => {
                let lines = COMMANDS.iter().map(|(name, help)| format!("  {name:<8} {help}\n"));
                answer(&format!("A move, such as {}, or:\n{}", self.example(), lines.collect::<String>()))?;
            }
            "moves" => {
                let moves = self.position.legal_moves();
                let moves: Vec<String> = moves.iter().map(|&mv| move_text(&self.position, mv)).collect();
                answer(&moves.join(" "))?;
            }
            "board" => self.show()?,
            "hint" => self.hint()?,
            "undo" => self.undo()?,
            "flip" => {
                self.turned = !self.turned;
                self.show()?;
            }
            "draw" if self.position.claimable_draw() => {
                return Ok(Some(End { outcome: Some(Outcome::Draw), reason: "draw claimed".to_owned() }));
            }
            "draw" => answer("no draw can be claimed here")?,
            "resign" => {
                let outcome = Some(Outcome::Win(side.other()));
                return Ok(Some(End { outcome, reason: "resignation".to_owned() }));
            }
            _ => return Ok(Some(End { outcome: None, reason: "left".to_owned() })),
        }
        Ok(None)
    }

    fn example(&self) -> String {
        let mv = self.position.legal_moves().last().copied();
        mv.map(|mv| move_text(&self.position, mv)).unwrap_or_default()
    }

    /// Takes moves back until the same person is to move as before.
    fn undo(&mut self) -> anyhow::Result<()> {
        if self.clocks.is_some() {
            return answer("moves cannot be taken back in a timed game");
        }
        let is_person = |seat: &Seat| matches!(seat, Seat::Person);
        let persons = self.game.seats.iter().filter(|seat| is_person(seat)).count();
        let mut n_kept = self.game.moves.len();
        while n_kept > 0 {
            n_kept -= 1;
            let position = after(&self.game.start, &self.game.moves[..n_kept]);
            if persons == 2 || is_person(&self.game.seats[position.side_to_move().index()]) {
                self.game.moves.truncate(n_kept);
                self.position = position;
                self.save("*")?;
                return self.show();
            }
        }
        answer("there is nothing to take back")
    }

    fn hint(&mut self) -> anyhow::Result<()> {
        let mut advisor = match self.advisor.take() {
            Some(advisor) => advisor,
            None => self.game.registry.build(&ADVISOR.parse()?, 0)?,
        };
        let chosen = self.think(&mut *advisor, Limit::default());
        self.advisor = Some(advisor);
        match chosen {
            Ok(Choice { mv, thought }) => {
                let value =
                    thought.value.map(|value| format!(" ({:.1} %)", 100.0 * value)).unwrap_or_default();
                let mut position = self.position.clone();
                let line = thought.line.iter().map_while(|&mv| {
                    let text = position.is_legal(mv).then(|| move_text(&position, mv))?;
                    position.play_unchecked(mv);
                    Some(text)
                });
                let line: Vec<String> = line.collect();
                answer(&format!("hint: {}{value}, line {}", move_text(&self.position, mv), line.join(" ")))
            }
            Err(error) => answer(&format!("no hint: {error}")),
        }
    }

    fn player_moves(&mut self) -> anyhow::Result<Option<End>> {
        let side = self.position.side_to_move();
        let mut limit = self.game.limit.clone();
        if let (Some(clocks), Some(control)) = (self.clocks, self.game.clock) {
            limit.clock = Some(Clock {
                own: clocks[side.index()],
                other: clocks[side.other().index()],
                increment: control.increment,
                other_increment: control.increment,
                moves_to_go: None,
            });
        }
        let seat = std::mem::replace(&mut self.game.seats[side.index()], Seat::Person);
        let Seat::Player(mut player) = seat else { return Ok(None) };
        let chosen = self.think(&mut *player, limit);
        let name = player.name();
        self.game.seats[side.index()] = Seat::Player(player);
        match chosen {
            _ if self.game.cancel.is_cancelled() => {
                Ok(Some(End { outcome: None, reason: "left".to_owned() }))
            }
            Ok(choice) if self.position.is_legal(choice.mv) => {
                self.play(choice.mv, choice.thought.value).map(|()| None)
            }
            Ok(_) => anyhow::bail!("{name} made an illegal move; the game is kept"),
            Err(PlayerError::Resign) => {
                let outcome = Some(Outcome::Win(side.other()));
                Ok(Some(End { outcome, reason: format!("{name} resigned") }))
            }
            Err(error) => anyhow::bail!("{name} failed: {error}; the game is kept"),
        }
    }

    /// Has a player think while a spinner turns.
    fn think(&self, player: &mut dyn Player, limit: Limit) -> Result<Choice, PlayerError> {
        let spinner = ProgressBar::new_spinner().with_message(format!("{} is thinking", player.name()));
        // The template is ours; a plain spinner would do as well.
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
        spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        spinner.tick();
        spinner.enable_steady_tick(Duration::from_millis(120));
        let mut sink = |_: &mavis_play::Thought| {};
        let chosen = player.choose(&mut Turn {
            start: &self.game.start,
            moves: &self.game.moves,
            position: &self.position,
            limit,
            cancel: self.game.cancel.clone(),
            sink: &mut sink,
        });
        spinner.finish_and_clear();
        chosen
    }

    fn conclude(&self, end: &End) -> anyhow::Result<()> {
        let path = self.game.saved.path.display();
        let Some(outcome) = end.outcome else {
            if self.game.moves.is_empty() {
                std::fs::remove_file(&self.game.saved.path)?;
                return answer("Nothing was played, so nothing is kept.");
            }
            return answer(&format!("The game is kept in {path}\nmavis play --continue {path} continues it"));
        };
        let person = |side: Side| matches!(self.game.seats[side.index()], Seat::Person);
        let (_, sides) = mavis_web::names(self.game.start.rules());
        let who = match outcome.winner() {
            None => "draw".to_owned(),
            Some(winner) if person(winner) && person(winner.other()) => {
                format!("{} wins", sides[winner.index()])
            }
            Some(winner) if person(winner) => "you win".to_owned(),
            Some(_) => "you lose".to_owned(),
        };
        let text = format!("{outcome}: {who} ({})", end.reason);
        answer(&format!("{}\nThe game is in {path}", self.game.style.strong(&text)))
    }
}

/// The number before a move: `12.` for the first player, `12...` for the second.
fn number(position: &Position) -> String {
    let dots = if position.side_to_move() == Side::First { "." } else { "..." };
    format!("{}{dots}", 1 + position.ply() / 2)
}

fn after(start: &Position, moves: &[Move]) -> Position {
    let mut position = start.clone();
    for &mv in moves {
        position.play_unchecked(mv);
    }
    position
}
