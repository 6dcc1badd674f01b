//! The properties of apply over any plan: generated changes that wait for any earlier ones and may fail.

mod lost_answer;
mod scripted;

use std::collections::BTreeSet;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::model::{LogGroup, Resource, Tags};
use scripted::{Behavior, Failure, Moment, Scripted};

fn group(name: &str, retention_days: Option<u32>, tags: Tags) -> Resource {
    let name = name.parse().unwrap();
    Resource::LogGroup(LogGroup { name, retention_days, account_policy: None, protected: false, tags })
}

/// A plan of changes; each waits for the earlier ones whose bits are set.
fn made_up(changes: &[u32]) -> Plan {
    let mut plan = Plan::default();
    for (at, waits_for) in changes.iter().enumerate() {
        plan.changes.push(Change {
            waits_for: (0..at).filter(|earlier| waits_for & (1 << (earlier % 32)) != 0).collect(),
            ..Change::create(None, group(&format!("g{at}"), None, Tags::default()))
        });
    }
    plan
}

fn run(plan: &Plan, script: &[Behavior], limit: usize) -> (Outcome, Vec<Moment>) {
    let cloud = Scripted { plan, script: script.to_vec(), moments: Mutex::default(), stop: watch::Sender::new(false) };
    let stop = cloud.stop.subscribe();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut outcome = Outcome::of(plan);
    runtime.block_on(apply(plan, &cloud, limit, stop, &cloud, &mut outcome));
    (outcome, cloud.moments.into_inner().unwrap())
}

/// All promises, over one run.
fn hold(plan: &Plan, limit: usize, outcome: &Outcome, moments: &[Moment]) {
    let mut in_flight: BTreeSet<usize> = BTreeSet::new();
    let [mut called, mut done, mut failed] = [const { BTreeSet::new() }; 3];
    let (mut over, mut stop) = (false, false);
    for moment in moments {
        match moment {
            Moment::Called(place) => {
                assert!(!over, "change {place} begins after a failure or a stop");
                let earlier = &plan.changes[*place].waits_for;
                assert!(earlier.is_subset(&done), "change {place} does not wait");
                assert!(called.insert(*place), "change {place} runs twice");
                in_flight.insert(*place);
                assert!(in_flight.len() <= limit.max(1), "{} run at the same time", in_flight.len());
            }
            Moment::Answered(place, failure) => {
                in_flight.remove(place);
                over |= *failure == Some(Failure::Rejected);
                if failure.is_some() { &mut failed } else { &mut done }.insert(*place);
            }
            Moment::Stop => (over, stop) = (true, true),
            Moment::Event(..) | Moment::ReadAhead(_) => {}
        }
    }
    assert!(in_flight.is_empty(), "{in_flight:?} are left in flight");

    for place in 0..plan.changes.len() {
        let accounts = [
            usize::from(outcome.done.contains(&place)),
            outcome.failed.iter().filter(|(failed, _)| *failed == place).count(),
            usize::from(outcome.not_tried.contains(&place)),
        ];
        let expected = [done.contains(&place), failed.contains(&place), !called.contains(&place)].map(usize::from);
        assert_eq!(accounts, expected, "change {place}: done, failed, not tried");
        let of_place = moments.iter().filter_map(|moment| match moment {
            Moment::Event(of, what) if *of == place => Some(*what),
            _ => None,
        });
        let mut events: Vec<&str> = of_place.collect();
        assert!(events.first().is_none_or(|first| *first == "started"), "change {place}: {events:?}");
        events.retain(|what| *what != "waiting");
        let expected: &[&str] = match accounts {
            [1, ..] => &["started", "done"],
            [_, 1, _] => &["started", "failed"],
            _ => &[],
        };
        assert_eq!(events, expected, "change {place}");
    }
    assert!(outcome.unknown.is_empty(), "{:?}", outcome.unknown);
    let is_complete = done.len() == plan.changes.len();
    // A stop that comes too late has no effect.
    assert_eq!((outcome.is_complete(), outcome.stopped), (is_complete, stop && !is_complete));
    // A change that does not wait for a failed one is tried, unless the run is over.
    for place in outcome.not_tried.iter().filter(|_| !over) {
        let earlier = &plan.changes[*place].waits_for;
        assert!(!earlier.is_subset(&done), "change {place} is not tried");
    }
}

fn behavior() -> impl Strategy<Value = Behavior> {
    let rarely = || prop::bool::weighted(0.05);
    let fails = prop_oneof![
        16 => Just(None),
        1 => Just(Some(Failure::Rejected)),
        2 => Just(Some(Failure::Denied)),
    ];
    (0..4_usize, fails, rarely()).prop_map(|(turns, fails, stops)| Behavior { turns, fails, waits: false, stops })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_is_applied_as_promised(
        changes in prop::collection::vec(prop_oneof![Just(0), any::<u32>()], 0..20),
        script in prop::collection::vec(behavior(), 20),
        limit in 0..10_usize,
    ) {
        let plan = made_up(&changes);
        let (outcome, moments) = run(&plan, &script, limit);
        hold(&plan, limit, &outcome, &moments);
        let troubled = script[..changes.len()].iter().any(|Behavior { fails, stops, .. }| fails.is_some() || *stops);
        prop_assert!(troubled || outcome.is_complete());
    }
}

const WELL: Behavior = Behavior { turns: 1, fails: None, waits: false, stops: false };

#[test]
fn what_may_run_at_the_same_time_does() {
    let plan = made_up(&[0; 5]);
    for limit in [1, 3, 8] {
        let (_, moments) = run(&plan, &[const { WELL }; 5], limit);
        let called = |moment: &&Moment| matches!(moment, Moment::Called(_));
        let at_once = moments.iter().take_while(|m| !matches!(m, Moment::Answered(..))).filter(called).count();
        assert_eq!(at_once, limit.min(5), "limit {limit}");
    }
}

/// The read before a create that could overwrite something adds no sequential call: "add 1" of the benchmark of provisioning counts them.
#[test]
fn what_waits_for_one_change_is_read_while_that_runs() {
    let plan = made_up(&[0, 0b1, 0b11]);
    let (_, moments) = run(&plan, &[const { WELL }; 3], 4);
    let calls = moments.iter().filter(|m| !matches!(m, Moment::Event(..))).map(|moment| format!("{moment:?}"));
    let expected =
        "Called(0) ReadAhead(1) Answered(0, None) Called(1) ReadAhead(2) Answered(1, None) Called(2) Answered(2, None)";
    assert_eq!(calls.collect::<Vec<_>>().join(" "), expected);
}

#[test]
fn a_stop_ends_a_wait_which_is_no_failure() {
    let plan = made_up(&[0; 3]);
    let waits = Behavior { waits: true, ..WELL };
    let stops = Behavior { stops: true, ..WELL };
    let (outcome, moments) = run(&plan, &[waits, stops, WELL], 2);
    let Outcome { done, failed, unknown, not_tried, given_up, stopped, .. } = outcome;
    assert_eq!((done, failed, unknown, not_tried), ([1].into(), vec![], [0].into(), [2].into()));
    assert_eq!((given_up, stopped), (vec![(0, "no".to_owned())], true));
    assert!(!moments.contains(&Moment::Event(0, "failed")));
}
