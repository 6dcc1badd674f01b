//! The document for alarms in the policy simulator: the emulator does not read the names in most of these calls.

use std::collections::BTreeMap;

use kibus::iam::operator_policy::{self, Purpose};
use kibus::model::HubOptions;

use super::{arn, scope};
use crate::support::emulator::ACCOUNT;
use crate::support::policy_simulator::allows;

#[test]
fn an_operator_changes_the_alarms_and_the_dashboard_of_its_bus_alone() {
    let document = operator_policy::additional(&scope(), &HubOptions::default(), Purpose::Alarms);
    let alarm = |name: &str| arn("cloudwatch", &format!("alarm:{name}"));
    // The name of the second one starts like the names of this bus.
    let (ours, other_bus, theirs) = (alarm("kibus-waiting"), alarm("kibus-prod-waiting"), alarm("waiting"));
    let [dashboard, other] =
        ["kibus-hub-us-west-2", "theirs"].map(|name| format!("arn:aws:cloudwatch::{ACCOUNT}:dashboard/{name}"));
    let (this, another) = (Some("kibus"), Some("kibus-prod"));
    for (action, resource, request_tag, resource_tag, allowed) in [
        ("PutMetricAlarm", &ours, this, None, true),
        ("PutMetricAlarm", &ours, this, this, true),
        ("PutMetricAlarm", &ours, None, this, false),
        ("PutMetricAlarm", &other_bus, this, another, false),
        ("PutMetricAlarm", &theirs, this, None, false),
        ("TagResource", &ours, this, None, true),
        ("TagResource", &ours, None, this, true),
        ("TagResource", &other_bus, this, another, false),
        ("UntagResource", &ours, None, this, true),
        ("UntagResource", &other_bus, None, another, false),
        ("DeleteAlarms", &ours, None, this, true),
        ("DeleteAlarms", &ours, None, None, false),
        ("DeleteAlarms", &other_bus, None, another, false),
        ("DeleteAlarms", &theirs, None, this, false),
        ("DescribeAlarms", &theirs, None, None, true),
        ("ListTagsForResource", &ours, None, None, true),
        ("ListTagsForResource", &theirs, None, None, false),
        ("GetDashboard", &dashboard, None, None, true),
        ("GetDashboard", &other, None, None, false),
        ("PutDashboard", &dashboard, None, None, true),
        ("PutDashboard", &other, None, None, false),
        ("DeleteDashboards", &dashboard, None, None, true),
        ("DeleteDashboards", &other, None, None, false),
    ] {
        let tags = [("aws:RequestTag", request_tag), ("aws:ResourceTag", resource_tag)];
        let tags = tags.into_iter().filter_map(|(key, bus)| Some((format!("{key}/kibus:bus"), vec![bus?.to_owned()])));
        let context: BTreeMap<String, Vec<String>> = tags.collect();
        let found = allows(document.value(), &format!("cloudwatch:{action}"), resource, &context);
        assert_eq!(found, allowed, "{action} on {resource}: {context:?}");
    }
}
