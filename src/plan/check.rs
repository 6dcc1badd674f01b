//! The checks that refuse a plan.

use std::collections::BTreeSet;

use super::{Action, Change, FieldChange, Plan, diff};
use crate::error::listed;
use crate::message::{Message, recreate_function};
use crate::model::{
    Alias, BusName, FieldName, FieldValue, FindingCode, FunctionField, Observed, Ownership, Parameter, Resource,
    ResourceId, RouterHandler, Scope, Standing, tags::BUS,
};

/// The refusals of a plan. If empty, the plan may be applied. `removes` means that it only deletes.
pub fn check(scope: &Scope, plan: &Plan, observed: &Observed, removes: bool) -> Vec<Message> {
    let refusal = |change: &Change| {
        let managed = || check_managed(scope, change.before.as_ref()?, observed, removes);
        router_role(scope, change).or_else(managed).or_else(|| GUARDS.iter().find_map(|refuses| refuses(scope, change)))
    };
    plan.changes.iter().filter_map(refusal).collect()
}

/// The refusal of a resource that this bus does not manage. `removes` means that it would only be deleted.
pub fn check_managed(scope: &Scope, resource: &Resource, observed: &Observed, removes: bool) -> Option<Message> {
    if is_ours(scope, resource, observed) {
        return None;
    }
    let (id, bus) = (resource.id(), &scope.bus);
    if resource.as_role_policy().is_some() {
        let sentence = format!("{id} exists and contains statements that kibus did not write");
        return Some(
            Message::refusal(FindingCode::ForeignStatements, id, sentence)
                .advise("move the other statements to a policy with another name"),
        );
    }
    let other: Option<BusName> = resource.tags().and_then(|tags| tags.get(BUS)?.parse().ok());
    let advice = match (other, removes) {
        (Some(other), true) => {
            format!("it belongs to bus `{other}`: to delete it, run this command with --bus {other}")
        }
        (None, true) => "kibus does not delete it; delete it with the tool that created it".to_owned(),
        (Some(other), false) => {
            format!("it belongs to bus `{other}`; select that bus with --bus {other}, or use another name")
        }
        (None, false) if resource.as_dashboard().is_some() => {
            "save it under another name and delete this one, or run without --dashboard".to_owned()
        }
        (None, false) => format!(
            "if it belongs to this bus and has lost its tags, add the tag `kibus:bus={bus}` again; otherwise delete it \
             if nothing needs it, or select another bus with --bus"
        ),
    };
    let sentence = format!("{id} exists and is not part of bus `{bus}`");
    Some(Message::refusal(FindingCode::NotManaged, id, sentence).advise(advice))
}

/// Why a change of a resource of this bus is refused, or `None`.
type Guard = fn(&Scope, &Change) -> Option<Message>;

/// The guards of a change. The first refusal counts.
const GUARDS: [Guard; 5] = [foreign_targets, fixed_path, failed_function, settings_rolled_back, older_router];

/// Whether a controller would run as the router role.
fn router_role(scope: &Scope, change: &Change) -> Option<Message> {
    let policy = change.after.as_ref()?.as_role_policy()?;
    let role = &policy.role;
    (*role == scope.router_role() && policy.name != scope.router_policy()).then(|| {
        let sentence =
            format!("role `{role}` is the router's role: a controller with this role could read the hub queue");
        Message::refusal(FindingCode::RouterRole, ResourceId::RolePolicy(role.clone(), policy.name.clone()), sentence)
            .advise("pass the role that Karpenter runs as with --controller-role")
    })
}

/// Whether a rule to be deleted has targets that kibus does not manage.
fn foreign_targets(_: &Scope, change: &Change) -> Option<Message> {
    let rule = change.before.as_ref()?.as_rule()?;
    (change.action == Action::Delete && !rule.foreign_targets.is_empty()).then(|| {
        let (name, targets) = (&rule.name, listed(&rule.foreign_targets));
        let sentence = format!("rule `{name}` has targets that kibus does not manage: {targets}");
        Message::refusal(FindingCode::ForeignTargets, change.id.clone(), sentence)
            .advise("remove the targets first, if nothing needs them")
    })
}

/// Whether the path of the role changes, which IAM does not support.
fn fixed_path(scope: &Scope, change: &Change) -> Option<Message> {
    let role = change.before.as_ref()?.as_role()?;
    let wanted = change.after.as_ref()?.as_role()?;
    (role.path != wanted.path).then(|| {
        let sentence = format!("role `{}` has the path `{}`, which cannot change", role.name, role.path);
        Message::refusal(FindingCode::RoleChanged, change.id.clone(), sentence).then(
            "delete the role with its policy and run this command again, which recreates both; or delete the whole hub \
             first:",
            scope.kibus("teardown"),
        )
    })
}

/// Whether Lambda rejects every update of the function.
fn failed_function(scope: &Scope, change: &Change) -> Option<Message> {
    let live = change.before.as_ref()?.as_function()?;
    change.after.as_ref()?;
    live.failed.as_ref().map(|reason| {
        let sentence = format!("function `{}` is in a failed state and Lambda cannot update it: {reason}", live.name);
        Message::refusal(FindingCode::FunctionFailed, change.id.clone(), sentence)
            .step(recreate_function(scope, &live.name))
    })
}

/// The observed and the desired alias of a change.
fn aliases(change: &Change) -> Option<(&Alias, &Alias)> {
    Some((change.before.as_ref()?.as_alias()?, change.after.as_ref()?.as_alias()?))
}

/// Whether the version to roll back to was published with different settings, and would route by them.
fn settings_rolled_back(scope: &Scope, change: &Change) -> Option<Message> {
    let (live, wanted) = aliases(change)?;
    let version = wanted.moves_to?;
    let fields = other_settings(&change.fields, live, wanted);
    (!fields.is_empty()).then(|| {
        let fields = listed(&fields);
        let sentence = format!("version {version} of the router was published with different settings: {fields}");
        Message::refusal(FindingCode::OptionNotApplicable, ResourceId::Function(scope.router_function()), sentence)
            .advise("restore those settings first, or fix the newer router instead")
    })
}

/// Whether an older router would replace the live one. Other code on the function was never live.
fn older_router(_: &Scope, change: &Change) -> Option<Message> {
    let (live, wanted) = aliases(change)?;
    if wanted.moves_to.is_some() {
        return None;
    }
    let (live, offered) = (&live.settings.code.version, &wanted.settings.code.version);
    (change.touches(FunctionField::Code) && is_newer(live, offered)).then(|| {
        let sentence = format!("the live router {live} is newer than {offered}");
        Message::refusal(FindingCode::NewerRouter, change.id.clone(), sentence)
            .advise(format!("use kibus {live} or newer; to install the older router anyway, pass --allow-downgrade"))
    })
}

/// Whether a version is newer than another. An unknown version is not newer.
fn is_newer(version: &str, other: &str) -> bool {
    let [version, other] = [version, other].map(semver::Version::parse);
    version.is_ok_and(|version| other.is_ok_and(|other| version.cmp_precedence(&other).is_gt()))
}

/// The settings, other than the code and the size, that prevent this rollback of the alias.
pub fn rollback_conflicts(from: &Alias, to: &Alias) -> BTreeSet<String> {
    let (from_resource, to_resource) = (Resource::Alias(from.clone()), Resource::Alias(to.clone()));
    other_settings(&diff(&to_resource, &from_resource, &BTreeSet::new()), from, to)
}

/// What a rollback would change besides the code and the memory. The handler of a version names the queues that it
/// sends to, its role must still exist, and a rollback would also restore the variables, layers or network of the
/// version.
fn other_settings(fields: &[FieldChange], live: &Alias, wanted: &Alias) -> BTreeSet<String> {
    let [wanted_one, live_one] = [wanted, live].map(|alias| RouterHandler::from_settings(&alias.settings));
    let serves_the_same = wanted_one.zip(live_one).is_some_and(|(one, other)| one.serves_as(&other));
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

/// Whether an observed resource belongs to this bus, by the proof that its kind requires. A queue must also not be
/// older than the evidence that it belongs to the bus: the record of its cluster, or the settings of the hub.
pub fn is_ours(scope: &Scope, resource: &Resource, observed: &Observed) -> bool {
    let tagged = |resource: &Resource| resource.tags().is_some_and(|tags| tags.belong_to(&scope.bus));
    if let Some(queue) = resource.as_queue() {
        let mut records = observed.resources().filter_map(|one| one.as_record()?.record());
        if let Some(record) = records.find(|record| record.queue == queue.name) {
            return queue.standing(scope, record) != Standing::Foreign;
        }
        let settings = observed.parameter(scope.settings_parameter()).and_then(Parameter::settings);
        return tagged(resource) && !settings.is_some_and(|settings| queue.is_older_than(settings.since));
    }
    match resource.particulars().ownership(scope) {
        Ownership::Tags => tagged(resource),
        Ownership::TagsOf(ids) => ids.iter().any(|id| observed.resource(id).is_some_and(tagged)),
        Ownership::Content(ours) => ours,
    }
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_are_ordered_by_their_precedence() {
        for (newer, older) in [
            ("0.10.0", "0.9.1"),
            ("0.4.1+fix", "0.4.0"),
            ("0.5.0-rc.2", "0.5.0-rc.1"),
            ("1.0.0", "1.0.0-rc.1"),
            ("0.2.1-rc.1", "0.2.0"),
        ] {
            assert!(is_newer(newer, older) && !is_newer(older, newer), "{newer} {older}");
        }
        for (one, other) in [("1.0.0", "1.0.0+fix"), ("", "1.0.0"), ("1.0.0", "")] {
            assert!(!is_newer(one, other) && !is_newer(other, one), "{one} {other}");
        }
    }
}
