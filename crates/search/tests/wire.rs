//! Saved trees: read back, searched on, compared, drawn; and files that are none.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use mavis_eval::Scripted;
use mavis_game::{Position, Rules};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, Search},
    wire::{SavedTree, TreeError},
};
use std::sync::Arc;

fn grown(settings: &str) -> Search {
    let settings = settings.parse().unwrap();
    let mut search = Search::new(Position::start(Rules::Connect4), Arc::new(Scripted::new(3)), settings);
    search.run_blocking(&Stop::never()).unwrap();
    search
}

#[test]
fn a_tree_is_saved_loaded_and_searched_on() {
    for world in ["rules", "model"] {
        let settings = format!("sims=150,batch=1,world={world}");
        let mut search = grown(&settings);
        let saved = search.snapshot();
        let loaded = SavedTree::from_json(&saved.to_json().unwrap()).unwrap();
        assert_eq!(loaded, saved);
        let settings: MctsSettings = settings.parse().unwrap();
        let mut restored =
            Search::<Position>::restore(&loaded, Arc::new(Scripted::new(3)), settings.clone()).unwrap();
        assert_eq!(restored.snapshot(), saved);
        // Simulations of the saved tree count.
        let more = MctsSettings { simulations: 300, ..settings };
        restored.set_settings(more.clone());
        search.set_settings(more);
        let report = restored.run_blocking(&Stop::never()).unwrap();
        let visits: u32 = report.moves.iter().map(|entry| entry.visits).sum();
        assert_eq!(visits, 300);
        // The two go on alike but for the random ties, so the numbers are close and the tree is one tree.
        search.run_blocking(&Stop::never()).unwrap();
        assert_eq!(search.snapshot().nodes[0].moves.iter().map(|entry| entry.visits).sum::<u32>(), 300);
    }
}

#[test]
fn lines_and_differences() {
    let (one, other) =
        (grown("sims=100,batch=1").snapshot(), grown("sims=100,batch=1,c_puct=0.5").snapshot());
    assert!(one.diff(&one, 0.0).is_empty());
    let diff = one.diff(&other, 1e-6);
    assert_eq!(diff.common_nodes + diff.only_first, one.nodes.len());
    assert_eq!(diff.common_nodes + diff.only_second, other.nodes.len());
    assert!(!diff.differences.is_empty());
    let lines = one.top_lines(3);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0].moves, one.principal_variation());
    assert!(lines[0].visits >= lines[1].visits && lines[0].moves.len() > 1);
}

#[test]
fn the_drawing_has_the_nodes_of_the_first_plies() {
    let saved = grown("sims=60,batch=1,epsilon=1").snapshot();
    let dot = saved.graphviz(1, 4);
    assert!(dot.starts_with("digraph tree {") && dot.ends_with("}\n"));
    assert_eq!(dot.matches("->").count(), 4);
    assert!(saved.graphviz(2, 4).matches("->").count() > 8);
}

#[test]
fn what_is_no_tree_is_refused() {
    let good = grown("sims=20,batch=1").snapshot();
    let mut cyclic = good.clone();
    cyclic.nodes[5].moves[0].child = Some(2);
    let mut orphan = good.clone();
    orphan.nodes[0].moves.iter_mut().for_each(|entry| entry.child = None);
    for broken in [cyclic, orphan] {
        let json = broken.to_json().unwrap();
        assert!(matches!(SavedTree::from_json(&json), Err(TreeError::Broken { .. })));
    }
    let mut future = good.clone();
    future.version = 9;
    assert!(matches!(SavedTree::from_json(&future.to_json().unwrap()), Err(TreeError::Version { found: 9 })));
    assert!(matches!(SavedTree::from_json("{\"nodes\":[]}"), Err(TreeError::Json(_))));
    let mut illegal = good.clone();
    illegal.nodes[1].moves[0].code = 77;
    let restored = Search::<Position>::restore(&illegal, Arc::new(Scripted::new(1)), MctsSettings::default());
    assert!(matches!(restored.err(), Some(TreeError::Broken { node: 1, .. })));
    let mut elsewhere = good;
    elsewhere.position = "nowhere".to_owned();
    let restored =
        Search::<Position>::restore(&elsewhere, Arc::new(Scripted::new(1)), MctsSettings::default());
    assert!(matches!(restored.err(), Some(TreeError::Root(_))));
}
