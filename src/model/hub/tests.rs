//! The desired resources of a hub, by its options.

use super::*;
use crate::model::scope::tests::scope;

pub(crate) fn hub(options: HubOptions) -> Hub {
    Hub::new(&scope(), options, Code::of_archive("0.1.0", "aa"))
}

/// The settings of the function of a hub without options and with this version of the router.
pub(crate) fn function_settings(version: &str) -> FunctionSettings {
    Hub::new(&scope(), HubOptions::default(), Code::of_archive(version, "aa")).function_settings()
}

#[test]
fn a_hub_sets_no_field_that_is_only_read() {
    let all = HubOptions { rebalance: Some(true), ..HubOptions::all_parts() };
    let wanted: BTreeSet<ResourceId> = hub(all.clone()).desired().ids().cloned().collect();
    assert_eq!(wanted, ids(&scope(), [&all]));
}

#[test]
fn patterns_and_names_stay_within_what_eventbridge_takes() {
    for signal in Signal::ALL {
        let pattern = signal.pattern(&scope().account).compact();
        assert!(pattern.len() <= 2048, "{signal:?}");
        assert!(pattern.contains("\"111122223333\""), "{signal:?} is not narrowed to the account");
    }
}

#[test]
fn the_parameter_has_the_settings_and_all_resources_are_tagged() {
    let options = HubOptions {
        queue_name: Some("x-{cluster}".parse().unwrap()),
        tag: Some(vec!["team=a".parse().unwrap()]),
        ..HubOptions::default()
    };
    let desired = hub(options.clone()).desired();
    for resource in desired.resources() {
        if let Some(tags) = resource.tags() {
            assert!(tags.belong_to(&scope().bus), "{}", resource.id());
            assert_eq!(tags.get("team"), Some("a"), "{}", resource.id());
        }
    }
    let parameter = desired.get(&ResourceId::Parameter(scope().settings_parameter()));
    assert_eq!(parameter.unwrap().as_parameter().unwrap().settings(), Some(&options.into()));
}

/// M8, M3: Lambda waits for no batching window, which a batch of more than ten would need. M10: a message that is
/// received but cannot be passed on is one receive closer to becoming a dead letter.
#[test]
fn a_message_waits_for_no_batch_and_no_more_invocations_are_started_than_are_reserved() {
    for (reserved, maximum) in [
        (None, MAXIMUM_CONCURRENCY),
        (Some("none"), MAXIMUM_CONCURRENCY),
        (Some("2"), 2),
        (Some("4"), 4),
        (Some("1000"), MAXIMUM_CONCURRENCY),
    ] {
        let reserved_concurrency = reserved.map(|reserved| reserved.parse().unwrap());
        let desired = hub(HubOptions { reserved_concurrency, ..HubOptions::default() }).desired();
        let mapping = desired.resources().find_map(Resource::as_mapping).unwrap();
        assert_eq!((mapping.maximum_concurrency, mapping.window), (Some(maximum), 0), "{reserved:?}");
        assert!(mapping.batch_size <= 10);
    }
    assert!("1".parse::<super::super::options::ReservedConcurrency>().is_err(), "Lambda accepts no maximum of 1");
}

#[test]
fn the_queue_stays_hidden_for_six_timeouts() {
    let hub = hub(HubOptions::default());
    assert_eq!(hub.hub_queue().visibility, 6 * hub.function_settings().timeout);
}
