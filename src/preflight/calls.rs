//! The calls that a plan takes, as far as the operator's document allows them, with what their requests hold. Pure.
//!
//! The table of calls says which calls a change of a kind takes. One that changes may need fewer calls than are asked about: which,
//! depends on its fields.

use std::collections::{BTreeMap, BTreeSet};

use crate::iam::grants::matches;
use crate::model::{
    Call, Document, FieldValue, HubOptions, Kind, Resource, ResourceId, Scope, Simulation, Tags,
    calls::{Access, ApiCall, CALLS, CONDITION_KEYS, TAG_KEYS, conditions, iam, sns},
    tags::BUS,
    texts,
};
use crate::plan::{Action, Change, Plan};

#[derive(Clone, Debug, Default)]
pub struct PlannedCalls {
    pub simulations: Vec<Simulation>,
    /// Resources that change, and for which the document has no call.
    pub without: Vec<ResourceId>,
    /// The condition keys that kibus decides about. A simulation that lacks one of them is of a request that lacks it.
    pub known_keys: BTreeSet<String>,
}

/// The calls of a plan, by an operator's document for these options.
pub fn planned_calls(scope: &Scope, options: &HubOptions, document: &Document, plan: &Plan) -> PlannedCalls {
    let mut groups: BTreeMap<Requests, (BTreeSet<Call>, Tags)> = BTreeMap::new();
    let mut without = Vec::new();
    for change in &plan.changes {
        let calls = calls_of(scope, options, document, change);
        if calls.is_empty() {
            without.push(change.id.clone());
        }
        for call in calls {
            let passes = call.action == iam::PASS_ROLE;
            let requests = Requests {
                kind: if passes { Kind::Role } else { change.id.of_kind() },
                is_new: change.before.is_none(),
                passes,
            };
            let (calls, tags) = groups.entry(requests).or_default();
            calls.insert(call);
            let of_change = change.after.as_ref().and_then(Resource::tags).filter(|_| !passes);
            tags.0.extend(of_change.into_iter().flat_map(|tags| tags.0.clone()));
        }
    }
    // A topic has no change: it is read because an option names it.
    let topics = [options.alarm_topic(), options.topic()].into_iter().flatten();
    let topics = topics
        .filter(|_| !plan.is_empty())
        .map(|topic| Call { action: sns::GET_TOPIC_ATTRIBUTES.to_owned(), resource: scope.topic_arn(topic) });
    let of_topics = Requests { kind: Kind::Alarm, is_new: true, passes: false };
    for call in topics {
        groups.entry(of_topics).or_default().0.insert(call);
    }
    let simulations = groups.into_iter().flat_map(|(requests, (calls, tags))| {
        let context = requests.context(scope, options, tags);
        parts(&calls).into_iter().map(move |calls| Simulation { calls, context: context.clone() })
    });
    PlannedCalls {
        simulations: simulations.collect(),
        without,
        known_keys: condition_keys(document).chain(CONDITION_KEYS.map(|(key, _)| key.to_owned())).collect(),
    }
}

/// How many resources a simulation has at most. Each is evaluated with each action.
const RESOURCES: usize = 50;

/// Calls, divided by their resources.
fn parts(calls: &BTreeSet<Call>) -> Vec<BTreeSet<Call>> {
    let resources: BTreeSet<&str> = calls.iter().map(|call| call.resource.as_str()).collect();
    let resources: Vec<&str> = resources.into_iter().collect();
    let of = |part: &[&str]| {
        let calls = calls.iter().filter(|call| part.contains(&call.resource.as_str()));
        calls.cloned().collect()
    };
    resources.chunks(RESOURCES).map(of).collect()
}

/// The calls of a change that the document allows on what they are about.
fn calls_of(scope: &Scope, options: &HubOptions, document: &Document, change: &Change) -> Vec<Call> {
    let kind = change.id.of_kind();
    let taken = CALLS.iter().filter(|call| call.kinds.contains(&kind) && takes(change, call.access));
    let statements = document.statements();
    let allows = |action: &str, resource: &str| {
        statements.iter().any(|statement| {
            let resources = texts(statement.get("Resource"));
            statement["Effect"] == "Allow"
                && texts(statement.get("Action")).contains(&action)
                && resources.iter().any(|pattern| matches(pattern, resource))
        })
    };
    let call = |ApiCall { action, arn, .. }: &ApiCall| {
        let resource = arn(scope, &options.role_path(), &change.id);
        let action = (*action).to_owned();
        allows(&action, &resource).then_some(Call { action, resource })
    };
    taken.filter_map(call).collect()
}

/// Whether a change takes a call of its kind.
fn takes(change: &Change, access: Access) -> bool {
    use Action::{Create, Delete, Update};
    let (exists, stays) = (change.before.is_some(), change.after.is_some());
    let sets = |field: &str, unset: bool| {
        let mut fields = change.fields.iter().filter(|change| change.path == field);
        stays && fields.any(|change| (change.to == FieldValue::Unset) == unset)
    };
    match access {
        Access::Read | Access::ReadForChange => true,
        Access::Create => change.action == Create,
        Access::Update => change.action == Update,
        Access::CreateOrUpdate => matches!(change.action, Create | Update),
        Access::Delete => change.action == Delete,
        Access::UpdateOrDelete => matches!(change.action, Update | Delete),
        Access::Set(field) => sets(field, false),
        Access::SetLater(field) => exists && sets(field, false),
        Access::Unset(field) => exists && sets(field, true),
    }
}

/// Requests that hold the same condition keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Requests {
    kind: Kind,
    /// Whether the resource does not exist yet, and so has no tags.
    is_new: bool,
    /// Whether they pass a role to Lambda.
    passes: bool,
}

impl Requests {
    fn context(self, scope: &Scope, options: &HubOptions, tags: Tags) -> BTreeMap<String, Vec<String>> {
        let mut context = BTreeMap::new();
        let mut set = |key: &str, values: Vec<String>| drop(context.insert(key.to_owned(), values));
        set("aws:SecureTransport", vec!["true".to_owned()]);
        // Requests to IAM are requests to the Region of its endpoint (IAM user guide, "aws:RequestedRegion").
        let region = match scope.partition.as_str() {
            _ if !matches!(self.kind, Kind::Role | Kind::RolePolicy) => Some(scope.region.as_str()),
            "aws" => Some("us-east-1"),
            "aws-cn" => Some("cn-north-1"),
            "aws-us-gov" => Some("us-gov-west-1"),
            _ => None,
        };
        if let Some(region) = region {
            set("aws:RequestedRegion", vec![region.to_owned()]);
        }
        if !tags.0.is_empty() {
            set(TAG_KEYS, tags.0.keys().cloned().collect());
        }
        for (key, value) in tags.0 {
            set(&format!("aws:RequestTag/{key}"), vec![value]);
        }
        if !self.is_new {
            set(&format!("aws:ResourceTag/{BUS}"), vec![scope.bus.to_string()]);
        }
        for (key, values) in conditions(self.kind, self.passes, scope, options.boundary()) {
            set(key, values);
        }
        context
    }
}

fn condition_keys(document: &Document) -> impl Iterator<Item = String> {
    let statements = document.statements().into_iter();
    let operators = statements.filter_map(|statement| statement.get("Condition")?.as_object());
    let keys = operators.flat_map(|operators| operators.values()).filter_map(|keys| keys.as_object());
    keys.flat_map(|keys| keys.keys().cloned())
}

#[cfg(test)]
mod tests;
