//! The file that makes a league.

use super::config;
use mavis_league::wire::LeagueConfig;

#[test]
fn bad_configurations_are_refused_with_the_key() {
    let check = |text: &str, part: &str| {
        let error = LeagueConfig::from_toml(text).expect_err("a bad configuration").to_string();
        assert!(error.contains(part), "{error}");
    };
    let players = "players=[{player='random'},{player='lookahead:1'}]\n";
    check("name='x'\ngame='chess'\nplayers=[{player='random'}]", "at least two players");
    check(&format!("name='x'\ngame='ches'\n{players}"), "unknown game 'ches'");
    check(&format!("name='x'\ngame='chess'\nsede=3\n{players}"), "line 3: unknown field `sede`");
    check(&format!("name='x'\ngame='chess'\nclock='fast'\n{players}"), "clock: bad time control 'fast'");
    check(&format!("name='x'\ngame='chess'\nlimits.time=-1.0\n{players}"), "limits.time");
    check(
        &format!("name='x'\ngame='chess'\nratings.zero={{player='z'}}\n{players}"),
        "ratings.zero: no player named 'z'",
    );
    check(
        &format!("name='x'\ngame='chess'\nsprt={{elo0=5.0,elo1=0.0}}\n{players}"),
        "elo0 must be below elo1",
    );
    check(
        "name='x'\ngame='chess'\nplayers=[{player='random'},{player='random'}]",
        "two players are named 'random'",
    );
    check(
        &format!("name='x'\ngame='chess'\nschedule.pairs=9223372036854775807\n{players}"),
        "schedule.pairs: a league has at most 10000000 opening pairs over all pairings, not 9223372036854775807",
    );
    let whole = config(&format!("name='x'\ngame='chess'\n{players}"));
    assert_eq!(config(&whole.to_toml().expect("writes")), whole, "the resolved configuration reads back");
    let lines = ["random", "lookahead:1"].map(mavis_league::wire::PlayerConfig::new).to_vec();
    assert_eq!(LeagueConfig::new("x", "chess", lines), whole, "defaults are the same in code and in TOML");
}
