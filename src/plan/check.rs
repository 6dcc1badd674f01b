//! The checks that refuse a plan.

use std::collections::BTreeSet;

use super::change::{Action, Change, FieldChange};
use super::{Plan, Refusal, diff};
use crate::model::policy::QueueOrigin;
use crate::model::resource::{Alias, FieldName, FieldValue, FunctionField, Observed, Ownership, Resource};
use crate::model::router_function::RouterHandler;
use crate::model::scope::Scope;
use crate::model::tags::{BUS, CLUSTER};

/// The refusals of a plan. Empty means that it may be applied.
pub fn check(scope: &Scope, plan: &Plan, observed: &Observed) -> Vec<Refusal> {
    let refusal = |change| GUARDS.iter().find_map(|refuses| refuses(scope, change, observed));
    plan.changes.iter().filter_map(refusal).collect()
}

/// Refuses a resource that this bus does not manage.
pub fn check_managed(scope: &Scope, resource: &Resource, observed: &Observed) -> Result<(), Refusal> {
    if is_ours(scope, resource, observed) {
        return Ok(());
    }
    Err(match resource.as_role_policy() {
        Some(_) => Refusal::ForeignStatements(resource.id()),
        None => Refusal::NotManaged {
            id: resource.id(),
            bus: scope.bus.clone(),
            other: resource.tags().and_then(|tags| tags.get(BUS)?.parse().ok()),
        },
    })
}

/// Why a change is refused, or `None`.
type Guard = fn(&Scope, &Change, &Observed) -> Option<Refusal>;

/// The guards of a change. The first that refuses counts.
const GUARDS: [Guard; 9] = [
    router_role,
    not_managed,
    not_created,
    others_queue,
    foreign_targets,
    fixed_path,
    failed_function,
    settings_rolled_back,
    older_router,
];

/// Whether a controller would use the router role.
fn router_role(scope: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let policy = change.after.as_ref()?.as_role_policy()?;
    (policy.role == scope.router_role() && policy.name != scope.router_policy()).then(|| Refusal::RouterRole {
        role: policy.role.clone(),
        policy: policy.name.clone(),
    })
}

fn not_managed(scope: &Scope, change: &Change, observed: &Observed) -> Option<Refusal> {
    check_managed(scope, change.before.as_ref()?, observed).err()
}

/// Whether a queue would be deleted whose policy does not say that kibus created it.
fn not_created(scope: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let queue = change.before.as_ref()?.as_queue()?;
    (change.action == Action::Delete && queue.origin(scope) != Some(QueueOrigin::Created))
        .then(|| Refusal::NotCreated(queue.name.clone()))
}

/// Whether the queue belongs to another cluster of the bus. An adopted queue that is handed back belongs to none.
fn others_queue(_: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let queue = change.before.as_ref()?.as_queue()?;
    let serves = queue.tags.get(CLUSTER)?;
    let after = change.after.as_ref()?.tags().filter(|tags| tags.has_any_of_kibus())?;
    let desired = after.get(CLUSTER);
    (Some(serves) != desired).then(|| Refusal::OthersQueue {
        queue: queue.name.clone(),
        serves: serves.to_owned(),
    })
}

/// Whether a rule that would be deleted has targets that kibus does not manage.
fn foreign_targets(_: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let rule = change.before.as_ref()?.as_rule()?;
    (change.action == Action::Delete && !rule.foreign_targets.is_empty()).then(|| Refusal::ForeignTargets {
        rule: rule.name.clone(),
        targets: rule.foreign_targets.clone(),
    })
}

/// Whether the path of the role changes, which IAM cannot do.
fn fixed_path(_: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let role = change.before.as_ref()?.as_role()?;
    let wanted = change.after.as_ref()?.as_role()?;
    (role.path != wanted.path).then(|| Refusal::FixedPath {
        role: role.name.clone(),
        path: role.path.clone(),
    })
}

/// Whether Lambda rejects every update of the function.
fn failed_function(_: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let live = change.before.as_ref()?.as_function()?;
    change.after.as_ref()?;
    live.failed.as_ref().map(|reason| Refusal::FunctionFailed {
        function: live.name.clone(),
        reason: reason.clone(),
    })
}

/// The observed and the desired alias of a change.
fn aliases(change: &Change) -> Option<(&Alias, &Alias)> {
    Some((change.before.as_ref()?.as_alias()?, change.after.as_ref()?.as_alias()?))
}

fn settings_rolled_back(_: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let (live, wanted) = aliases(change)?;
    wanted.moves_to?;
    let fields = other_settings(&change.fields, live, wanted);
    (!fields.is_empty()).then(|| Refusal::OtherSettings {
        version: wanted.moves_to.unwrap_or_default(),
        fields,
    })
}

/// Whether an older router would replace the live one. What the function has besides was never live.
fn older_router(_: &Scope, change: &Change, _: &Observed) -> Option<Refusal> {
    let (live, wanted) = aliases(change)?;
    if wanted.moves_to.is_some() {
        return None;
    }
    let (live, offered) = (&live.settings.code.version, &wanted.settings.code.version);
    (change.touches(FunctionField::Code) && version(live) > version(offered)).then(|| Refusal::OlderRouter {
        live: live.clone(),
        offered: offered.clone(),
    })
}

/// A version for comparing: its numbers, where a part that is no number counts as 0. A release is newer than its
/// prereleases.
fn version(text: &str) -> (Vec<u64>, bool) {
    let (numbers, release) = match text.split_once('-') {
        Some((numbers, _)) => (numbers, false),
        None => (text, true),
    };
    let numbers = numbers.split('.').map(|part| part.parse().unwrap_or(0)).collect();
    (numbers, release)
}

/// The settings, beside the code and the size, that keep this alias from being rolled back so.
pub fn rollback_conflicts(from: &Alias, to: &Alias) -> BTreeSet<String> {
    let (from_resource, to_resource) = (Resource::Alias(from.clone()), Resource::Alias(to.clone()));
    other_settings(&diff(&to_resource, &from_resource, &BTreeSet::new()), from, to)
}

/// What a rollback would change beside the code and the memory. The handler of a version names the queues that it sends to,
/// its role must still exist, and a rollback would also restore variables, layers or a network that it had.
fn other_settings(fields: &[FieldChange], live: &Alias, wanted: &Alias) -> BTreeSet<String> {
    let serves = RouterHandler::of(&wanted.settings);
    let serves_the_same = serves.is_some() && serves == RouterHandler::of(&live.settings);
    let decides = |change: &&FieldChange| match FunctionField::at(&change.path) {
        Some(FunctionField::Role | FunctionField::LoggingGroup | FunctionField::LoggingFormat) => true,
        Some(FunctionField::Handler) => !serves_the_same,
        Some(FunctionField::Environment | FunctionField::Extras) => change.to != FieldValue::Unset,
        Some(
            FunctionField::Runtime
            | FunctionField::Architecture
            | FunctionField::Memory
            | FunctionField::Timeout
            | FunctionField::Code
            | FunctionField::ReservedConcurrency
            | FunctionField::FailedUpdate
            | FunctionField::Failed,
        )
        | None => false,
    };
    let fields = fields.iter().filter(decides);
    fields.map(|field| field.path.clone()).collect()
}

/// Whether an observed resource belongs to this bus, by what its kind says.
pub fn is_ours(scope: &Scope, resource: &Resource, observed: &Observed) -> bool {
    let tagged = |resource: &Resource| resource.tags().is_some_and(|tags| tags.belong_to(&scope.bus));
    match resource.particulars().ownership(scope) {
        Ownership::Tags => tagged(resource),
        Ownership::TagsOf(ids) => ids.iter().any(|id| observed.resource(id).is_some_and(tagged)),
        Ownership::Content(ours) => ours,
    }
}
