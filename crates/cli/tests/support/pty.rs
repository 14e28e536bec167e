//! The binary at a pseudo-terminal.

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

/// How long a test waits for a text before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program whose standard streams are a terminal, seen from the other end.
pub(crate) struct Terminal {
    pub(crate) child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// What was read and not yet expected.
    unread: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        tcsetwinsize(&master, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })
            .expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let slave = || {
            let end =
                open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("the other end");
            Stdio::from(end)
        };
        command
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env_remove("LC_ALL")
            .env_remove("NO_COLOR");
        let child =
            command.stdin(slave()).stdout(slave()).stderr(slave()).spawn().expect("the binary starts");
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().expect("a second handle");
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of the program is an error on Linux.
            while let Ok(n_read @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..n_read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, screen, unread: String::new() }
    }

    /// Types a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.keys(&format!("{text}\r"));
    }

    /// Types keys as they are.
    pub(crate) fn keys(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits for a text and returns all that came before it, the text included.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let began = Instant::now();
        loop {
            if let Some(at) = self.unread.find(text) {
                let rest = self.unread.split_off(at + text.len());
                return std::mem::replace(&mut self.unread, rest);
            }
            let left = PATIENCE.saturating_sub(began.elapsed());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.unread.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Timeout) => panic!("no '{text}' within a minute: {}", self.unread),
                Err(RecvTimeoutError::Disconnected) => panic!("ended without '{text}': {}", self.unread),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
