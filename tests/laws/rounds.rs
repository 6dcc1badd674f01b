//! What needs no other answer is read in the first round.

use kibus::model::options::HubOptions;
use kibus::reconcile::Target;

use super::account::Account;
use super::command::{Command, RoleFlag, cluster, names, survey};
use super::interruption::{account_after, scope, wait};

/// How many calls the round has. With a lower `--concurrency`, some of them wait for others.
const CALLS: usize = 20;

#[test]
fn a_new_cluster_is_planned_after_one_round_of_reads() {
    let hub = Command::BootstrapHub(HubOptions::default(), "0.1.0");
    let account = Account::new(&scope(), account_after(&[hub]));
    for role in [RoleFlag::NotGiven, RoleFlag::Role("r-{cluster}")] {
        let target = Target::add(names(&["base"]), &cluster(role));
        let survey = wait(survey(&scope(), &account, &target, CALLS));
        assert_eq!(account.take_rounds(), 1, "{role:?}");
        let roles = survey.roles.values().filter_map(|role| role.present());
        assert!(
            roles.into_iter().all(|role| role.managed.present().is_some()),
            "{role:?}"
        );
    }
}
