//! A completion server on a real socket that writes true answers in the language, or misbehaves as told.

use mavis_game::{Game as _, Move, Position};
use mavis_lang::{
    Answer, Listing, Start, Token, parse_request, value,
    vocab::{BEST_ACTION, LINE_END},
    vocabulary,
};
use mavis_value::Bucket;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// How a server answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Behavior {
    /// Well, with log-probabilities as lists.
    Lists,
    /// Well, with log-probabilities as entries.
    Entries,
    /// Well, without log-probabilities.
    NoLogprobs,
    /// Well, but it does not stop at the end of the line.
    KeepsStop,
    /// With an error status.
    Status(u16),
    /// Never.
    Hangs,
    /// Well, but only after a while.
    Late,
    /// Half of it, then the connection is gone.
    Cuts,
    /// With something that is no completion.
    Junk,
    /// In words that are not of the language.
    Babbles,
    /// With a line that is cut off by its length.
    NeverEnds,
}

/// A running server; dropping it stops it.
pub(crate) struct Server {
    place: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    behavior: Behavior,
    /// A misbehavior and how many more requests meet it.
    trouble: Mutex<(Behavior, usize)>,
    n_requests: AtomicUsize,
    n_connections: AtomicUsize,
    running: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Server {
    pub(crate) fn start(behavior: Behavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            behavior,
            trouble: Mutex::new((behavior, 0)),
            n_requests: AtomicUsize::new(0),
            n_connections: AtomicUsize::new(0),
            running: AtomicBool::new(true),
            open: Mutex::default(),
        });
        let server = Self { place: listener.local_addr().unwrap(), shared };
        server.listen(listener);
        server
    }

    fn listen(&self, listener: TcpListener) {
        let shared = self.shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if !shared.running.load(Ordering::SeqCst) {
                    return;
                }
                shared.n_connections.fetch_add(1, Ordering::SeqCst);
                shared.open.lock().unwrap().push(stream.try_clone().unwrap());
                let shared = shared.clone();
                // A client that is gone ends its thread, and that is all.
                thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
    }

    pub(crate) fn place(&self) -> SocketAddr {
        self.place
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.place())
    }

    pub(crate) fn n_requests(&self) -> usize {
        self.shared.n_requests.load(Ordering::SeqCst)
    }

    pub(crate) fn n_connections(&self) -> usize {
        self.shared.n_connections.load(Ordering::SeqCst)
    }

    pub(crate) fn misbehave(&self, behavior: Behavior, n_requests: usize) {
        *self.shared.trouble.lock().unwrap() = (behavior, n_requests);
    }

    pub(crate) fn wait_for_requests(&self, n: usize) {
        while self.n_requests() < n {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Closes everything: connections are cut, and new ones refused.
    pub(crate) fn stop(&mut self) {
        if self.shared.running.swap(false, Ordering::SeqCst) {
            drop(TcpStream::connect(self.place));
            for stream in self.shared.open.lock().unwrap().drain(..) {
                drop(stream.shutdown(Shutdown::Both));
            }
        }
    }

    /// Listens again at the same place.
    pub(crate) fn restart(&mut self) {
        let listener = (0..200).find_map(|_| {
            let bound = TcpListener::bind(self.place).ok();
            bound.or_else(|| {
                thread::sleep(Duration::from_millis(10));
                None
            })
        });
        self.shared.running.store(true, Ordering::SeqCst);
        self.listen(listener.expect("the place is free again"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The value this server gives a move.
pub(crate) fn bucket_of(position: &Position, mv: Move) -> Bucket {
    Bucket::new(2 + ((u32::from(mv.0) * 29 + position.ply() * 7) % 60) as u8).unwrap()
}

fn serve(stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        shared.n_requests.fetch_add(1, Ordering::SeqCst);
        let behavior = {
            let mut trouble = shared.trouble.lock().unwrap();
            let left = trouble.1;
            trouble.1 = left.saturating_sub(1);
            if left > 0 { trouble.0 } else { shared.behavior }
        };
        if !answer(stream, &body, behavior)? {
            return Ok(());
        }
    }
}

/// Answers one request; whether the connection lives on.
fn answer(mut stream: &TcpStream, body: &[u8], behavior: Behavior) -> std::io::Result<bool> {
    let reply = |status: u16, text: &str| {
        format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        )
    };
    match behavior {
        Behavior::Status(status) => stream.write_all(reply(status, "{\"error\": \"so\"}").as_bytes())?,
        Behavior::Junk => stream.write_all(reply(200, "<html>hello</html>").as_bytes())?,
        Behavior::Hangs => thread::sleep(Duration::from_secs(5)),
        Behavior::Cuts => {
            let text = reply(200, &completion(body, Behavior::Lists).to_string());
            stream.write_all(&text.as_bytes()[..text.len() / 2])?;
            stream.shutdown(Shutdown::Both)?;
            return Ok(false);
        }
        Behavior::Late => {
            thread::sleep(Duration::from_millis(1500));
            stream.write_all(reply(200, &completion(body, Behavior::Lists).to_string()).as_bytes())?;
        }
        well => stream.write_all(reply(200, &completion(body, well).to_string()).as_bytes())?,
    }
    Ok(true)
}

fn completion(body: &[u8], behavior: Behavior) -> Value {
    let asked: Value = serde_json::from_slice(body).unwrap();
    let most = asked["max_tokens"].as_u64().unwrap() as usize;
    let stops = asked["stop"][0] == "]\n";
    let prompts: Vec<&Value> = match &asked["prompt"] {
        Value::Array(several) if !several[0].is_number() => several.iter().collect(),
        one => vec![one],
    };
    let choices = prompts.iter().enumerate().map(|(index, prompt)| {
        let prompt: Vec<Token> = match prompt {
            Value::String(text) => vocabulary().encode(text).unwrap(),
            ids => ids.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as Token).collect(),
        };
        choice(index, &prompt, most, stops, behavior)
    });
    // Out of order, as a server may answer.
    let choices: Vec<Value> = choices.rev().collect();
    if behavior == Behavior::Entries && choices.len() > 1 {
        return choices.into_iter().rev().map(|choice| json!({"choices": [choice]})).collect();
    }
    json!({"object": "text_completion", "choices": choices})
}

fn choice(index: usize, prompt: &[Token], most: usize, stops: bool, behavior: Behavior) -> Value {
    let mut written = continuation(prompt);
    if stops {
        assert!(written.len() <= most, "an answer of {} tokens fits into {most}", written.len());
    }
    written.truncate(most);
    let stop = written.iter().position(|&token| token == LINE_END).filter(|_| stops);
    let stop = stop.filter(|_| behavior != Behavior::KeepsStop).unwrap_or(written.len());
    let shown = &written[..stop];
    let text = match behavior {
        Behavior::Babbles => "Sure! Here are the moves:".to_owned(),
        _ => vocabulary().decode(shown).unwrap(),
    };
    let finish = if behavior == Behavior::NeverEnds { "length" } else { "stop" };
    let logprobs = match behavior {
        Behavior::NoLogprobs => Value::Null,
        Behavior::Entries => json!({"content": shown.iter().map(entry).collect::<Vec<_>>()}),
        _ => json!({
            "tokens": shown.iter().map(|&token| vocabulary().string(token).unwrap()).collect::<Vec<_>>(),
            "token_logprobs": shown.iter().map(|_| -0.1).collect::<Vec<_>>(),
            "top_logprobs": shown.iter().map(|token| {
                let entry = entry(token);
                let pairs = entry["top_logprobs"].as_array().unwrap().iter();
                pairs.map(|top| (top["token"].as_str().unwrap().to_owned(), top["logprob"].clone()))
                    .collect::<serde_json::Map<_, _>>()
            }).collect::<Vec<_>>(),
            "text_offset": shown.iter().map(|_| 0).collect::<Vec<_>>(),
        }),
    };
    json!({"index": index, "text": text, "finish_reason": finish, "logprobs": logprobs})
}

/// A token with what might have stood in its place: for values, a quarter of the weight on the next lower one.
fn entry(token: &Token) -> Value {
    let text = |token: Token| vocabulary().string(token).unwrap();
    let mut tops = vec![json!({"token": text(*token), "logprob": 0.75_f64.ln()})];
    if value::bucket_of(*token).is_some() {
        tops.push(json!({"token": text(token - 1), "logprob": 0.25_f64.ln()}));
    }
    json!({"token": text(*token), "logprob": 0.75_f64.ln(), "top_logprobs": tops})
}

/// What a perfect model writes next, by the rules and the values above: a whole answer from the prompt on.
fn continuation(prompt: &[Token]) -> Vec<Token> {
    let (request, length) = parse_request(prompt).unwrap();
    let begun = &prompt[length..];
    let position = request.current();
    let listing = match position.outcome() {
        Some(outcome) => Listing::Over(outcome),
        None => {
            let moves = position.legal_moves().into_iter();
            Listing::Moves(moves.map(|mv| (mv, bucket_of(&position, mv))).collect())
        }
    };
    let answer = Answer {
        tracked: matches!(request.start, Start::After { .. }).then(|| position.clone()),
        listing: request.commands.top.map(|_| listing),
        best: position.legal_moves().last().copied().filter(|_| request.commands.best),
        next: None,
    };
    let whole = answer.tokens(&request.commands);
    if begun.last() == Some(&BEST_ACTION) {
        let at = whole.iter().position(|&token| token == BEST_ACTION).unwrap();
        return whole[at + 1..].to_vec();
    }
    // A move by itself: its value comes next, wherever it stands in the list.
    if let Some(&mv) = begun.last().filter(|token| value::bucket_of(**token).is_none())
        && begun.len() == 2
        && let Some(at) = whole.iter().position(|token| *token == mv)
    {
        return whole[at + 1..].to_vec();
    }
    assert_eq!(whole[..begun.len()], *begun, "the prompt ends with what any answer begins with");
    whole[begun.len()..].to_vec()
}
