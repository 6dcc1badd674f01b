//! Members with names in any case, and more than once, at every level: an event is delivered to the queue of its instance
//! alone if each appears once under its exact name, and to no queue otherwise.

use serde_json::json;

use super::bench::TestRouter;
use super::*;
use crate::router::batch::RoutedBatch;

/// Members, each with a name in some case and a value as text.
type Written = Vec<(String, String)>;

fn any_case(name: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(name.to_owned()),
        1 => Just(name.to_uppercase()),
        1 => Just(name.replacen('s', "\u{17f}", 1)),
        1 => prop::collection::vec(any::<bool>(), name.len()).prop_map(move |upper| {
            let case = |(c, upper): (char, bool)| if upper { c.to_ascii_uppercase() } else { c };
            name.chars().zip(upper).map(case).collect()
        }),
    ]
}

/// Objects whose members name instances with a cluster, so that every one of them has a queue.
fn any_object(name: &'static str) -> impl Strategy<Value = Written> {
    let id = (0..400_usize).prop_filter_map("no cluster", |n| cluster_of(n).map(|_| format!("\"i-{n}\"")));
    let id = prop_oneof![5 => id, 1 => Just("null".to_owned())];
    prop::collection::vec((any_case(name), id), 0..3)
}

fn object(members: &Written) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", members.join(","))
}

fn is_exact(members: &Written, name: &str) -> bool {
    members.len() < 2 && members.iter().all(|(key, _)| key == name)
}

/// The outcome of a sample with these members in place of its detail and its resources.
fn routed(signal: Signal, details: Written) -> (TestRouter, RoutedBatch) {
    let event = sample_event(&scope(), signal, &["i-0"]);
    let others = event.as_object().unwrap().iter().filter(|(key, _)| !["detail", "resources"].contains(&key.as_str()));
    let members = others.map(|(key, value)| (key.clone(), value.to_string())).chain(details).collect();
    let router = healthy();
    let batch = run(&router, 1000, &[Message { body: object(&members), ..message(0, &[1], 1) }]);
    (router, batch)
}

/// Every id in a text, whatever member it is in.
fn ids_in(text: &str) -> Vec<usize> {
    let quoted = text.split('"').filter_map(|part| part.strip_prefix("i-")?.parse().ok());
    quoted.collect()
}

fn check((router, batch): (TestRouter, RoutedBatch), is_exact: bool) -> Result<(), TestCaseError> {
    let queues = router.services.queues.taken.lock().unwrap();
    prop_assert!(is_exact || queues.is_empty());
    for item in &batch.items {
        let is_retried = item.decision == Decision::Retried(RetryReason::AmbiguousEvent);
        let no_instance = item.decision == Decision::Dropped(DropReason::NoInstance);
        prop_assert_eq!(is_retried, !is_exact);
        prop_assert!(is_retried || no_instance || item.decision == Decision::Delivered);
    }
    for (queue, copy) in queues.iter().flat_map(|(queue, copies)| copies.iter().map(move |copy| (queue, copy))) {
        for n in ids_in(copy) {
            prop_assert_eq!(queue.to_string(), format!("karpenter-{}", cluster_of(n).unwrap()), "{}", copy);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_event_of_an_instance_has_one_reading(
        details in prop::collection::vec((any_case("detail"), any_object("instance-id")), 1..3),
    ) {
        let written: Written = details.iter().map(|(key, members)| (key.clone(), object(members))).collect();
        let is_exact = is_exact(&written, "detail") && details.iter().all(|(_, members)| is_exact(members, "instance-id"));
        check(routed(Signal::SpotInterruption, written), is_exact)?;
    }

    #[test]
    fn an_event_of_entities_has_one_reading(
        lists in prop::collection::vec(
            (any_case("affectedEntities"), prop::collection::vec(any_object("entityValue"), 0..4)),
            1..3,
        ),
    ) {
        let list = |list: &Vec<Written>| format!("[{}]", list.iter().map(object).collect::<Vec<_>>().join(","));
        let written: Written = lists.iter().map(|(key, entities)| (key.clone(), list(entities))).collect();
        let mut entities = lists.iter().flat_map(|(_, entities)| entities);
        let is_exact = is_exact(&written, "affectedEntities") && entities.all(|entity| is_exact(entity, "entityValue"));
        let known = [("service", "\"EC2\""), ("eventTypeCategory", "\"scheduledChange\"")];
        let known = known.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let detail = object(&known.into_iter().chain(written).collect());
        check(routed(Signal::ScheduledChange, vec![("detail".to_owned(), detail)]), is_exact)?;
    }
}
