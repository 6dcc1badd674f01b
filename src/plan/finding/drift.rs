//! Findings of a plan: what differs, what is refused, what could not be read.

use std::collections::BTreeSet;

use super::{Code, Finding, Fix, Subject};
use crate::model::field::FieldValue;
use crate::model::key_policy::LetsIn;
use crate::model::name::{ClusterName, KmsKey};
use crate::model::policy;
use crate::model::resource::{EventSourceMapping, Function, FunctionSettings, ResourceId, Rule};
use crate::model::scope::Scope;
use crate::plan::{Action, Change, Plan, Refusal};

/// How many fields a message names one by one.
const NAMED_FIELDS: usize = 3;

/// What differs: a finding for every change of a plan, without those that are refused.
#[must_use]
pub fn changed(scope: &Scope, plan: &Plan, refusals: &[Refusal]) -> Vec<Finding> {
    let refused: BTreeSet<ResourceId> = refusals.iter().filter_map(|refusal| about(scope, refusal)).collect();
    plan.changes
        .iter()
        .enumerate()
        .filter(|(_, change)| !refused.contains(&change.id))
        .map(|(place, change)| {
            let cluster = change.owner.cluster().cloned();
            let (code, message) = judge(change, cluster.is_some());
            Finding {
                code,
                subject: Subject::Resource(change.id.clone()),
                message,
                fix: cluster.map_or(Fix::BootstrapHub, Fix::AddCluster),
                change: Some(place),
            }
        })
        .collect()
}

/// What kibus will not touch: a finding for every refusal.
#[must_use]
pub fn refused(scope: &Scope, refusals: &[Refusal]) -> Vec<Finding> {
    refusals
        .iter()
        .map(|refusal| {
            let (code, fix) = match refusal {
                Refusal::NotOurs(..) => (
                    Code::NotOurs,
                    "rename or remove what is in the way, or set up a bus of another name",
                ),
                Refusal::ForeignStatements(_) => (
                    Code::ForeignStatements,
                    "move the other statements to a policy of another name",
                ),
                Refusal::OthersQueue { .. } | Refusal::HubQueue(..) | Refusal::PrefixInUse { .. } => (
                    Code::QueueNameTaken,
                    "choose another queue prefix, or remove the other cluster",
                ),
                Refusal::NoRoleSpace { .. } => (
                    Code::NoRoleSpace,
                    "remove policies that the role does not need, or move statements to a managed policy",
                ),
                Refusal::TooMuchReserved { .. } | Refusal::KeyElsewhere { .. } | Refusal::OtherSettings { .. } => {
                    (Code::CannotBe, "choose otherwise with bootstrap-hub")
                }
                Refusal::ForeignTargets { .. } => (
                    Code::ForeignTargets,
                    "remove the targets, if nobody needs them any more",
                ),
                Refusal::RouterRole { .. } => (
                    Code::RouterRole,
                    "choose the role that Karpenter runs as, with add-cluster --controller-role",
                ),
                Refusal::FunctionFailed { function, .. } => {
                    let fix = format!(
                        "when the reason is gone, remove it (aws lambda delete-function --region {} --function-name \
                         {function}), and run bootstrap-hub to make it anew",
                        scope.region
                    );
                    return finding(scope, refusal, Code::FunctionFailed, fix);
                }
                Refusal::OlderRouter { live, .. } => {
                    return finding(scope, refusal, Code::NewerRouter, format!("use kibus {live} or newer"));
                }
            };
            finding(scope, refusal, code, fix.to_owned())
        })
        .collect()
}

fn finding(scope: &Scope, refusal: &Refusal, code: Code, fix: String) -> Finding {
    Finding {
        code,
        subject: about(scope, refusal).map_or_else(|| Subject::Other("options".to_owned()), Subject::Resource),
        // The line begins with what it is about.
        message: match refusal {
            Refusal::NotOurs(_, bus) => format!("there, and not part of bus `{bus}`"),
            Refusal::FunctionFailed { reason, .. } => format!("given up by Lambda: {reason}"),
            Refusal::ForeignStatements(_) => "holds statements that kibus did not write".to_owned(),
            other => other.to_string(),
        },
        fix: Fix::ByHand(fix),
        change: None,
    }
}

/// Something that could not be read; `denied` if AWS refused, and `why` in words.
#[must_use]
pub fn unreadable(subject: Subject, denied: bool, why: String, fix: Fix) -> Finding {
    Finding {
        code: if denied { Code::Denied } else { Code::Unreadable },
        subject,
        message: why,
        fix,
        change: None,
    }
}

/// What is wrong with the queues' key; `policy` is the key's, or nothing if there is no such key. Nothing is found where
/// it lets EventBridge in, or may.
#[must_use]
pub fn key(scope: &Scope, key: &KmsKey, policy: Option<&LetsIn>) -> Option<Finding> {
    let message = match policy {
        None => "there is no such key".to_owned(),
        Some(LetsIn::No(missing)) => format!(
            "its policy does not let EventBridge do {}",
            missing.iter().copied().collect::<Vec<_>>().join(" and ")
        ),
        Some(LetsIn::Yes | LetsIn::Unclear) => return None,
    };
    Some(Finding {
        code: Code::KeyShut,
        subject: Subject::Other(format!("key {key}")),
        message,
        fix: Fix::ByHand(format!(
            "give its policy this statement, or choose another key: {}",
            policy::key_statement(scope).compact()
        )),
        change: None,
    })
}

/// A cluster that was asked about and is not there.
#[must_use]
pub fn not_registered(cluster: ClusterName) -> Finding {
    Finding {
        code: Code::ClusterNotRegistered,
        subject: Subject::Cluster(cluster.clone()),
        message: "not registered".to_owned(),
        fix: Fix::AddCluster(cluster),
        change: None,
    }
}

/// Which resource a refusal is about.
fn about(scope: &Scope, refusal: &Refusal) -> Option<ResourceId> {
    match refusal {
        Refusal::NotOurs(id, _) | Refusal::ForeignStatements(id) => Some(id.clone()),
        Refusal::OthersQueue { queue, .. } | Refusal::HubQueue(_, queue) => Some(ResourceId::Queue(queue.clone())),
        Refusal::PrefixInUse { .. } | Refusal::KeyElsewhere { .. } => None,
        Refusal::RouterRole { role, policy } => Some(ResourceId::RolePolicy(role.clone(), policy.clone())),
        Refusal::NoRoleSpace { role, .. } => Some(ResourceId::Role(role.clone())),
        Refusal::TooMuchReserved { .. } | Refusal::OtherSettings { .. } | Refusal::FunctionFailed { .. } => {
            Some(ResourceId::Function(scope.router_function()))
        }
        Refusal::ForeignTargets { rule, .. } => Some(ResourceId::Rule(rule.clone())),
        Refusal::OlderRouter { .. } => Some(ResourceId::Function(scope.router_function())),
    }
}

fn judge(change: &Change, of_cluster: bool) -> (Code, String) {
    match change.action {
        Action::Create => (missing(&change.id, of_cluster), "missing".to_owned()),
        Action::Delete => (Code::Stray, "there, and not wanted".to_owned()),
        Action::Update | Action::Replace => different(change, of_cluster),
    }
}

fn missing(id: &ResourceId, of_cluster: bool) -> Code {
    match id {
        ResourceId::Queue(_) if of_cluster => Code::ClusterNotRegistered,
        ResourceId::Queue(_) => Code::HubQueueMissing,
        ResourceId::Role(_) => Code::RoleMissing,
        ResourceId::RolePolicy(..) if of_cluster => Code::ControllerPolicyMissing,
        ResourceId::RolePolicy(..) => Code::RouterPolicyMissing,
        ResourceId::LogGroup(_) => Code::LogGroupMissing,
        ResourceId::Function(_) => Code::FunctionMissing,
        ResourceId::Alias(..) => Code::AliasMissing,
        ResourceId::EventSourceMapping(..) => Code::MappingMissing,
        ResourceId::Rule(_) => Code::RuleMissing,
    }
}

/// The most telling of what changed: something that is off, then the code, then the rest; tags alone come last.
fn different(change: &Change, of_cluster: bool) -> (Code, String) {
    let turned_off = |path: &str| {
        let off = FieldValue::Flag(false);
        change
            .fields
            .iter()
            .any(|field| field.path == path && field.from == off)
    };
    match &change.id {
        ResourceId::Rule(_) if turned_off(Rule::ENABLED) => return (Code::RuleDisabled, "disabled".to_owned()),
        ResourceId::EventSourceMapping(..) if turned_off(EventSourceMapping::ENABLED) => {
            return (Code::MappingDisabled, "disabled".to_owned());
        }
        ResourceId::EventSourceMapping(..) if change.touches(EventSourceMapping::FILTERS) => {
            return (Code::MappingFiltered, "lets only some messages through".to_owned());
        }
        ResourceId::Function(_) => {
            let failed = change.fields.iter().find(|field| field.path == Function::FAILED_UPDATE);
            if let Some(FieldValue::Text(reason)) = failed.map(|field| &field.from) {
                return (Code::UpdateFailed, format!("the last update failed: {reason}"));
            }
        }
        ResourceId::EventSourceMapping(..) if change.touches(EventSourceMapping::DUPLICATES) => {
            return (Code::DuplicateMapping, "there more than once".to_owned());
        }
        _ => {}
    }
    if let Some(found) = code_changed(change) {
        return found;
    }
    let code = match &change.id {
        _ if change.fields.iter().all(|field| field.path.starts_with("tags.")) => Code::TagsChanged,
        ResourceId::Queue(_) if of_cluster => Code::ClusterQueueChanged,
        ResourceId::Queue(_) => Code::HubQueueChanged,
        ResourceId::Role(_) => Code::RoleChanged,
        ResourceId::RolePolicy(..) if of_cluster => Code::ControllerPolicyChanged,
        ResourceId::RolePolicy(..) => Code::RouterPolicyChanged,
        ResourceId::LogGroup(_) => Code::LogGroupChanged,
        ResourceId::Function(_) => Code::FunctionChanged,
        ResourceId::Alias(..) => Code::AliasChanged,
        ResourceId::EventSourceMapping(..) => Code::MappingChanged,
        ResourceId::Rule(_) => Code::RuleChanged,
    };
    (code, format!("{} changed", fields(change)))
}

fn code_changed(change: &Change) -> Option<(Code, String)> {
    let field = change
        .fields
        .iter()
        .find(|field| field.path == FunctionSettings::CODE)?;
    let (FieldValue::Code(live), FieldValue::Code(wanted)) = (&field.from, &field.to) else {
        return None;
    };
    let touched = live.version.is_empty() || live.sha256 != live.live;
    Some(if live.version != wanted.version && !touched {
        let (live, ours) = (&live.version, &wanted.version);
        (
            Code::OtherRouter,
            format!("router {live}, and this kibus brings {ours}"),
        )
    } else {
        (Code::CodeChanged, "code changed".to_owned())
    })
}

/// The fields that differ, each by the last word of its path.
fn fields(change: &Change) -> String {
    let mut words: Vec<String> = Vec::new();
    for field in &change.fields {
        let word = match field.path.strip_prefix("tags.") {
            Some(key) => format!("tag {key}"),
            None => field.path.replace(['_', '.'], " "),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.len() <= NAMED_FIELDS {
        return words.join(", ");
    }
    let more = words.len() - NAMED_FIELDS;
    format!("{} and {more} more", words[..NAMED_FIELDS].join(", "))
}
