//! The properties of apply over any plan: generated changes that wait for any earlier ones and may fail.

mod lost_answer;
mod scripted;

use std::collections::BTreeSet;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::model::{LogGroup, Resource};
use scripted::{Behavior, Failure, Moment, Scripted};

fn resource(change: usize) -> Resource {
    Resource::LogGroup(LogGroup {
        name: format!("g{change}").parse().unwrap(),
        retention_days: None,
        account_policy: None,
        protected: false,
        tags: Default::default(),
    })
}

/// A plan of changes; each waits for the earlier ones whose bits are set.
fn made_up(changes: &[u32]) -> Plan {
    let mut plan = Plan::default();
    for (at, waits_for) in changes.iter().enumerate() {
        plan.changes.push(Change {
            waits_for: (0..at).filter(|earlier| waits_for & (1 << (earlier % 32)) != 0).collect(),
            ..Change::create(None, resource(at))
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
    let (mut called, mut done) = (BTreeSet::new(), BTreeSet::new());
    let mut over = false;
    for moment in moments {
        match moment {
            Moment::Called(place) => {
                assert!(!over, "change {place} begins after a failure or a stop");
                let earlier = &plan.changes[*place].waits_for;
                assert!(earlier.is_subset(&done), "change {place} does not wait");
                assert!(called.insert(*place), "change {place} runs twice");
                in_flight.insert(*place);
                assert!(in_flight.len() <= limit, "{} run at the same time", in_flight.len());
            }
            Moment::Answered(place, failure) => {
                in_flight.remove(place);
                over |= *failure == Some(Failure::Rejected);
                if failure.is_none() {
                    done.insert(*place);
                }
            }
            Moment::Stop => over = true,
            Moment::Event(..) | Moment::ReadAhead(_) => {}
        }
    }
    assert!(in_flight.is_empty(), "{in_flight:?} are left in flight");

    for place in 0..plan.changes.len() {
        let failed = outcome.failed.iter().filter(|(failed, _)| *failed == place).count();
        let accounts = [
            usize::from(outcome.done.contains(&place)),
            failed,
            usize::from(outcome.unknown.contains(&place)),
            usize::from(outcome.not_tried.contains(&place)),
        ];
        assert_eq!(accounts.iter().sum::<usize>(), 1, "change {place} is accounted for {accounts:?}");
        assert_eq!(outcome.done.contains(&place), done.contains(&place), "change {place}");

        let events: Vec<&str> = moments
            .iter()
            .filter_map(|moment| match moment {
                Moment::Event(of, what) if *of == place => Some(*what),
                _ => None,
            })
            .filter(|what| *what != "waiting")
            .collect();
        let expected: &[&str] = match (called.contains(&place), accounts) {
            (false, [0, 0, 0, 1]) => &[],
            (true, [1, ..]) => &["started", "done"],
            (true, [_, 1, ..]) => &["started", "failed"],
            (true, [_, _, 1, _]) => &["started"],
            _ => panic!("change {place} is accounted for {accounts:?}"),
        };
        assert_eq!(events, expected, "change {place}");
        let first = moments.iter().position(|moment| matches!(moment, Moment::Event(of, _) if *of == place));
        if let Some(first) = first {
            assert_eq!(moments[first], Moment::Event(place, "started"));
        }
    }
    assert_eq!(outcome.is_complete(), outcome.done.len() == plan.changes.len());
    // What waits for no failed change is tried, unless the run is over.
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
        limit in 1..10_usize,
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

/// The read before a create that would overwrite is no call in sequence: "add 1" of the benchmark of provisioning counts them.
#[test]
fn what_waits_for_one_change_is_read_while_that_runs() {
    let plan = made_up(&[0, 0b1, 0b11]);
    let (_, moments) = run(&plan, &[const { WELL }; 3], 4);
    let calls: Vec<_> = moments.into_iter().filter(|m| !matches!(m, Moment::Event(..))).collect();
    assert_eq!(
        calls,
        [
            Moment::Called(0),
            Moment::ReadAhead(1),
            Moment::Answered(0, None),
            Moment::Called(1),
            Moment::ReadAhead(2),
            Moment::Answered(1, None),
            Moment::Called(2),
            Moment::Answered(2, None),
        ]
    );
}

#[test]
fn a_limit_of_nothing_is_one_at_a_time() {
    let plan = made_up(&[0; 3]);
    let (outcome, _) = run(&plan, &[const { WELL }; 3], 0);
    assert!(outcome.is_complete());
}

#[test]
fn what_has_begun_is_finished_and_nothing_else_begins() {
    let plan = made_up(&[0; 3]);
    let slow = Behavior { turns: 3, ..WELL };
    for (name, first, done, failed, stopped) in [
        ("a failure", Behavior { fails: Some(Failure::Rejected), ..WELL }, vec![1], vec![0], false),
        ("a stop", Behavior { stops: true, ..WELL }, vec![0, 1], vec![], true),
    ] {
        let (outcome, moments) = run(&plan, &[first, slow.clone(), WELL], 2);
        assert_eq!(outcome.done, done.into_iter().collect(), "{name}");
        assert_eq!(outcome.failed.iter().map(|(place, _)| *place).collect::<Vec<_>>(), failed, "{name}");
        assert_eq!(outcome.not_tried, [2].into(), "{name}");
        assert_eq!(outcome.stopped, stopped, "{name}");
        assert!(!moments.contains(&Moment::Called(2)), "{name}");
    }
}

#[test]
fn after_a_denial_all_goes_on_that_does_not_wait_for_it() {
    let plan = made_up(&[0, 0b1, 0, 0b100, 0b1000, 0]);
    let denied = Behavior { fails: Some(Failure::Denied), ..WELL };
    let (outcome, _) = run(&plan, &[denied.clone(), WELL, WELL, denied, WELL, WELL], 1);
    assert_eq!(outcome.done, [2, 5].into());
    assert_eq!(outcome.failed.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0, 3]);
    assert_eq!(outcome.not_tried, [1, 4].into());
}

#[test]
fn a_stop_that_comes_too_late_is_none() {
    let plan = made_up(&[0]);
    let (outcome, _) = run(&plan, &[Behavior { stops: true, ..WELL }], 2);
    assert!(outcome.is_complete() && !outcome.stopped);
}

#[test]
fn a_stop_ends_a_wait_which_is_no_failure() {
    let plan = made_up(&[0; 3]);
    let waits = Behavior { waits: true, ..WELL };
    let stops = Behavior { stops: true, ..WELL };
    let (outcome, moments) = run(&plan, &[waits, stops, WELL], 2);
    assert_eq!(outcome.done, [1].into());
    assert_eq!(outcome.failed, []);
    assert_eq!(outcome.unknown, [0].into());
    assert_eq!(outcome.not_tried, [2].into());
    assert_eq!(outcome.given_up, [(0, "no".to_owned())]);
    assert!(outcome.stopped);
    assert!(!moments.contains(&Moment::Event(0, "failed")));
}
