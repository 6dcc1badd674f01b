//! Everything that does not depend on another answer is read in the first round. The search for a role takes one more
//! round, and so do custom queue names.

use kibus::model::{HubOptions, ResourceId};
use kibus::reconcile::{ClusterSetting, Target};

use super::account::Account;
use super::command::{Command, RoleFlag, cluster, names, survey};
use super::interruption::{account_after, scope, typed, wait};

/// The number of calls in the round. With a lower `--concurrency`, some wait for others.
const CALLS: usize = 18;

#[test]
fn a_new_cluster_is_planned_after_few_rounds_of_reads() {
    let naming = |template: &str| typed(&format!("--queue-name {template}"));
    for (hub, role, asks_eks, rounds) in [
        (HubOptions::default(), RoleFlag::NotGiven, false, 1),
        (HubOptions::default(), RoleFlag::Role("r-{cluster}"), false, 1),
        (HubOptions::default(), RoleFlag::Role("r-{cluster}"), true, 1),
        (HubOptions::default(), RoleFlag::NotGiven, true, 2),
        (naming("{cluster}-x"), RoleFlag::Role("r-{cluster}"), true, 2),
        (naming("{cluster}-x"), RoleFlag::NotGiven, true, 2),
    ] {
        let case = format!("{hub:?} {role:?} {asks_eks}");
        let account = Account::new(&scope(), account_after(&[Command::BootstrapHub(hub, "0.1.0")]));
        let setting = ClusterSetting { no_eks_check: Some(!asks_eks), ..cluster(role) };
        let target = Target::add(names(&["base"]), &setting);
        drop(wait(survey(&scope(), &account, &target, CALLS)));
        assert!(account.take_rounds() <= rounds, "{case}");
    }
}

/// The records are read first. Lost settings are read again five times. Then the optional parts are read, with the alarms of clusters.
#[test]
fn lost_settings_take_no_round_for_the_alarms_of_clusters() {
    let rounds = |wants_alarms: bool, command: fn(HubOptions, &'static str) -> Command| {
        let hub = typed(if wants_alarms { "--reader-alarms" } else { "" });
        let add = Command::AddCluster(vec!["base"], RoleFlag::None);
        let mut start = account_after(&[Command::BootstrapHub(hub.clone(), "0.1.0"), add]);
        start.remove(&ResourceId::Parameter(scope().settings_parameter()));
        let account = Account::new(&scope(), start);
        drop(wait(survey(&scope(), &account, &command(hub, "0.1.0").target(), CALLS)));
        account.take_rounds()
    };
    let teardown = |_, _| Command::Teardown;
    let found = [
        rounds(false, Command::Restore),
        rounds(true, Command::Restore),
        rounds(false, teardown),
        rounds(true, teardown),
    ];
    assert!(found.iter().all(|rounds| *rounds == found[0] && *rounds <= 11), "{found:?}");
}
