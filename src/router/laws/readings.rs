//! Events with more than one reading: keys in any case and more than once, at every level. No cluster's queue receives
//! the id of another cluster's instance, whichever member a parser takes, and the instance that Karpenter reads is
//! delivered.

use serde_json::json;

use super::bench::TestRouter;
use super::*;
use crate::router::batch::RoutedBatch;

/// A member with a key in some case, and its value as text.
type Written = (String, String);

fn any_case(name: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(name.to_owned()),
        1 => Just(name.to_uppercase()),
        1 => Just(name.replacen('s', "\u{17f}", 1)),
        1 => prop::collection::vec(any::<bool>(), name.len()).prop_map(move |upper| {
            let case = |(c, upper): (char, bool)| if upper { c.to_ascii_uppercase() } else { c };
            name.chars().zip(upper).map(case).collect()
        }),
    ]
}

fn any_member(name: &'static str, value: impl Strategy<Value = String>) -> impl Strategy<Value = Written> {
    (any_case(name), value)
}

/// Instances with a cluster, so that every one of them has a queue.
fn any_id() -> impl Strategy<Value = String> {
    (0..400_usize).prop_filter_map("no cluster", |n| cluster_of(n).map(|_| format!("\"i-{n}\"")))
}

fn any_id_or_null() -> impl Strategy<Value = String> {
    prop_oneof![5 => any_id(), 1 => Just("null".to_owned())]
}

fn object(members: &[Written]) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", members.join(","))
}

fn any_object(name: &'static str, value: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<Written>> {
    prop::collection::vec(any_member(name, value), 0..4)
}

/// The envelope of a signal, without detail.
fn envelope(signal: Signal) -> Vec<Written> {
    let event = sample_event(&scope(), signal, &["i-0"]);
    let event = event.as_object().unwrap();
    let members = event.iter().filter(|(key, _)| !["detail", "resources"].contains(&key.as_str()));
    members.map(|(key, value)| (key.clone(), value.to_string())).collect()
}

fn routed(body: String) -> (TestRouter, RoutedBatch) {
    let router = healthy();
    let message = Message { body, ..message(0, &[1], 1) };
    let batch = run(&router, 1000, &[message]);
    (router, batch)
}

/// Every id in a text, whatever member it is in.
fn ids_in(text: &str) -> Vec<usize> {
    let quoted = text.split('"').filter_map(|part| part.strip_prefix("i-")?.parse().ok());
    quoted.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_instance_that_karpenter_reads_is_delivered_alone(
        details in prop::collection::vec((any_case("detail"), any_object("instance-id", any_id_or_null())), 1..4),
        place in 0..9_usize,
    ) {
        // Go decodes every member of every object into one struct, and `null` changes nothing.
        let read = details.iter().flat_map(|(_, members)| members).map(|(_, id)| id).rfind(|id| *id != "null");
        let mut members = envelope(Signal::SpotInterruption);
        let place = place.min(members.len());
        let written = details.iter().map(|(key, detail)| (key.clone(), object(detail)));
        members.splice(place..place, written);
        let (router, batch) = routed(object(&members));
        let queues = router.services.queues.taken.lock().unwrap();
        let copies: Vec<&String> = queues.values().flatten().collect();
        match read {
            None => {
                prop_assert_eq!(batch.items[0].decision, Decision::Dropped(DropReason::NoInstance));
                prop_assert!(copies.is_empty());
            }
            Some(id) => {
                prop_assert_eq!(batch.items[0].decision, Decision::Delivered);
                let n: usize = id[3..id.len() - 1].parse().unwrap();
                let queue = format!("karpenter-{}", cluster_of(n).unwrap());
                prop_assert_eq!(queues.keys().next().unwrap().as_str(), queue);
                prop_assert_eq!(ids_in(copies[0]), [n], "{}", copies[0]);
            }
        }
    }

    #[test]
    fn a_copy_has_no_id_of_another_cluster_in_any_reading(
        lists in prop::collection::vec(
            (any_case("affectedEntities"), prop::collection::vec(any_object("entityValue", any_id_or_null()), 0..4)),
            1..4,
        ),
    ) {
        let mut detail: Vec<Written> =
            [("service", "\"EC2\""), ("eventTypeCategory", "\"scheduledChange\"")].map(|(k, v)| (k.into(), v.into())).into();
        for (key, list) in &lists {
            let entities: Vec<String> = list.iter().map(|members| object(members)).collect();
            detail.push((key.clone(), format!("[{}]", entities.join(","))));
        }
        let mut members = envelope(Signal::ScheduledChange);
        members.push(("detail".to_owned(), object(&detail)));
        let (router, batch) = routed(object(&members));
        for item in &batch.items {
            let delivered = item.decision == Decision::Delivered;
            prop_assert!(delivered || item.decision == Decision::Dropped(DropReason::NoInstance));
        }
        for (queue, copies) in router.services.queues.taken.lock().unwrap().iter() {
            for copy in copies {
                for n in ids_in(copy) {
                    prop_assert_eq!(queue.to_string(), format!("karpenter-{}", cluster_of(n).unwrap()), "{}", copy);
                }
            }
        }
    }
}
