//! Each result of a dead letter, in words that the schema has.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::dead_letters::{DeadLetter, RouterAnswer};
use crate::model::answer::{Fault, FaultKind};
use crate::model::scope::tests::scope;
use crate::model::signal::sample_event;
use crate::ui::json::tests::objection;
use crate::ui::{HubReport, Report};

fn fault() -> Fault {
    Fault {
        kind: FaultKind::Unreachable,
        action: "x:Call".to_owned(),
        code: None,
        message: "no answer".to_owned(),
    }
}

/// A report with one dead letter.
fn report(is_event: bool) -> DeadLetterReport {
    let letter = DeadLetter {
        id: "m".to_owned(),
        sent: 0,
        receives: 1,
        cause: DeadLetterCause::Unknown,
        body: if is_event {
            sample_event(&scope(), Signal::SpotInterruption, &["i-1"]).to_string()
        } else {
            String::new()
        },
        receipt: String::new(),
    };
    DeadLetterReport {
        queue: scope().dead_letter_queue(),
        about: 1,
        letters: vec![ReportedLetter {
            event: letter.event(0),
            letter,
            retry: None,
        }],
        warnings: Vec::new(),
    }
}

#[test]
fn each_dead_letter_has_its_result() {
    use LetterOutcome::{Done, Left, NotDeleted, NotRouted, Returned};
    use Treatment::{Purge, Redrive};

    let treated = |treatment, outcome: Option<LetterOutcome>| Treated {
        treatment,
        letters: outcome.map(|outcome| ("m".to_owned(), outcome)).into_iter().collect(),
        decisions: BTreeMap::new(),
        fault: None,
        stopped: false,
    };
    // As the router says it.
    let decided = |outcome, decisions: Value| {
        let answer = json!({"batchItemFailures": [], "decisions": {"m": decisions}}).to_string();
        let decisions = RouterAnswer::read(answer.as_bytes(), &["m"]).decisions;
        Treated {
            decisions,
            ..treated(Redrive, Some(outcome))
        }
    };
    let stopped = |treatment, outcome| Treated {
        stopped: true,
        ..treated(treatment, Some(outcome))
    };
    for (is_event, treated, expected) in [
        (true, None, json!([null, null])),
        (
            true,
            Some(treated(Redrive, Some(Done))),
            json!(["redrive", {
                "status": "routed-or-dropped-and-deleted", "reason": "routed or dropped: this router does not say",
            }]),
        ),
        (
            true,
            Some(decided(
                Done,
                json!([
                    {"decision": "delivered", "reason": null, "cluster": "base"},
                    {"decision": "dropped", "reason": "unregistered", "cluster": "other"},
                ]),
            )),
            json!(["redrive", {
                "status": "routed-and-deleted", "reason": "routed to base; dropped: unregistered, for cluster other",
                "clusters": ["base"],
            }]),
        ),
        (
            true,
            Some(decided(
                Done,
                json!([{"decision": "dropped", "reason": "no tags seen", "cluster": null}]),
            )),
            json!(["redrive", {"status": "dropped-and-deleted", "reason": "dropped: no tags seen"}]),
        ),
        (
            true,
            Some(decided(
                Returned,
                json!([{"decision": "retried", "reason": "queue denied", "cluster": "base"}]),
            )),
            json!(["redrive", {
                "status": "failed", "reason": "the router returned it: retried: queue denied, for cluster base",
            }]),
        ),
        (
            true,
            Some(treated(Purge, Some(Done))),
            json!(["purge", {"status": "deleted", "reason": null}]),
        ),
        (
            true,
            Some(treated(Redrive, Some(Returned))),
            json!(["redrive", {"status": "failed", "reason": "the router returned it"}]),
        ),
        (
            true,
            Some(treated(Redrive, Some(NotRouted(fault())))),
            json!(["redrive", {"status": "failed", "reason": "x:Call: no answer"}]),
        ),
        (
            true,
            Some(treated(Redrive, Some(NotDeleted(fault())))),
            json!(["redrive", {"status": "failed", "reason": "routed or dropped, and not deleted: x:Call: no answer"}]),
        ),
        (
            true,
            Some(treated(Purge, Some(NotDeleted(fault())))),
            json!(["purge", {"status": "failed", "reason": "x:Call: no answer"}]),
        ),
        (
            true,
            Some(treated(Purge, Some(Left))),
            json!(["purge", {"status": "left", "reason": "no longer found"}]),
        ),
        (
            true,
            Some(stopped(Redrive, Left)),
            json!(["redrive", {"status": "left", "reason": "not tried"}]),
        ),
        (
            false,
            Some(treated(Redrive, None)),
            json!(["redrive", {"status": "left", "reason": "not an event"}]),
        ),
        (
            true,
            Some(Treated::abandoned(Redrive)),
            json!(["redrive", {"status": "unknown", "reason": "the command was stopped during its calls"}]),
        ),
    ] {
        let name = format!("{treated:?}");
        let hub = HubReport {
            dead_letters: Some(report(is_event)),
            treated,
            ..HubReport::of(&scope())
        };
        let document = Report {
            hubs: vec![hub],
            ..Report::default()
        }
        .to_json();
        assert_eq!(objection(&document), None, "{name}");
        let mut expected = expected;
        if let Some(result) = expected[1].as_object_mut() {
            result.entry("clusters").or_insert(json!([]));
        }
        let letters = &document["hubs"][0]["dead_letters"];
        assert_eq!(
            json!([letters["action"], letters["messages"][0]["result"]]),
            expected,
            "{name}"
        );
    }
}
