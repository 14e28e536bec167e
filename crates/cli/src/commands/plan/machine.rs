//! Machines that a job may run on.

use std::str::FromStr;

/// Machines of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Machine {
    /// For the table.
    pub(super) name: String,
    /// How many there are.
    pub(super) count: u64,
    /// Cores of each.
    pub(super) cores: u64,
    /// GPUs of each.
    pub(super) gpus: u64,
    /// Speed of one core or GPU; 1 is that of the machine where the cost was measured.
    pub(super) speed: f64,
}

impl Machine {
    /// The machine that runs this program.
    pub(super) fn here() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        Self { name: "this machine".to_owned(), count: 1, cores, gpus: 1, speed: 1.0 }
    }
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "expected [NAME:]cores=N,gpus=N,speed=X,count=N";
        let (name, options) = text.split_once(':').map_or((None, text), |(name, rest)| (Some(name), rest));
        let mut machine =
            Self { name: name.unwrap_or(options).to_owned(), count: 1, cores: 0, gpus: 0, speed: 1.0 };
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (key, value) =
                option.split_once('=').ok_or_else(|| format!("bad machine '{text}' ({form})"))?;
            let bad = || format!("bad value '{value}' for {key} of a machine ({form})");
            let whole = || value.parse::<u32>().map(u64::from).map_err(|_| bad());
            match key {
                "cores" => machine.cores = whole()?,
                "gpus" => machine.gpus = whole()?,
                "count" => machine.count = whole()?,
                "speed" => {
                    let speed = value.parse::<f64>().ok().filter(|speed| speed.is_finite() && *speed > 0.0);
                    machine.speed = speed.ok_or_else(bad)?;
                }
                _ => return Err(format!("a machine has no '{key}' ({form})")),
            }
        }
        Ok(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_read_and_others_refused() {
        let machine: Machine = "big:cores=64,gpus=8,speed=1.5,count=3".parse().unwrap();
        let expected = Machine { name: "big".to_owned(), count: 3, cores: 64, gpus: 8, speed: 1.5 };
        assert_eq!(machine, expected);
        assert_eq!(
            "cores=4".parse::<Machine>().map(|one| (one.name, one.cores)),
            Ok(("cores=4".to_owned(), 4))
        );
        for (text, part) in [
            ("cores", "bad machine 'cores'"),
            ("cores=-1", "bad value '-1' for cores"),
            ("speed=0", "bad value '0' for speed"),
            ("speed=inf", "bad value 'inf'"),
            ("ram=4", "a machine has no 'ram'"),
        ] {
            let error = text.parse::<Machine>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
