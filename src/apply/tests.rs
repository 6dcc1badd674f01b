//! The properties of apply over any plan: generated steps that wait for any earlier ones and may fail.

mod scripted;

use std::collections::BTreeSet;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::model::resource::{LogGroup, Resource};
use crate::plan::{Op, Step};
use scripted::{Behavior, Moment, Scripted, fault};

fn resource(change: usize) -> Resource {
    Resource::LogGroup(LogGroup {
        name: format!("g{change}").parse().unwrap(),
        retention_days: None,
        tags: Default::default(),
    })
}

/// A plan of changes that take one step, or two if they replace; each step waits for the earlier ones whose bits are
/// set, and the second step of a replacement for the first.
fn made_up(changes: &[(bool, u32)]) -> Plan {
    let mut plan = Plan::default();
    for (change, (replaces, waits_for)) in changes.iter().enumerate() {
        let (old, new) = (
            Change::delete(None, resource(change)),
            Change::create(None, resource(change)),
        );
        let mut ops = vec![Op::Create(resource(change))];
        if *replaces {
            ops.insert(0, Op::Delete(resource(change)));
        }
        plan.changes.push(if *replaces { old } else { new });
        for op in ops {
            let at = plan.steps.len();
            let of_the_same = at.checked_sub(1).filter(|before| plan.steps[*before].change == change);
            let after = (0..at).filter(|earlier| waits_for & (1 << (earlier % 32)) != 0);
            let after = after.chain(of_the_same).collect();
            plan.steps.push(Step { change, op, after });
        }
    }
    plan
}

fn run(plan: &Plan, script: &[Behavior], limit: usize) -> (Outcome, Vec<Moment>) {
    let cloud = Scripted {
        plan,
        script: script.to_vec(),
        moments: Mutex::default(),
        stop: watch::Sender::new(false),
    };
    let stop = cloud.stop.subscribe();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut outcome = Outcome::of(plan);
    runtime.block_on(apply(plan, &cloud, limit, stop, &cloud, &mut outcome));
    (outcome, cloud.moments.into_inner().unwrap())
}

/// All promises, over one run.
fn hold(plan: &Plan, limit: usize, outcome: &Outcome, moments: &[Moment]) {
    let mut in_flight: BTreeSet<usize> = BTreeSet::new();
    // A delete is accepted first, and done when what it deletes is gone.
    let (mut accepted, mut done) = (BTreeSet::new(), BTreeSet::new());
    let mut over = false;
    let (mut called, mut preparing, mut prepared) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for moment in moments {
        match moment {
            Moment::Preparing(step) => {
                assert!(!over, "step {step} is prepared after a failure or a stop");
                assert!(
                    prepared.insert(*step) && !called.contains(step),
                    "step {step} is prepared late"
                );
                assert!(
                    plan.steps[*step].after.is_subset(&called),
                    "step {step} is prepared early"
                );
                preparing.insert(*step);
                assert!(in_flight.len() + preparing.len() <= limit);
            }
            Moment::Prepared(step) => drop(preparing.remove(step)),
            Moment::Called(step) => {
                assert!(!over, "step {step} begins after a failure or a stop");
                let change = plan.steps[*step].change;
                for earlier in &plan.steps[*step].after {
                    let enough = if plan.steps[*earlier].change == change {
                        &done
                    } else {
                        &accepted
                    };
                    assert!(enough.contains(earlier), "step {step} does not wait for step {earlier}");
                }
                assert!(in_flight.insert(*step), "step {step} runs twice");
                called.insert(*step);
                assert!(!preparing.contains(step), "step {step} begins before it is prepared");
                let at_once = in_flight.len() + preparing.len();
                assert!(at_once <= limit, "{at_once} run at the same time");
            }
            Moment::Answered(step, well) => {
                in_flight.remove(step);
                over |= !well;
                if *well {
                    accepted.insert(*step);
                }
                if *well && !matches!(plan.steps[*step].op, Op::Delete(_)) {
                    done.insert(*step);
                }
            }
            Moment::Gone(step, well) => {
                over |= !well;
                if *well {
                    done.insert(*step);
                }
            }
            Moment::Stop => over = true,
            Moment::Event(..) => {}
        }
    }
    assert!(in_flight.is_empty(), "{in_flight:?} are left in flight");

    for place in 0..plan.changes.len() {
        let of_it = |step: &usize| plan.steps[*step].change == place;
        let steps: Vec<usize> = (0..plan.steps.len()).filter(of_it).collect();
        let failed = outcome.failed.iter().filter(|(failed, _)| *failed == place).count();
        let accounts = [
            usize::from(outcome.done.contains(&place)),
            failed,
            usize::from(outcome.unknown.contains(&place)),
            usize::from(outcome.not_tried.contains(&place)),
        ];
        assert_eq!(
            accounts.iter().sum::<usize>(),
            1,
            "change {place} is accounted for {accounts:?}"
        );
        assert_eq!(
            outcome.done.contains(&place),
            steps.iter().all(|step| done.contains(step)),
            "change {place}"
        );

        let events: Vec<&str> = moments
            .iter()
            .filter_map(|moment| match moment {
                Moment::Event(of, what) if *of == place => Some(*what),
                _ => None,
            })
            .filter(|what| *what != "waiting")
            .collect();
        let begun = moments
            .iter()
            .any(|moment| matches!(moment, Moment::Called(step) if of_it(step)));
        let expected: &[&str] = match (begun, accounts) {
            (false, [0, 0, 0, 1]) => &[],
            (true, [1, ..]) => &["started", "done"],
            (true, [_, 1, ..]) => &["started", "failed"],
            // Half a replacement: what was begun is not gone on with.
            (true, [_, _, 1, _]) => &["started"],
            _ => panic!("change {place} is accounted for {accounts:?}, begun: {begun}"),
        };
        assert_eq!(events, expected, "change {place}");
        let first = moments
            .iter()
            .position(|moment| matches!(moment, Moment::Event(of, _) if *of == place));
        if let Some(first) = first {
            assert_eq!(moments[first], Moment::Event(place, "started"));
        }
    }
    assert_eq!(outcome.is_complete(), outcome.done.len() == plan.changes.len());
}

fn behavior() -> impl Strategy<Value = Behavior> {
    let rarely = || prop::bool::weighted(0.05);
    (0..4_usize, rarely(), rarely(), rarely()).prop_map(|(turns, fails, remains, stops)| Behavior {
        turns,
        fails,
        waits: false,
        remains,
        stops,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_is_applied_as_promised(
        changes in prop::collection::vec((prop::bool::weighted(0.2), prop_oneof![Just(0), any::<u32>()]), 0..20),
        script in prop::collection::vec(behavior(), 40),
        limit in 1..10_usize,
    ) {
        let plan = made_up(&changes);
        let (outcome, moments) = run(&plan, &script, limit);
        hold(&plan, limit, &outcome, &moments);
        let troubled = (0..plan.steps.len()).any(|step| {
            let Behavior { fails, remains, stops, .. } = script[step];
            fails || remains || stops
        });
        prop_assert!(troubled || outcome.is_complete());
    }
}

const WELL: Behavior = Behavior {
    turns: 1,
    fails: false,
    waits: false,
    remains: false,
    stops: false,
};

#[test]
fn what_may_run_at_the_same_time_does() {
    let plan = made_up(&[(false, 0); 5]);
    for limit in [1, 3, 8] {
        let (_, moments) = run(&plan, &[const { WELL }; 5], limit);
        let called = |moment: &&Moment| matches!(moment, Moment::Called(_));
        let at_once = moments
            .iter()
            .take_while(|m| !matches!(m, Moment::Answered(..)))
            .filter(called)
            .count();
        assert_eq!(at_once, limit.min(5), "limit {limit}");
    }
}

#[test]
fn a_step_is_prepared_while_those_before_it_are_in_progress() {
    let script = [3, 5, 1].map(|turns| Behavior { turns, ..WELL });
    for (limit, expected) in [
        (
            3,
            &[
                Moment::Called(0),
                Moment::Called(1),
                Moment::Preparing(2),
                Moment::Prepared(2),
                Moment::Answered(0, true),
                Moment::Answered(1, true),
                Moment::Called(2),
                Moment::Answered(2, true),
            ][..],
        ),
        // Without room for it, nothing waits for it.
        (
            1,
            &[
                Moment::Called(0),
                Moment::Answered(0, true),
                Moment::Called(1),
                Moment::Answered(1, true),
                Moment::Called(2),
                Moment::Answered(2, true),
            ],
        ),
    ] {
        let plan = made_up(&[(false, 0), (false, 0), (false, 0b11)]);
        let (_, mut moments) = run(&plan, &script, limit);
        moments.retain(|moment| !matches!(moment, Moment::Event(..)));
        assert_eq!(moments, expected, "limit {limit}");
    }
}

#[test]
fn many_deletes_are_waited_for_at_the_same_time() {
    let plan = made_up(&[(true, 0); 5]);
    let (outcome, moments) = run(&plan, &[const { WELL }; 10], 1);
    assert!(outcome.is_complete());
    let first = moments.iter().position(|m| matches!(m, Moment::Gone(..))).unwrap();
    let requested = |m: &&Moment| matches!(m, Moment::Answered(step, _) if step % 2 == 0);
    assert_eq!(moments[..first].iter().filter(requested).count(), 5, "{moments:?}");
}

#[test]
fn s9_only_a_create_of_the_same_name_waits_for_a_deleted_queue() {
    // Steps 0 and 1 replace; step 2 is of another change and waits for the delete.
    let plan = made_up(&[(true, 0), (false, 0b1)]);
    let (outcome, moments) = run(&plan, &[const { WELL }; 3], 1);
    assert!(outcome.is_complete());
    let order: Vec<&Moment> = moments
        .iter()
        .filter(|moment| matches!(moment, Moment::Called(_) | Moment::Gone(..)))
        .collect();
    let expected = [
        Moment::Called(0),
        Moment::Called(2),
        Moment::Gone(0, true),
        Moment::Called(1),
    ];
    assert_eq!(order, expected.iter().collect::<Vec<_>>());
}

#[test]
fn a_limit_of_nothing_is_one_at_a_time() {
    let plan = made_up(&[(false, 0); 3]);
    let (outcome, _) = run(&plan, &[const { WELL }; 3], 0);
    assert!(outcome.is_complete());
}

#[test]
fn what_has_begun_is_finished_and_nothing_else_begins() {
    let plan = made_up(&[(false, 0), (false, 0), (false, 0)]);
    let slow = Behavior { turns: 3, ..WELL };
    for (name, first, done, failed, stopped) in [
        ("a failure", Behavior { fails: true, ..WELL }, vec![1], vec![0], false),
        ("a stop", Behavior { stops: true, ..WELL }, vec![0, 1], vec![], true),
    ] {
        let (outcome, moments) = run(&plan, &[first, slow.clone(), WELL], 2);
        assert_eq!(outcome.done, done.into_iter().collect(), "{name}");
        assert_eq!(
            outcome.failed.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
            failed,
            "{name}"
        );
        assert_eq!(outcome.not_tried, [2].into(), "{name}");
        assert_eq!(outcome.stopped, stopped, "{name}");
        assert!(!moments.contains(&Moment::Called(2)), "{name}");
    }
}

#[test]
fn a_stop_that_comes_too_late_is_none() {
    let plan = made_up(&[(false, 0)]);
    let (outcome, _) = run(&plan, &[Behavior { stops: true, ..WELL }], 2);
    assert!(outcome.is_complete() && !outcome.stopped);
}

#[test]
fn half_a_replacement_is_not_done() {
    let plan = made_up(&[(true, 0)]);
    let (outcome, moments) = run(&plan, &[Behavior { stops: true, ..WELL }, WELL], 2);
    assert_eq!((outcome.unknown.len(), outcome.stopped), (1, true));
    assert!(!moments.contains(&Moment::Event(0, "done")));
    let (outcome, moments) = run(&plan, &[WELL, Behavior { fails: true, ..WELL }], 2);
    assert_eq!(outcome.failed, [(0, fault())]);
    assert!(moments.contains(&Moment::Event(0, "failed")));
}

#[test]
fn a_stop_ends_a_wait_which_is_no_failure() {
    let plan = made_up(&[(false, 0), (false, 0), (false, 0)]);
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
