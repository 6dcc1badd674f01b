//! The settings of a hub: one of two first runs creates them, and a hub that lost them is only restored or deleted.

use kibus::cloud::FaultKind;
use kibus::model::{FindingCode, HubOptions, Kind, ResourceId};
use kibus::plan::Action;

use super::account::{Account, Interruption, Trouble};
use super::command::{Command, RoleFlag, applied, intent};
use super::interruption::{
    Desired, account_after, choosy_hub, hub_with, may_be_interrupted, of_others, scope, wait, watched_hub,
};
use Command::{AddCluster, BootstrapHub, Restore, Rollback, Teardown};

fn settings() -> ResourceId {
    ResourceId::Parameter(scope().settings_parameter())
}

fn first_run(memory: &str) -> Command {
    hub_with(&format!("--memory {memory}"))
}

#[test]
fn of_two_first_runs_with_different_options_one_creates_the_hub() {
    let account = Account::new(&scope(), of_others());
    let (first, second) = (first_run("512"), first_run("1024"));
    let plan = wait(second.plan(&scope(), &account));
    first.completes(&account);
    let before = account.resources();
    let outcome = applied(&plan, &account);
    let failed: Vec<_> = outcome.failed.iter().map(|(at, fault)| (&plan.changes[*at].id, &fault.kind)).collect();
    assert_eq!(failed, [(&settings(), &FaultKind::Exists)]);
    assert!(outcome.done.is_empty(), "{:?}", outcome.done);
    assert_eq!(account.resources(), before);
    // It plans again, on top of the first run.
    let again = second.completes(&account);
    assert!(again.plan.changes.iter().all(|change| change.action == Action::Update), "{:?}", again.plan.changes);
    assert!(wait(second.plan(&scope(), &account)).is_empty());
}

/// Resources that a killed run has created with the same options are equivalent to a lost answer.
#[test]
fn of_two_first_runs_with_the_same_options_the_second_finishes_the_first() {
    let account = Account::new(&scope(), of_others());
    let run = first_run("512");
    let plan = wait(run.plan(&scope(), &account));
    let killed = Interruption { at: 0, trouble: Trouble::AnswerLost, killed: true };
    wait(run.run(&scope(), &account, 1, Some(killed)));
    assert!(account.resources().contains_key(&settings()));
    let outcome = applied(&plan, &account);
    assert!(outcome.is_complete(), "{outcome:?}");
    assert!(wait(run.plan(&scope(), &account)).is_empty());
    assert_eq!(account.breaches(), [""; 0]);
}

/// A hub with every option and a cluster, whose settings are lost.
fn lost() -> (Vec<Command>, Desired) {
    lost_after(choosy_hub())
}

fn lost_after(hub: Command) -> (Vec<Command>, Desired) {
    let history = vec![hub, AddCluster(vec!["base"], RoleFlag::Role("a"))];
    let mut start = account_after(&history);
    assert!(start.remove(&settings()).is_some());
    (history, start)
}

#[test]
fn lost_settings_are_restored_or_the_hub_is_deleted_whatever_interrupts_it() {
    let (history, start) = lost();
    let BootstrapHub(options, version) = choosy_hub() else { unreachable!() };
    let restore = Restore(options, version);
    let account = Account::new(&scope(), start.clone());
    let blocked = wait(intent(&scope(), &account, &Rollback.target())).unwrap_err();
    assert_eq!(blocked.0[0].code, Some(FindingCode::SettingsMissing));
    let run = wait(restore.run(&scope(), &account, 4, None));
    let changes: Vec<_> = run.plan.changes.iter().map(|change| (change.action, &change.id)).collect();
    assert_eq!(changes, [(Action::Create, &settings())]);
    let saved = |resources: &Desired| resources[&settings()].as_parameter().unwrap().settings.clone();
    assert_eq!(saved(&account.resources()), saved(&account_after(&history)));
    for command in [restore, Teardown] {
        may_be_interrupted(|| Account::new(&scope(), start.clone()), &command);
    }
    let account = Account::new(&scope(), start);
    wait(Teardown.run(&scope(), &account, 4, None));
    assert_eq!(account.resources().into_keys().collect::<Vec<_>>(), of_others().into_keys().collect::<Vec<_>>());
}

/// The optional resources of clusters are found even without the settings that requested them.
#[test]
fn alarms_are_restored_or_deleted_without_settings() {
    let (_, start) = lost_after(watched_hub());
    let BootstrapHub(options, version) = watched_hub() else { unreachable!() };
    let account = &Account::new(&scope(), start.clone());
    let blocked = wait(intent(&scope(), account, &first_run("512").target())).unwrap_err();
    let restoring = blocked.0[0].fix.steps()[0].command.clone().unwrap();
    assert!(restoring.contains(" --alarms=true --reader-alarms=true "), "{restoring}");
    let of_requests = |resources: &Desired| {
        let parts = resources.keys().filter(|id| id.of_kind() == Kind::Alarm);
        parts.cloned().collect::<Vec<_>>()
    };
    let all = of_requests(&start);
    assert!(all.contains(&ResourceId::Alarm("kibus-reader-base".parse().unwrap())), "{all:?}");
    for (command, left) in [
        (Restore(options, version), all),
        (Restore(HubOptions::default(), version), Vec::new()),
        (Teardown, Vec::new()),
    ] {
        let account = Account::new(&scope(), start.clone());
        command.completes(&account);
        assert_eq!(of_requests(&account.resources()), left, "{command:?}");
    }
}
