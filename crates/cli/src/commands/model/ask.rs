//! `mavis model ask`: one position, one answer.

use super::read_or_bundled;
use crate::{
    commands::{answer, answer_json},
    input::{BadInput, OrBadInput, Place},
};
use clap::{ArgAction, Args};
use mavis_game::{Game, Move, Position};
use mavis_lang::{Commands, Request, Top, check_answer, parse_commands, vocabulary};
use mavis_model::decode::{Drafting, GreedySettings, ListOrder, MavDecoder};
use mavis_net::{Device, Precision};
use mavis_value::Distribution;
use serde::Serialize;
use std::path::PathBuf;

/// Asks a model about a position: its moves with their values, or the state after a move.
///
/// Without --sequential all moves are asked at once. Example: mavis model ask --game connect4 --moves 4 4
#[derive(Args)]
pub(super) struct Ask {
    /// The model's file. Default: the bundled model
    model: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Moves to play first, in order
    #[arg(long, num_args = 1..)]
    moves: Vec<String>,
    /// How many moves: all, or a number for the best ones
    #[arg(long, default_value = "all")]
    top: String,
    /// Asks for the state after this move instead, in the model's own words
    #[arg(long, value_name = "MOVE")]
    track: Option<String>,
    /// Any commands of the language in place of --top, e.g. '%FEN %top_5 %best_action %FEN', or after --track
    /// '%prev_state %prev_action %state %top_all %best_action %state'; the answer is written token by token
    #[arg(long, value_name = "COMMANDS", conflicts_with_all = ["by_rules", "top"])]
    commands: Option<String>,
    /// Writes the answer token by token
    #[arg(long)]
    sequential: bool,
    /// Whether a list written token by token may name a move twice where that is the likeliest text, as programs without our grammar
    /// write it
    #[arg(long, value_name = "BOOL", default_value_t = false, action = ArgAction::Set)]
    repeats: bool,
    /// Order of the moves of %top_all written token by token: likeliest first, or drawn at random as in training (the list then ends
    /// where its end is likelier than all moves together)
    #[arg(long, value_name = "ORDER", default_value_t)]
    list_order: ListOrder,
    /// Takes the legal moves from the rules, and asks only for their values
    #[arg(long, conflicts_with_all = ["sequential", "track"])]
    by_rules: bool,
    /// Number format on the processor: bf16, exact (slower) or int8 (faster, less precise)
    #[arg(long, default_value = "bf16")]
    precision: String,
    /// Where to compute: cpu, cuda, or auto for a GPU where there is one
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Asked {
    prompt: String,
    answer: String,
    moves: Vec<Valued>,
    outcome: Option<&'static str>,
    state: Option<String>,
    hallucination: Option<String>,
    mistakes: Vec<String>,
}

#[derive(Serialize)]
struct Valued {
    #[serde(rename = "move")]
    mv: String,
    mean: f32,
    mode: f32,
    legal: bool,
}

impl Ask {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut position = self.place.position()?;
        for text in &self.moves {
            position.play_text(text).or_bad_input()?;
        }
        let request = self.request(&position)?;
        request.validate().or_bad_input()?;
        let device: Device = self.device.parse().or_bad_input()?;
        device.resolved().or_bad_input()?;
        let precision: Precision = self.precision.parse().or_bad_input()?;
        let model = read_or_bundled(self.model.as_deref())?;
        let mut decoder = MavDecoder::open(&model, precision, device)?;
        let asked = if self.sequential || self.track.is_some() || self.commands.is_some() {
            self.token_by_token(&mut decoder, &request, &position)?
        } else {
            self.all_at_once(&mut decoder, &request, &position)?
        };
        if self.json {
            return answer_json(&asked);
        }
        answer(&asked.text())
    }

    fn request(&self, position: &Position) -> anyhow::Result<Request> {
        let rules = position.rules();
        let named = self.commands.as_deref().map(|text| parse_commands(rules, text)).transpose();
        let named = named.map_err(|error| BadInput::new(format!("--commands: {}", error.reason)))?;
        match (&named, &self.track) {
            (Some(commands), None) if commands.is_tracking() => {
                let reason = "--commands: %prev_state and %prev_action need the move: add --track MOVE";
                return Err(BadInput::new(reason).into());
            }
            (Some(commands), Some(_)) if !commands.is_tracking() => {
                let reason = "--track needs commands that begin with %prev_state %prev_action";
                return Err(BadInput::new(reason).into());
            }
            _ => {}
        }
        if let Some(text) = &self.track {
            let mv = position.parse_move(text).or_bad_input()?;
            let state = Commands { top: None, best: false, ..Commands::tracking(rules) };
            return Ok(Request::after(position.clone(), mv, named.unwrap_or(state)));
        }
        if let Some(commands) = named {
            return Ok(Request::at(position.clone(), commands));
        }
        let top = match (self.top.as_str(), self.top.parse()) {
            ("all", _) => Top::All,
            (_, Ok(number @ 1..)) => Top::Best(number),
            (other, _) => {
                let most = u16::MAX;
                let reason = format!("--top: expected all, or a number from 1 to {most}, not '{other}'");
                return Err(BadInput::new(reason).into());
            }
        };
        // The best action is part of what is written; at once it follows from the values.
        let commands = Commands { top: Some(top), best: self.sequential, ..Commands::top_all(rules) };
        Ok(Request::at(position.clone(), commands))
    }

    fn token_by_token(
        &self,
        decoder: &mut MavDecoder,
        request: &Request,
        position: &Position,
    ) -> anyhow::Result<Asked> {
        let drafting = if self.sequential { Drafting::None } else { Drafting::Copy };
        let (repeats, list_order) = (self.repeats, self.list_order);
        let settings = GreedySettings { drafting, repeats, list_order, ..GreedySettings::default() };
        let decoded = decoder.greedy(std::slice::from_ref(request), &settings)?.remove(0);
        let mut asked = Asked {
            prompt: request.prompt_text(),
            answer: decoded.text(),
            moves: values(position, &decoded.values),
            outcome: None,
            state: None,
            hallucination: None,
            mistakes: Vec::new(),
        };
        match decoded.answer(request) {
            Ok(answer) => {
                asked.outcome = answer.outcome().map(|outcome| outcome.as_str());
                asked.state = answer.tracked.as_ref().map(ToString::to_string);
                asked.mistakes =
                    check_answer(request, &answer).mistakes.iter().map(ToString::to_string).collect();
            }
            Err(hallucination) => asked.hallucination = Some(hallucination.to_string()),
        }
        Ok(asked)
    }

    fn all_at_once(
        &self,
        decoder: &mut MavDecoder,
        request: &Request,
        position: &Position,
    ) -> anyhow::Result<Asked> {
        let requests = std::slice::from_ref(request);
        let fanned = if self.by_rules {
            let legal = position.legal_moves();
            if legal.is_empty() {
                return Err(BadInput::new("the game is over").into());
            }
            decoder.fan_out_known(requests, &[legal.as_slice()])?.remove(0)
        } else {
            decoder.fan_out(requests)?.remove(0)
        };
        let written = fanned.answer(request);
        Ok(Asked {
            prompt: request.prompt_text(),
            answer: vocabulary().decode(&written.tokens(&request.commands))?,
            moves: values(position, &fanned.fan.values),
            outcome: fanned.outcome.map(|outcome| outcome.as_str()),
            state: None,
            hallucination: None,
            mistakes: check_answer(request, &written).mistakes.iter().map(ToString::to_string).collect(),
        })
    }
}

/// Moves with values, the best by mean first.
fn values(position: &Position, values: &[(Move, Distribution)]) -> Vec<Valued> {
    let rules = position.rules();
    let mut valued: Vec<Valued> = values
        .iter()
        .map(|(mv, distribution)| {
            let legal = position.is_legal(*mv);
            let text = if legal {
                position.move_text(*mv)
            } else {
                mavis_lang::moves::move_text(rules, *mv).unwrap_or("?").to_owned()
            };
            let mode = distribution.mode().win_probability();
            Valued { mv: text, mean: distribution.mean(), mode, legal }
        })
        .collect();
    valued.sort_by(|one, other| other.mean.total_cmp(&one.mean));
    valued
}

impl Asked {
    fn text(&self) -> String {
        let mut text = format!("{}{}", self.prompt, self.answer);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for entry in &self.moves {
            let note = if entry.legal { "" } else { "  not legal" };
            text.push_str(&format!(
                "{:<8} mean {:5.1} %  mode {:5.1} %{note}\n",
                entry.mv,
                100.0 * entry.mean,
                100.0 * entry.mode
            ));
        }
        for line in self.hallucination.iter().chain(&self.mistakes) {
            text.push_str(&format!("mistake: {line}\n"));
        }
        text
    }
}
