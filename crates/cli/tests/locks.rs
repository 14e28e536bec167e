//! A folder that a process writes to is refused to a second one, before that one writes anything.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_stable::folder_lock::FolderLock;
use mavis_testkit::Program;
use std::fs;

/// Every command that works in a folder.
const COMMANDS: [&str; 7] = [
    "data selfplay --game connect4 --random-plies 30 -n 4 --out busy",
    "data annotate late.parquet --out busy",
    "data traces late.parquet --sizes 2x1 --out busy",
    "league run --config league.toml --out busy",
    "probs train --game connect4 --rounds 1 --set net=10k --out busy",
    "train mav --config mav.toml --out busy",
    "train predictor --target av --config predictor.toml --out busy",
];

#[test]
fn a_folder_in_use_is_refused_in_one_line_and_left_alone() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    mavis.run("data selfplay --game connect4 --epsilon 1.0 --random-plies 30 -n 40 --seed 1 --out games");
    mavis.write("late.txt", "......./x..x..o/oo.xo.o/xxooxox/oxxxoox/xooxxxo o\n");
    mavis.run("data import late.txt --format positions --game connect4 --out late.parquet");
    mavis.write(
        "league.toml",
        "name = 'l'\ngame = 'connect4'\nschedule.pairs = 1\n\
         players = [{ player = 'random' }, { player = 'lookahead:1' }]\n",
    );
    mavis.write(
        "mav.toml",
        "shape = [32, 1, 1, 64]\nworkers = 1\nbudget = { steps = 1 }\n[batch]\nexamples = 8\n\
         [[data]]\npath = 'games/annotations'\ngame = 'connect4'\n",
    );
    super::predictor::write_bag(&mavis.folder().join("values.bag"));
    mavis.write(
        "predictor.toml",
        "shape = [32, 1, 2, 64]\nbins = 16\nsamples = 8\nbudget = { steps = 1 }\n\
         [[data]]\npath = 'values.bag'\n",
    );
    let busy = mavis.folder().join("busy");
    let lock = FolderLock::take(&busy).unwrap();
    for command in COMMANDS {
        let output = mavis.output(command);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {message}");
        // Training says before what it learns from.
        let last = message.lines().last().unwrap_or_default();
        assert_eq!(last, "mavis: busy is in use: another process writes to it", "{command}");
        let n_files = fs::read_dir(&busy).unwrap().count();
        assert_eq!(n_files, 1, "{command} wrote beside the lock");
    }
    drop(lock);
    mavis.run(COMMANDS[0]);
}
