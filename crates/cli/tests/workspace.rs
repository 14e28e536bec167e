//! How the workspace is laid out.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use std::{fs, path::Path};

/// A crate without `autotests` compiles only what it names, so a file that is not named would never run.
#[test]
fn every_test_file_is_compiled() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut n_files = 0;
    for folder in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if !manifest.contains("autotests = false") {
            continue;
        }
        let all = fs::read_to_string(folder.join("tests/all.rs")).unwrap();
        for file in fs::read_dir(folder.join("tests")).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "rs") {
                let name = file.file_stem().unwrap().to_str().unwrap();
                let is_named = all.contains(&format!("mod {name};\n"))
                    || manifest.contains(&format!("path = \"tests/{name}.rs\""));
                assert!(is_named, "{} is not a module of tests/all.rs", file.display());
                n_files += 1;
            }
        }
    }
    assert!(n_files > 70, "{n_files}");
}
