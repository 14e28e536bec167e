//! The arithmetic of a plan, and how it is shown.

use super::{Job, machine::Machine, measure::Measured};
use crate::input::BadInput;
use serde::Serialize;
use std::str::FromStr;

/// What does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unit {
    /// Cores of processors; the cost is their processor time.
    Core,
    /// GPUs; the cost is time by the clock with one GPU.
    Gpu,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Gpu => "GPU",
        }
    }

    /// How many of them a machine has.
    fn of(self, machine: &Machine) -> u64 {
        match self {
            Self::Core => machine.cores,
            Self::Gpu => machine.gpus,
        }
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "core" => Ok(Self::Core),
            "gpu" => Ok(Self::Gpu),
            other => Err(format!("expected core or gpu, not '{other}'")),
        }
    }
}

/// What one item costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Cost {
    /// Seconds of one core or GPU of this machine.
    pub(super) seconds: f64,
    /// Bytes on disk.
    pub(super) bytes: f64,
}

/// An estimate.
#[derive(Serialize)]
pub(super) struct Plan {
    job: String,
    items: f64,
    item: &'static str,
    unit: Unit,
    cost: Cost,
    /// Absent when the cost was given.
    measured: Option<Measured>,
    machines: Vec<Share>,
    /// Until the last machine is done.
    seconds: f64,
    /// Of all cores (or GPUs) together.
    unit_hours: f64,
    bytes: f64,
}

/// What machines of one kind do of it.
#[derive(Serialize)]
struct Share {
    name: String,
    count: u64,
    /// Cores (or GPUs) of all of them together.
    units: u64,
    speed: f64,
    items: f64,
    unit_hours: f64,
}

impl Plan {
    /// Items go to whoever is free, so machines share them by their speed and all are done at the same time.
    pub(super) fn new(
        job: Job,
        unit: Unit,
        cost: Cost,
        machines: &[Machine],
        measured: Option<Measured>,
    ) -> Result<Self, BadInput> {
        let units = |machine: &Machine| machine.count * unit.of(machine);
        let power = |machine: &Machine| units(machine) as f64 * machine.speed;
        let total: f64 = machines.iter().map(power).sum();
        if total <= 0.0 {
            let name = unit.name();
            return Err(BadInput::new(
                format!("no machine has a {name} (give --machine {name}s=N)").to_lowercase(),
            ));
        }
        let seconds = job.n_items * cost.seconds / total;
        let shares = machines.iter().map(|machine| Share {
            name: machine.name.clone(),
            count: machine.count,
            units: units(machine),
            speed: machine.speed,
            items: job.n_items * power(machine) / total,
            unit_hours: seconds * units(machine) as f64 / 3600.0,
        });
        let machines: Vec<Share> = shares.collect();
        Ok(Self {
            job: job.title,
            items: job.n_items,
            item: job.items,
            unit,
            cost,
            measured,
            unit_hours: machines.iter().map(|share| share.unit_hours).sum(),
            machines,
            seconds,
            bytes: job.n_items * cost.bytes,
        })
    }

    pub(super) fn text(&self) -> String {
        let (unit, item) = (self.unit.name(), self.item);
        let mut text = format!("{}: {} {item}\n", self.job, grouped(self.items));
        match &self.measured {
            Some(measured) => text.push_str(&measured.text(item, self.unit)),
            None => text.push_str("cost as given\n"),
        }
        text.push_str(&format!(
            "1 {unit}-second does {} {item}; one takes {}\n\n",
            number(1.0 / self.cost.seconds),
            size(self.cost.bytes)
        ));
        text.push_str(&format!(
            "{:<24} {:>6} {:>8} {:>6} {:>16} {:>12}\n",
            "machine",
            "count",
            format!("{unit}s"),
            "speed",
            item,
            format!("{unit}-hours")
        ));
        for share in &self.machines {
            let name: String = share.name.chars().take(24).collect();
            text.push_str(&format!(
                "{name:<24} {:>6} {:>8} {:>6.2} {:>16} {:>12}\n",
                share.count,
                share.units,
                share.speed,
                grouped(share.items),
                number(share.unit_hours)
            ));
        }
        text.push_str(&format!(
            "\ntime {}, {} {unit}-hours, {} on disk\n",
            duration(self.seconds),
            number(self.unit_hours),
            size(self.bytes)
        ));
        text
    }
}

/// A number with about three digits that say something.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        100.0.. => grouped(value),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.001.. => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// A whole number with its thousands apart.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in the unit that suits it.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.1} s"),
        ..7200.0 => format!("{:.1} minutes", seconds / 60.0),
        ..172_800.0 => format!("{:.1} hours", seconds / 3600.0),
        _ => format!("{} days", number(seconds / 86_400.0)),
    }
}

/// Bytes in the unit that suits them.
fn size(bytes: f64) -> String {
    match bytes {
        ..2e3 => format!("{bytes:.0} bytes"),
        ..2e6 => format!("{:.1} kB", bytes / 1e3),
        ..2e9 => format!("{:.1} MB", bytes / 1e6),
        ..2e12 => format!("{:.1} GB", bytes / 1e9),
        _ => format!("{:.1} TB", bytes / 1e12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(machines: &[&str], unit: Unit) -> Result<Plan, BadInput> {
        let machines: Vec<Machine> = machines.iter().map(|text| text.parse().unwrap()).collect();
        let job = Job { title: "annotate".to_owned(), items: "positions", n_items: 3_600_000.0 };
        Plan::new(job, unit, Cost { seconds: 0.1, bytes: 500.0 }, &machines, None)
    }

    #[test]
    fn machines_share_by_speed_and_end_together() {
        // 360,000 core-seconds of this machine; 8 + 2 * 4 * 1.5 = 20 cores as fast as its own.
        let plan = plan(&["slow:cores=8", "fast:cores=4,speed=1.5,count=2"], Unit::Core).ok().unwrap();
        assert!((plan.seconds - 18_000.0).abs() < 1e-6);
        assert!((plan.bytes - 1.8e9).abs() < 1.0);
        // 5 hours of 16 cores, though the work is 100 hours of ours.
        assert!((plan.unit_hours - 80.0).abs() < 1e-9);
        let items: Vec<f64> = plan.machines.iter().map(|share| share.items).collect();
        assert!((items[0] - 1_440_000.0).abs() < 1e-3 && (items[1] - 2_160_000.0).abs() < 1e-3, "{items:?}");
        let text = plan.text();
        for part in ["3,600,000 positions", "time 5.0 hours, 80.0 core-hours, 1800.0 MB on disk", "1,440,000"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn gpus_are_counted_apart_and_none_at_all_is_refused() {
        let on_gpus = plan(&["cores=64", "cores=8,gpus=4"], Unit::Gpu).ok().unwrap();
        assert!((on_gpus.seconds - 90_000.0).abs() < 1e-6 && on_gpus.machines[0].items == 0.0);
        let refused = plan(&["cores=64"], Unit::Gpu).err().unwrap().to_string();
        assert_eq!(refused, "no machine has a gpu (give --machine gpus=n)");
    }

    #[test]
    fn numbers_are_shown_as_people_write_them() {
        assert_eq!([grouped(999.0), grouped(1000.0), grouped(1_234_567.4)], ["999", "1,000", "1,234,567"]);
        assert_eq!([number(0.01234), number(2.71428), number(27.1428)], ["0.0123", "2.71", "27.1"]);
        assert_eq!([duration(90.0), duration(600.0), duration(1e7)], ["90.0 s", "10.0 minutes", "116 days"]);
    }
}
