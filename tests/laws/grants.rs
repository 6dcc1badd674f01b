//! A controller never loses access to its queue while its grant moves between its role and its queue, whenever the command ends.

use kibus::model::{Grant, HubOptions, Resource, ResourceId};
use proptest::prelude::*;

use super::account::{Account, Interruption, Trouble, with_access};
use super::command::Command::{self, Adopt, BootstrapHub, Granted, RemoveCluster};
use super::command::RoleFlag::{NotGiven, Role};
use super::interruption::{account_after, may_be_interrupted, of_others, scope, trouble, wait};

const BOTH: [Grant; 2] = [Grant::RolePolicy, Grant::QueuePolicy];

fn hub() -> Command {
    BootstrapHub(HubOptions::default(), "0.1.0")
}

/// The commands that give cluster `base` each grant, with a role that is named or not.
fn switches() -> Vec<Command> {
    let roles = [Role("a"), Role("b"), NotGiven];
    let with = |grant: Grant| roles.map(|role| Granted(vec!["base"], role, grant));
    BOTH.into_iter().flat_map(with).collect()
}

#[test]
fn a_switch_may_end_at_any_write() {
    for grant in BOTH {
        for first in [Granted(vec!["base"], Role("a"), grant), Adopt("old", Role("a"), false)] {
            let history = [hub(), first];
            let start = account_after(&history);
            let commands = match history[1] {
                Adopt(..) => BOTH.map(|to| Granted(vec!["old"], Role("b"), to)).to_vec(),
                _ => switches(),
            };
            for command in commands {
                let account = || Account::new(&scope(), start.clone()).where_controllers_keep_access();
                may_be_interrupted(account, &command);
            }
        }
    }
}

/// The writes of policies of controllers in a plan.
fn writes_of_iam(plan: &kibus::plan::Plan) -> usize {
    let of_iam = |id: &ResourceId| matches!(id, ResourceId::RolePolicy(..) | ResourceId::Role(_));
    plan.changes.iter().filter(|change| of_iam(&change.id)).count()
}

#[test]
fn fifty_clusters_come_and_go_without_a_write_of_iam_whenever_the_command_ends() {
    let names: Vec<&'static str> = (0..50).map(|number| &*format!("c{number}").leak()).collect();
    let add = Granted(names.clone(), Role("a"), Grant::QueuePolicy);
    let start = account_after(&[hub()]);
    for at in [0, 24, 49] {
        for trouble in [Trouble::Nothing, Trouble::AnswerLost, Trouble::Stop] {
            let account = Account::new(&scope(), start.clone()).where_controllers_keep_access();
            let killed = trouble != Trouble::Stop;
            let now = Interruption { at, trouble, killed };
            for (command, trouble) in [
                (&add, Some(now)),
                (&add, None),
                (&RemoveCluster(names.clone()), Some(now)),
                (&RemoveCluster(names.clone()), None),
            ] {
                let run = wait(command.run(&scope(), &account, 8, trouble));
                assert_eq!(writes_of_iam(&run.plan), 0, "{now:?}");
                if trouble.is_none() && matches!(command, Granted(..)) {
                    assert_eq!(with_access(&scope(), &account.resources()).len(), 50, "{now:?}");
                    let target = kibus::reconcile::Target::keep([]);
                    let intent = wait(super::command::intent(&scope(), &account, &target)).unwrap();
                    let mut changes = intent.plan.changes.iter();
                    assert!(changes.all(|change| change.cluster.is_none()), "{now:?}: {:?}", intent.plan.changes);
                }
            }
            assert_eq!(account.breaches(), [""; 0], "{now:?}");
            account.a_minute_passes();
            let left = account.resources();
            assert!(!left.values().filter_map(Resource::as_queue).any(|queue| queue.controller().is_some()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_grant_survives_any_history(
        life in prop::collection::vec(
            (prop::sample::select(switches()), prop::collection::vec(trouble(), 0..4), 1..9_usize),
            1..6,
        ),
    ) {
        let account = Account::new(&scope(), of_others()).where_controllers_keep_access();
        wait(hub().run(&scope(), &account, 4, None));
        for (command, troubles, limit) in life {
            for trouble in troubles.into_iter().chain([None]) {
                wait(command.run(&scope(), &account, limit, trouble));
            }
            prop_assert_eq!(account.breaches(), Vec::<String>::new());
            prop_assert!(wait(command.plan(&scope(), &account)).is_empty(), "{:?}", command);
        }
        wait(Command::Teardown.run(&scope(), &account, 8, None));
        prop_assert_eq!(account.resources(), of_others());
    }
}
