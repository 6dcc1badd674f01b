//! What the answers of a simulation mean for the calls of a plan. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::{PlannedCall, PlannedCalls, Simulation};
use crate::model::fault::Fault;

/// What policies decide about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// They allow it.
    Allowed,
    /// No policy of the principal allows it.
    NoPolicy,
    /// A policy of the principal denies it.
    Policy,
    /// The permissions boundary of the principal does not allow it.
    Boundary,
    /// A service control policy of the organization does not allow it.
    Organization,
    /// IAM gave another answer than those that kibus knows.
    Other,
}

/// The answer about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulated {
    pub call: PlannedCall,
    pub decision: Decision,
    /// The condition keys that policies name, and for which the simulation got no value.
    pub missing: BTreeSet<String>,
}

/// What is known about the calls of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// How many calls are asked about.
    pub(super) calls: usize,
    /// The denied calls, with the reason.
    pub(super) denied: Vec<(PlannedCall, &'static str)>,
    /// The calls about which nothing is known, with the reason.
    pub(super) unknown: Vec<(PlannedCall, String)>,
}

/// Weighs the answers to the simulations. What has no answer is unknown. So is an answer that depends on condition keys for
/// which kibus knows no value, like the address of the caller; a key of the operator's document that a request lacks is no such
/// key.
pub(super) fn weigh(planned: &PlannedCalls, answers: &[Result<Vec<Simulated>, Fault>]) -> Verdict {
    let mut verdict = Verdict::default();
    for (at, Simulation { calls, .. }) in planned.simulations.iter().enumerate() {
        verdict.calls += calls.len();
        let answered: BTreeMap<&PlannedCall, &Simulated> = match answers.get(at) {
            Some(Ok(answers)) => answers.iter().map(|answer| (&answer.call, answer)).collect(),
            Some(Err(_)) | None => BTreeMap::new(),
        };
        for call in calls {
            let judged = match (answered.get(call), answers.get(at)) {
                (Some(answer), _) => judge(answer, &planned.known_keys),
                (None, Some(Err(fault))) => Err(fault.to_string()),
                (None, _) => Err("IAM gave no answer about it".to_owned()),
            };
            match judged {
                Ok(None) => {}
                Ok(Some(why)) => verdict.denied.push((call.clone(), why)),
                Err(why) => verdict.unknown.push((call.clone(), why)),
            }
        }
    }
    verdict
}

/// Why a call is denied, if it is; or why that is unknown.
fn judge(answer: &Simulated, known_keys: &BTreeSet<String>) -> Result<Option<&'static str>, String> {
    let keys: Vec<&str> = answer.missing.difference(known_keys).map(String::as_str).collect();
    if !keys.is_empty() {
        return Err(format!("it depends on {}", keys.join(", ")));
    }
    Ok(Some(match answer.decision {
        Decision::Allowed => return Ok(None),
        Decision::NoPolicy => "no policy of the caller allows it",
        Decision::Policy => "a policy denies it",
        Decision::Boundary => "the permissions boundary of the caller does not allow it",
        Decision::Organization => "a service control policy of the organization does not allow it",
        Decision::Other => return Err("IAM gave an answer that kibus does not know".to_owned()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fault::FaultKind;

    fn call(resource: &str) -> PlannedCall {
        PlannedCall {
            action: "sqs:CreateQueue".to_owned(),
            resource: resource.to_owned(),
        }
    }

    #[test]
    fn only_an_answer_without_open_questions_is_a_verdict() {
        let answer = |decision, missing: &[&str]| {
            Ok(vec![Simulated {
                call: call("a"),
                decision,
                missing: missing.iter().map(|key| (*key).to_owned()).collect(),
            }])
        };
        let throttled = Fault {
            kind: FaultKind::Throttled,
            action: "iam:SimulatePrincipalPolicy".to_owned(),
            code: None,
            message: "slow down".to_owned(),
        };
        for (answer, denied, unknown) in [
            (answer(Decision::Allowed, &[]), "", ""),
            // The document of the operator has this key, and the request does not.
            (answer(Decision::Allowed, &["aws:ResourceTag/kibus:bus"]), "", ""),
            (
                answer(Decision::Allowed, &["aws:SourceIp"]),
                "",
                "it depends on aws:SourceIp",
            ),
            (
                answer(Decision::Policy, &["aws:MultiFactorAuthPresent", "aws:SourceIp"]),
                "",
                "it depends on aws:MultiFactorAuthPresent, aws:SourceIp",
            ),
            (
                answer(Decision::NoPolicy, &["aws:ResourceTag/kibus:bus"]),
                "no policy of the caller allows it",
                "",
            ),
            (answer(Decision::Policy, &[]), "a policy denies it", ""),
            (
                answer(Decision::Boundary, &[]),
                "the permissions boundary of the caller does not allow it",
                "",
            ),
            (
                answer(Decision::Organization, &[]),
                "a service control policy of the organization does not allow it",
                "",
            ),
            (
                answer(Decision::Other, &[]),
                "",
                "IAM gave an answer that kibus does not know",
            ),
            (Ok(Vec::new()), "", "IAM gave no answer about it"),
            (Err(throttled), "", "iam:SimulatePrincipalPolicy: slow down"),
        ] {
            let planned = PlannedCalls {
                simulations: vec![Simulation {
                    calls: [call("a")].into(),
                    context: BTreeMap::new(),
                }],
                without: Vec::new(),
                known_keys: ["aws:ResourceTag/kibus:bus".to_owned()].into(),
            };
            let verdict = weigh(&planned, std::slice::from_ref(&answer));
            let first = |reasons: Vec<String>| reasons.into_iter().next().unwrap_or_default();
            let of_denied = verdict.denied.iter().map(|(_, why)| (*why).to_owned()).collect();
            let of_unknown = verdict.unknown.iter().map(|(_, why)| why.clone()).collect();
            assert_eq!(
                (first(of_denied).as_str(), first(of_unknown).as_str()),
                (denied, unknown),
                "{answer:?}"
            );
        }
    }
}
