//! Internal search through the real binary and the model that ships.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_testkit::Program;
use serde_json::Value;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

#[test]
fn a_position_is_analyzed_with_its_tree() {
    let mavis = program();
    let line = "analyze --game connect4 --moves 4 4 --player mav-is:breadth=3,depth=1";
    let text = mavis.stdout(line);
    assert!(text.starts_with("mav-is(3,1) plays "), "{text}");
    assert!(text.contains(" tokens in ") && text.contains("tree of "), "{text}");
    let json: Value =
        serde_json::from_str(&mavis.stdout(&format!("{line} --json --tree tree.json"))).unwrap();
    assert!(json["tokens"].as_u64().unwrap() > 0 && json["passes"].as_u64().unwrap() > 0);
    assert!(json["moves"][0]["move"] == json["best"]);
    assert!(text.contains(&format!("plays {}", json["best"].as_str().unwrap())), "the same every time");
}

#[test]
fn traces_are_checked_and_compared_with_plain_decoding() {
    let mavis = program();
    let line =
        "eval internal --game connect4 --game hex:size=4 --size 2,1 --positions 3 --batch 2 --plain --json";
    let json: Value = serde_json::from_str(&mavis.stdout(line)).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!((&row["breadth"], &row["depth"], &row["n"]), (&2.into(), &1.into(), &3.into()));
        let value = |name: &str| {
            let metrics = row["metrics"].as_array().unwrap();
            metrics.iter().find(|metric| metric["name"] == name).unwrap()["overall"]["value"]
                .as_f64()
                .unwrap()
        };
        assert_eq!(value("Same text without drafts"), 1.0, "{row}");
        assert!(value("Passes") < value("Passes without drafts"), "{row}");
        assert_eq!(value("Tokens"), value("Passes without drafts"));
        let n_broken: u64 = row["broken"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(n_broken as f64, (3.0 * (1.0 - value("Finished traces"))).round(), "{row}");
    }
    let table = mavis.stdout("eval internal --game connect4 --size 2,1 --positions 2");
    assert!(table.contains("connect4 (2,1)") && table.contains("Faithful traces"), "{table}");
}

#[test]
fn mended_headers_are_counted() {
    let mavis = program();
    let of = |game: &str, grammar: &str| -> Value {
        let line = format!(
            "--game {game} --size 3,1 --positions 2 --plain --json --player mav-is:grammar={grammar}"
        );
        serde_json::from_str(&mavis.stdout(&format!("eval internal {line}"))).unwrap()
    };
    let value = |json: &Value, name: &str| {
        let metrics = json["rows"][0]["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["name"] == name).unwrap();
        metric["overall"]["value"].as_f64().unwrap()
    };
    // Where the model writes every header by itself there is nothing to mend.
    for json in [of("connect4", "free"), of("connect4", "demanded")] {
        for name in ["Faithful traces", "Faithful, none mended", "Same text without drafts"] {
            assert_eq!(value(&json, name), 1.0, "{name}: {json}");
        }
        assert_eq!(value(&json, "Tokens mended"), 0.0, "{json}");
    }
    // On a board that no trace of training had it names another size in the header of a child.
    let (free, demanded) = (of("hex:size=13", "free"), of("hex:size=13", "demanded"));
    assert_eq!(value(&free, "Tokens mended"), 0.0, "{free}");
    assert!(value(&demanded, "Tokens mended") > 0.0, "{demanded}");
    assert_eq!(value(&demanded, "Same text without drafts"), 1.0, "{demanded}");
}

#[test]
fn trees_that_do_not_fit_and_bad_sizes_get_one_line() {
    let mavis = program();
    for (line, expected) in [
        ("eval internal --game hex --size 4,2 --player mav-is:top=all,compact=false", "the context has 8192"),
        ("analyze --game chess --player mav-is:breadth=4,depth=2,context=1000", "the context has 1000"),
        ("eval internal --size 3", "expected BREADTH,DEPTH"),
        ("eval internal --size 0,1", "expected BREADTH,DEPTH"),
        ("eval internal --player mav-is:sims=3", "has no effect here"),
        ("eval internal --player mav-is:grammar=strict", "bad value 'strict' for grammar"),
        ("analyze --game chess --player mav-is:grammar=strict", "bad value 'strict' for grammar"),
        ("analyze --game chess --player mav-is:top=0", "bad value '0' for top"),
    ] {
        mavis.check_bad(line, expected);
    }
}
