//! What needs no other answer is read in the first round. What EKS is asked about new clusters takes one more.

use kibus::model::options::HubOptions;
use kibus::reconcile::{ClusterSetting, Target};

use super::account::Account;
use super::command::{Command, RoleFlag, cluster, names, survey};
use super::interruption::{account_after, scope, wait};

/// How many calls the round has. With a lower `--concurrency`, some of them wait for others.
const CALLS: usize = 20;

#[test]
fn a_new_cluster_is_planned_after_few_rounds_of_reads() {
    let hub = Command::BootstrapHub(HubOptions::default(), "0.1.0");
    let account = Account::new(&scope(), account_after(&[hub]));
    for (role, asks_eks, rounds) in [
        (RoleFlag::NotGiven, false, 1),
        (RoleFlag::Role("r-{cluster}"), false, 1),
        (RoleFlag::NotGiven, true, 2),
        (RoleFlag::Role("r-{cluster}"), true, 2),
    ] {
        let setting = ClusterSetting {
            asks_eks,
            ..cluster(role)
        };
        let target = Target::add(names(&["base"]), &setting);
        wait(survey(&scope(), &account, &target, CALLS));
        assert_eq!(account.take_rounds(), rounds, "{role:?} {asks_eks}");
    }
}
