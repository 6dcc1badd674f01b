//! The calls that plans take.

use super::*;
use crate::iam::operator_policy;
use crate::model::{
    Code, Fact, Hub, Observed, OrNone,
    calls::{CALLS, call_of},
    scope::tests::scope,
};
use crate::plan::plan;

/// The calls of a plan from the hub with `before`, if there is one, to the hub with `after`.
fn calls(before: Option<&HubOptions>, after: &HubOptions) -> PlannedCalls {
    let hub = |options: &HubOptions| Hub::new(&scope(), options.clone(), Code::of_archive("0.1.0", "aa")).desired();
    let (wanted, had) = (hub(after), before.map(hub).unwrap_or_default());
    let reading = |id: &ResourceId| match had.get(id) {
        Some(resource) => Fact::Present(resource.clone()),
        None => Fact::Absent,
    };
    let ids: BTreeSet<&ResourceId> = wanted.ids().chain(had.ids()).collect();
    let observed: Observed = ids.into_iter().map(|id| (id.clone(), reading(id))).collect();
    let document = operator_policy::with_alarms(&scope(), after);
    planned_calls(&scope(), after, &document, &plan(&scope(), &wanted, &observed))
}

fn writes(planned: &PlannedCalls) -> BTreeSet<&str> {
    let actions = planned.simulations.iter().flat_map(Simulation::actions);
    let is_read = |action: &&str| call_of(action).unwrap().access.is_read();
    actions.filter(|action| !is_read(action)).collect()
}

fn all() -> HubOptions {
    HubOptions {
        permissions_boundary: Some(OrNone("arn:aws:iam::111122223333:policy/limit".parse().ok())),
        role_path: "/team/".parse().ok(),
        kms_key: Some(OrNone("arn:aws:kms:us-west-2:111122223333:key/1".parse().ok())),
        tag: Some(vec!["team=a".parse().unwrap()]),
        rebalance: Some(true),
        alarms: "true".parse().ok(),
        dashboard: Some(true),
        ..HubOptions::default()
    }
}

#[test]
fn a_plan_takes_the_calls_of_its_changes() {
    // By their names: all writes but those that only change or delete what exists, and but those that only an option asks for.
    let of_options = ["iam:PutRolePermissionsBoundary", "lambda:PutFunctionConcurrency"];
    let makes = |action: &&str| {
        let name = action.split_once(':').unwrap().1;
        let verbs = ["Delete", "Remove", "Set", "Untag", "Update"];
        !verbs.iter().any(|verb| name.starts_with(verb)) && !of_options.contains(action)
    };
    let is_always_made = |kind| !matches!(kind, Kind::Alarm | Kind::Dashboard | Kind::Record);
    let of_kinds = CALLS.iter().filter(|call| call.kinds.iter().copied().any(is_always_made) && !call.access.is_read());
    let first: BTreeSet<&str> = of_kinds.map(|call| call.action).filter(makes).collect();
    let first = first.into_iter().collect::<Vec<_>>().join(" ");
    let default = HubOptions::default();
    for (name, before, after, expected) in [
        ("a new hub", None, default.clone(), first.as_str()),
        ("the same hub", Some(default.clone()), default.clone(), ""),
        (
            "another rule",
            Some(default.clone()),
            HubOptions { rebalance: Some(true), ..default.clone() },
            "events:PutRule events:PutTargets events:TagResource sqs:SetQueueAttributes sqs:TagQueue sqs:UntagQueue \
             ssm:PutParameter",
        ),
        (
            "a dashboard",
            Some(default.clone()),
            HubOptions { dashboard: Some(true), ..default.clone() },
            "cloudwatch:PutDashboard ssm:PutParameter",
        ),
    ] {
        let planned = calls(before.as_ref(), &after);
        let got: Vec<&str> = writes(&planned).into_iter().collect();
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(got, expected, "{name}");
    }
}

/// A change without calls would be unknown.
#[test]
fn every_change_of_a_hub_has_its_calls() {
    for (before, after) in [
        (None, HubOptions::default()),
        (None, all()),
        (Some(HubOptions::default()), all()),
        (Some(all()), HubOptions::default()),
    ] {
        let planned = calls(before.as_ref(), &after);
        assert!(planned.simulations.len() > 3, "{planned:?}");
        assert_eq!(planned.without, Vec::new(), "{before:?} {after:?}");
    }
}

#[test]
fn a_request_holds_what_conditions_ask_for() {
    let planned = calls(None, &all());
    let context = |action: &str| {
        let with = |simulation: &&Simulation| simulation.actions().contains(action);
        &planned.simulations.iter().find(with).unwrap().context
    };
    for (action, key, values) in [
        ("sqs:CreateQueue", "aws:RequestTag/kibus:bus", Some("kibus")),
        ("sqs:CreateQueue", "aws:RequestTag/team", Some("a")),
        // It has no tags yet.
        ("sqs:CreateQueue", "aws:ResourceTag/kibus:bus", None),
        ("sqs:CreateQueue", "aws:RequestedRegion", Some("us-west-2")),
        ("iam:CreateRole", "aws:RequestedRegion", Some("us-east-1")),
        ("iam:CreateRole", "iam:PermissionsBoundary", Some("arn:aws:iam::111122223333:policy/limit")),
        ("iam:CreateRole", "iam:PassedToService", None),
        ("iam:PassRole", "iam:PassedToService", Some("lambda.amazonaws.com")),
        ("events:PutRule", "events:source", Some("aws.ec2 aws.health kibus.probe")),
        (
            "lambda:CreateEventSourceMapping",
            "lambda:FunctionArn",
            Some("arn:aws:lambda:us-west-2:111122223333:function:kibus-router:live"),
        ),
    ] {
        let got = context(action).get(key).map(|values| values.join(" "));
        assert_eq!(got.as_deref(), values, "{action} {key}");
    }
    let role = "arn:aws:iam::111122223333:role/team/kibus-router-us-west-2";
    let passes = Call { action: iam::PASS_ROLE.to_owned(), resource: role.to_owned() };
    assert!(planned.simulations.iter().any(|simulation| simulation.calls.contains(&passes)));
}

#[test]
fn many_resources_are_asked_about_in_parts() {
    let call = |at: usize| Call { action: "sqs:TagQueue".to_owned(), resource: format!("queue-{at}") };
    for (count, expected) in [(1, vec![1]), (RESOURCES, vec![RESOURCES]), (RESOURCES + 3, vec![RESOURCES, 3])] {
        let calls: BTreeSet<Call> = (0..count).map(call).collect();
        let parts = parts(&calls);
        assert_eq!(parts.iter().map(BTreeSet::len).collect::<Vec<_>>(), expected);
        assert_eq!(parts.into_iter().flatten().collect::<BTreeSet<_>>(), calls);
    }
}

#[test]
fn a_topic_is_read_if_an_option_names_it_and_something_changes() {
    let topics = |option: &str| {
        let given = serde_json::from_value(serde_json::json!({ option: "pager" })).unwrap();
        HubOptions { memory: Some("512".parse().unwrap()), ..given }
    };
    let memory = HubOptions { memory: Some("512".parse().unwrap()), ..HubOptions::default() };
    for (before, after, read) in [
        (&HubOptions::default(), &topics("alarms"), true),
        (&HubOptions::default(), &topics("notify"), true),
        (&HubOptions::default(), &memory, false),
        (&topics("alarms"), &topics("alarms"), false),
    ] {
        let planned = calls(Some(before), after);
        let mut all = planned.simulations.iter().flat_map(|one| &one.calls);
        let found = all.find(|call| call.action == "sns:GetTopicAttributes");
        let topic = "arn:aws:sns:us-west-2:111122223333:pager".to_owned();
        assert_eq!(found.map(|call| &call.resource), read.then_some(&topic), "{after:?}");
    }
}
