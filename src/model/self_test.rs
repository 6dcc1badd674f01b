//! The question that a published version of the router answers before anything is sent to it, and what a good
//! answer is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::resource::FunctionSettings;

/// The `source` of the question. It is only ever asked by invoking the function; no rule matches it.
pub const SOURCE: &str = "kibus.selftest";
/// The `detail-type` of the question.
pub const DETAIL_TYPE: &str = "Kibus Self-Test";

/// The question, in the shape of an event.
#[must_use]
pub fn question() -> Value {
    json!({ "version": "0", "source": SOURCE, "detail-type": DETAIL_TYPE, "detail": {} })
}

/// What a router says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether everything that it tried went well.
    pub ok: bool,
    /// Its own version.
    pub version: String,
    /// What it was told by its environment.
    pub environment: BTreeMap<String, String>,
    /// What did not go well.
    #[serde(default)]
    pub problems: Vec<String>,
}

impl Answer {
    /// Reads what came back from an invocation.
    ///
    /// # Errors
    /// What came back, if it is no answer to this question: some other program's, or a router's from before there was
    /// a self-test.
    pub fn read(payload: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(payload).map_err(|_| {
            let text: String = String::from_utf8_lossy(payload).chars().take(SHOWN).collect();
            format!("it answered {text:?}, which is no answer to a self-test")
        })
    }

    /// Whether it is the answer of the router that was meant, in good health.
    ///
    /// # Errors
    /// What is wrong, in the router's own words where it has some.
    pub fn judge(&self, meant: &FunctionSettings) -> Result<(), String> {
        if !self.ok {
            return Err(match self.problems.as_slice() {
                [] => "it says that it is not well, and not why".to_owned(),
                problems => problems.join("; "),
            });
        }
        if self.version != meant.code.version {
            return Err(format!(
                "it says that it is router {}, and router {} was published",
                self.version, meant.code.version
            ));
        }
        let other = meant
            .environment
            .iter()
            .find(|(key, value)| self.environment.get(*key) != Some(value));
        match other {
            None => Ok(()),
            Some((key, value)) => Err(match self.environment.get(key) {
                Some(found) => format!("it reads {key} as `{found}`, and it was given `{value}`"),
                None => format!("it does not read {key}, which it was given as `{value}`"),
            }),
        }
    }
}

/// How much of an answer that is none is shown, in characters.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resource::{Architecture, Code, Extras, Logging};

    fn meant() -> FunctionSettings {
        FunctionSettings {
            role: String::new(),
            runtime: String::new(),
            architecture: Architecture::X86_64,
            handler: String::new(),
            memory: 0,
            timeout: 0,
            environment: BTreeMap::from([("KIBUS_BUS".to_owned(), "kibus".to_owned())]),
            code: Code::of_archive("0.2.0", "aa"),
            logging: Logging::default(),
            extras: Extras::default(),
        }
    }

    #[test]
    fn only_the_router_that_was_meant_and_is_well_passes() {
        let env = json!({"KIBUS_BUS": "kibus", "KIBUS_QUEUE_PREFIX": ""});
        for (answer, verdict) in [
            (json!({"ok": true, "version": "0.2.0", "environment": env}), Ok(())),
            (
                json!({"ok": true, "version": "0.2.0", "environment": env, "new": 1}),
                Ok(()),
            ),
            (
                json!({"ok": false, "version": "0.2.0", "environment": env, "problems": ["a", "b"]}),
                Err("a; b"),
            ),
            (
                json!({"ok": false, "version": "0.2.0", "environment": env}),
                Err("it says that it is not well, and not why"),
            ),
            (
                json!({"ok": true, "version": "0.1.0", "environment": env}),
                Err("it says that it is router 0.1.0, and router 0.2.0 was published"),
            ),
            (
                json!({"ok": true, "version": "0.2.0", "environment": {"KIBUS_BUS": "x"}}),
                Err("it reads KIBUS_BUS as `x`, and it was given `kibus`"),
            ),
            (
                json!({"ok": true, "version": "0.2.0", "environment": {}}),
                Err("it does not read KIBUS_BUS, which it was given as `kibus`"),
            ),
            (
                json!({"Received": 1}),
                Err("it answered \"{\\\"Received\\\":1}\", which is no answer to a self-test"),
            ),
            (
                json!("ok"),
                Err("it answered \"\\\"ok\\\"\", which is no answer to a self-test"),
            ),
        ] {
            let judged = Answer::read(answer.to_string().as_bytes()).and_then(|read| read.judge(&meant()));
            assert_eq!(judged, verdict.map_err(str::to_owned), "{answer}");
        }
    }

    #[test]
    fn an_endless_answer_is_not_shown_whole() {
        let refused = Answer::read("x".repeat(10_000).as_bytes()).unwrap_err();
        assert!(refused.len() < SHOWN + 100, "{refused}");
    }
}
