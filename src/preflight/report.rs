//! The checks of a preflight: one message for each subject, and what the answers of a simulation mean. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::PlannedCalls;
use super::{Answers, NoSimulation};
use crate::error::Hint;
use crate::message::MessageKind::{self, Blocked, Passed, Refused, Warning};
use crate::message::{Message, Subject};
use crate::model::{
    AccessDecision, Answered, Call, Fact, Fault, Kind, ResourceId, Scope, hub::MAXIMUM_CONCURRENCY, rule_limit,
};
use crate::plan::{Action, Plan};

/// The result of a check about this subject, in one or two words.
pub fn check(subject: &str, kind: MessageKind, sentence: impl Into<String>) -> Message {
    Message::new(kind, Subject::Other(subject.to_owned()), sentence)
}

/// What a survey and a plan say, beside the answers of AWS.
pub struct Findings<'a> {
    pub scope: &'a Scope,
    /// What was read, and what could not be read.
    pub read: usize,
    pub unread: Vec<(String, Fault)>,
    /// The router of this kibus for the plan.
    pub router: Message,
    /// The plan, and what it is or why there is none.
    pub planned: Message,
    /// `None` if there is no plan.
    pub plan: Option<&'a Plan>,
    pub calls: &'a PlannedCalls,
    /// The concurrency of the account that is reserved for no function.
    pub concurrency: &'a Fact<u32>,
    /// The command that prints the policy for this plan.
    pub policy: String,
}

/// The checks, in the order in which a person fixes them.
pub fn checks(findings: Findings<'_>, answers: &Answers) -> Vec<Message> {
    vec![
        check("credentials", Passed, &answers.caller),
        reads(&findings),
        findings.router.clone(),
        findings.planned.clone(),
        permissions(&findings, answers),
        rules(&findings, &answers.rules),
        concurrency(findings.concurrency),
    ]
}

fn reads(findings: &Findings<'_>) -> Message {
    let region = &findings.scope.region;
    let (read, unread) = (findings.read, &findings.unread);
    let item = |result, text: String| check("reads", result, text);
    if unread.is_empty() {
        return item(Passed, format!("{read} resources in {region}"));
    }
    let denied = unread.iter().any(|(_, fault)| fault.is_denied());
    let result = if denied { Refused } else { Blocked };
    let text = format!("{} of {} resources in {region} could not be read", unread.len(), read + unread.len());
    let item = item(result, text).notes(unread.iter().map(|(what, fault)| format!("{what}: {fault}")));
    if denied {
        item.step(Hint::command("attach the policy that this command prints:", findings.policy.clone()))
    } else {
        item
    }
}

fn permissions(findings: &Findings<'_>, answers: &Answers) -> Message {
    let item = |result, text: String| check("permissions", result, text);
    let simulated = match &answers.simulated {
        _ if findings.plan.is_none() => return item(Blocked, "without a plan, it is unknown what it needs".to_owned()),
        _ if findings.plan.is_some_and(Plan::is_empty) => return item(Passed, "nothing changes".to_owned()),
        Ok(simulated) => simulated,
        Err(why @ NoSimulation::RootUser) => return item(Warning, why.to_string()),
        Err(why @ NoSimulation::UnreadRoles(..)) => {
            return item(Blocked, why.to_string()).step(reads_of_check(findings.scope));
        }
        Err(why) => return item(Blocked, why.to_string()),
    };
    let verdict = weigh(&findings.calls.known_keys, simulated);
    let (calls, denied) = (verdict.calls, verdict.denied.len());
    let without = findings.calls.without.iter();
    let (result, text) = match (denied, verdict.unknown.len() + without.len()) {
        (0, 0) => (Passed, format!("IAM allows the {calls} calls of the plan, unless a condition denies one")),
        (0, open) => (Blocked, format!("no clear answer for {open} of {} calls of the plan", calls + without.len())),
        _ => (Refused, format!("IAM denies {denied} of {calls} calls of the plan")),
    };
    let mut item = item(result, text)
        .notes(grouped(verdict.denied))
        .notes(verdict.reserves)
        .notes(by_reason(verdict.unknown))
        .notes(without.map(|id| format!("the calls for {id} are unknown")));
    if verdict.lacks_policy {
        let text = "attach the policy that this command prints, or let an administrator do it:";
        item = item.step(Hint::command(text, findings.policy.clone()));
    } else if result == Refused {
        item =
            item.step(Hint::text("no further policy helps: let those who manage what denies these calls allow them"));
    }
    let is_denied = |answer: &Answered| answer.decisions.as_ref().is_err_and(Fault::is_denied);
    if simulated.iter().any(is_denied) { item.step(reads_of_check(findings.scope)) } else { item }
}

/// The document with the reads of a preflight.
fn reads_of_check(scope: &Scope) -> Hint {
    Hint::command(
        "to allow the reads of this check, attach the policy that this command prints:",
        scope.kibus("policy operator --for check"),
    )
}

/// A line for each action and reason, with the resource, or how many there are.
fn grouped(calls: impl IntoIterator<Item = (Call, String)>) -> Vec<String> {
    let mut resources: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (Call { action, resource }, why) in calls {
        resources.entry((action, why)).or_default().insert(resource);
    }
    let line = |((action, why), resources): ((String, String), BTreeSet<String>)| {
        let first = resources.first().map_or("", String::as_str);
        match resources.len() {
            1 if first == "*" => format!("{action}: {why}"),
            1 => format!("{action} on {first}: {why}"),
            count => format!("{action} on {count} resources like {first}: {why}"),
        }
    };
    resources.into_iter().map(line).collect()
}

/// A line for each reason, with the call, or how many there are: one fault can leave all of them without an answer.
fn by_reason(calls: impl IntoIterator<Item = (Call, String)>) -> Vec<String> {
    let mut actions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (call, why) in calls {
        actions.entry(why).or_default().push(call.action);
    }
    let line = |(why, actions): (String, Vec<String>)| match actions.as_slice() {
        [one] => format!("{one} is unknown: {why}"),
        several => format!("{} calls like {} are unknown: {why}", several.len(), several[0]),
    };
    actions.into_iter().map(line).collect()
}

/// Kibus cannot read a raised quota, so too many rules are a warning.
fn rules(findings: &Findings<'_>, count: &Fact<usize>) -> Message {
    let item = |result, text: String| check("rules", result, text);
    let count = match count {
        Fact::Present(count) => count,
        Fact::Unreadable(fault) => {
            let item = item(Blocked, fault.to_string());
            return if fault.is_denied() { item.step(reads_of_check(findings.scope)) } else { item };
        }
        Fact::NotAsked | Fact::Absent => return item(Blocked, "not counted".to_owned()),
    };
    let changes = findings.plan.into_iter().flat_map(|plan| &plan.changes);
    let is_new_rule = |id: &ResourceId, action| id.of_kind() == Kind::Rule && action == Action::Create;
    let new = changes.filter(|change| is_new_rule(&change.id, change.action)).count();
    let most = rule_limit(&findings.scope.region);
    let creates = findings.plan.map_or_else(String::new, |_| format!("; the plan creates {new}"));
    let text = format!("{count} of {most} (default limit) on the default event bus{creates}");
    if new > 0 && count + new > most {
        item(Warning, text).step(Hint::text(
            "if the quota was not raised, delete rules that are not needed, or request more in Service Quotas (L-244521F2)",
        ))
    } else {
        item(Passed, text)
    }
}

fn concurrency(unreserved: &Fact<u32>) -> Message {
    let item = |result, text: String| check("concurrency", result, text);
    match unreserved {
        Fact::Present(count) if *count >= MAXIMUM_CONCURRENCY => {
            item(Passed, format!("{count} of the account unreserved"))
        }
        Fact::Present(count) => {
            let text = format!("{count} of the account unreserved; the router uses up to {MAXIMUM_CONCURRENCY}");
            let advice = "request more concurrency for the account in Service Quotas, or free what others reserve";
            item(Warning, text).step(Hint::text(advice))
        }
        Fact::Unreadable(fault) => item(Blocked, fault.to_string()),
        Fact::NotAsked | Fact::Absent => item(Blocked, "AWS does not tell".to_owned()),
    }
}

/// What is known about the calls of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Verdict {
    /// How many calls are asked about.
    calls: usize,
    /// The denied calls, with the reason.
    denied: Vec<(Call, String)>,
    /// Whether no policy allows some of them, which another policy changes.
    lacks_policy: bool,
    /// What else may decide about the denied calls.
    reserves: Vec<String>,
    /// The calls about which nothing is known, with the reason.
    unknown: Vec<(Call, String)>,
}

/// Weighs the answers to simulations. What has no answer is unknown. IAM lists the condition keys that a simulation lacks only
/// where no policy allows a call; for the keys in `known`, the request lacks them too.
fn weigh(known: &BTreeSet<String>, answers: &[Answered]) -> Verdict {
    let mut verdict = Verdict::default();
    let (mut lacking, mut denies) = (BTreeSet::new(), false);
    for Answered { calls, decisions } in answers {
        verdict.calls += calls.len();
        for call in calls {
            let decision = match decisions {
                Ok(decisions) => decisions.get(call),
                Err(fault) => {
                    verdict.unknown.push((call.clone(), fault.to_string()));
                    continue;
                }
            };
            if let Some(why) = decision.and_then(AccessDecision::denial) {
                verdict.denied.push((call.clone(), why));
            }
            let unknown = match decision {
                Some(AccessDecision::NoPolicy { keys }) => {
                    verdict.lacks_policy = true;
                    lacking.extend(keys.difference(known).map(String::as_str));
                    continue;
                }
                Some(AccessDecision::Policies(_)) => {
                    denies = true;
                    continue;
                }
                Some(AccessDecision::Allowed | AccessDecision::Boundary | AccessDecision::Organization) => continue,
                Some(AccessDecision::Other) => "IAM gave an answer that kibus does not know",
                None => "IAM gave no answer about it",
            };
            verdict.unknown.push((call.clone(), unknown.to_owned()));
        }
    }
    verdict.reserves = reserves(&lacking, verdict.lacks_policy, denies);
    verdict
}

/// What may decide otherwise about the real requests. The keys are those of all policies, once IAM has listed them.
fn reserves(lacking: &BTreeSet<&str>, lists_keys: bool, denies: bool) -> Vec<String> {
    let keys: Vec<&str> = lacking.iter().copied().collect();
    let keys = keys.join(", ");
    let mut reserves = Vec::new();
    if !keys.is_empty() {
        reserves.push(format!("what no policy allows is missing, unless a policy that depends on {keys} allows it"));
    }
    if denies && (!lists_keys || !keys.is_empty()) {
        let keys = if lists_keys {
            keys
        } else {
            "a condition key, such as aws:MultiFactorAuthPresent or aws:SourceIp".to_owned()
        };
        reserves.push(format!("a policy may deny a call only because the simulation has no value for {keys}"));
    }
    reserves
}

#[cfg(test)]
mod tests;
