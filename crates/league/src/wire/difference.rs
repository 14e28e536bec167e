//! What differs between two settings files.

use std::{collections::BTreeMap, fmt};

/// One key with two values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The key with its path: `players.2.player`.
    pub key: String,
    /// The value before; `None` where it was not set.
    pub before: Option<String>,
    /// The value now; `None` where it is not set.
    pub after: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not set)".to_owned());
        write!(f, "{}: {} -> {}", self.key, show(&self.before), show(&self.after))
    }
}

/// All keys whose values differ, in order.
#[must_use]
pub fn differences(before: &toml::Value, after: &toml::Value) -> Vec<Difference> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    flatten("", before, &mut old);
    flatten("", after, &mut new);
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter()
        .filter(|key| old.get(*key) != new.get(*key))
        .map(|key| Difference {
            key: key.clone(),
            before: old.get(key).cloned(),
            after: new.get(key).cloned(),
        })
        .collect()
}

fn flatten(path: &str, value: &toml::Value, into: &mut BTreeMap<String, String>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(&join(key), value, into);
            }
        }
        toml::Value::Array(items) => {
            for (number, value) in (1..).zip(items) {
                flatten(&join(&usize::to_string(&number)), value, into);
            }
        }
        other => {
            into.insert(path.to_owned(), other.to_string());
        }
    }
}
