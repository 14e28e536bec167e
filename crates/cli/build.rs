//! The version with its commit and features, for `mavis --version`.

use std::{env, process::Command};

fn main() {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    // Every commit and checkout adds a line to this log.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // Sources without a repository have no commit.
    let commit = git(&["rev-parse", "--short=10", "HEAD"]).map(|commit| format!("commit {commit}, "));
    let features = if env::var_os("CARGO_FEATURE_CUDA").is_some() { "cuda" } else { "none" };
    println!("cargo:rustc-env=MAVIS_VERSION={version} ({}features: {features})", commit.unwrap_or_default());
}
