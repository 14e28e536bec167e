//! `mavis bench model --profile`: where the time of plain and joint answers goes.

use mavis_model::measure::{AnswerProfile, PassProfile};

/// A table of passes for each kind of answers. Times are in microseconds.
pub(super) fn text(profiles: &[AnswerProfile]) -> String {
    profiles.iter().map(answers).collect()
}

fn answers(profile: &AnswerProfile) -> String {
    let AnswerProfile { name, seconds, passes, after_seconds } = profile;
    let passes: String = passes.iter().enumerate().map(|(at, one)| pass(at + 1, one)).collect();
    format!("{name}, us\n{}{passes}{}", row("all", *seconds), row("after the last pass", *after_seconds))
}

fn pass(number: usize, pass: &PassProfile) -> String {
    let PassProfile { n_tokens, n_rows, n_brief, before_seconds, seconds, parts } = pass;
    let name = format!("pass {number}: {n_tokens} tokens, {n_rows} rows ({n_brief} in brief)");
    let mut text = row(&format!("before pass {number}"), *before_seconds) + &row(&name, *seconds);
    let Some(parts) = parts else { return text };
    let [tokens, rows] = parts.rounded;
    text += &format!("    run as {tokens} tokens and {rows} rows\n");
    for (name, seconds) in ["packing", "starting", "waiting", "reading"].iter().zip(parts.host) {
        text += &row(&format!("    processor: {name}"), seconds);
    }
    for (name, seconds) in ["batch to the device", "recorded pass", "logits back"].iter().zip(parts.device) {
        text += &row(&format!("    device: {name}"), seconds);
    }
    let all: f64 = parts.operations.iter().map(|(_, _, seconds)| seconds).sum();
    text += &row("    one operation after the other", all);
    for (name, n, seconds) in &parts.operations {
        text += &row(&format!("      {name} x{n}"), *seconds);
    }
    text
}

fn row(name: &str, seconds: f64) -> String {
    format!("  {name:<56} {:>10.1}\n", 1e6 * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_net::PassParts;

    #[test]
    fn every_part_has_its_row() {
        let parts = PassParts {
            rounded: [4096, 2048],
            host: [1e-6, 2e-6, 3e-6, 4e-6],
            device: [5e-6, 6e-6, 7e-6],
            operations: vec![("qkv.fwd".into(), 10, 8e-6), ("norm_rows".into(), 20, 9e-6)],
        };
        let pass = |parts| PassProfile {
            n_tokens: 3900,
            n_rows: 1260,
            n_brief: 1244,
            before_seconds: 10e-6,
            seconds: 11e-6,
            parts,
        };
        let passes = vec![pass(Some(parts)), pass(None)];
        let text =
            text(&[AnswerProfile { name: "joint answers", seconds: 12e-6, passes, after_seconds: 13e-6 }]);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let numbers: Vec<&str> = rows.iter().filter_map(|row| row.last().copied()).collect();
        let expected = [
            "us", "12.0", "10.0", "11.0", "rows", "1.0", "2.0", "3.0", "4.0", "5.0", "6.0", "7.0", "17.0",
            "8.0", "9.0", "10.0", "11.0", "13.0",
        ];
        assert_eq!(numbers, expected, "{text}");
        assert!(text.contains("pass 1: 3900 tokens, 1260 rows (1244 in brief)"), "{text}");
        assert!(text.contains("norm_rows x20"), "{text}");
    }
}
