//! What needs no other answer is read in the first round.

use kibus::model::options::{ClusterOptions, HubOptions};
use kibus::reconcile::add_cluster::{Request, RoleOption};

use super::account::Account;
use super::command::{Command, survey};
use super::interruption::{account_after, scope, wait};

/// How many calls the round has. With a lower `--concurrency`, some of them wait for others.
const CALLS: usize = 20;

#[test]
fn a_new_cluster_is_planned_after_one_round_of_reads() {
    let hub = Command::BootstrapHub(HubOptions::default(), "0.1.0");
    let account = Account::new(&scope(), account_after(&[hub]));
    for role in [RoleOption::Search, RoleOption::Named("r-{cluster}".parse().unwrap())] {
        let request = Request {
            names: ["base".parse().unwrap()].into(),
            role: role.clone(),
            options: ClusterOptions::default(),
            show_settings: false,
        };
        let survey = wait(survey(&scope(), &account, &request, CALLS));
        assert_eq!(account.take_rounds(), 1, "{role:?}");
        let roles = survey.roles.values().filter_map(|role| role.present());
        assert!(
            roles.into_iter().all(|role| role.managed.present().is_some()),
            "{role:?}"
        );
    }
}
