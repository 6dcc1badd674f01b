//! A hub that does not exist yet and its clusters are one plan.

use kibus::apply::{Outcome, apply};
use kibus::reconcile::Wish;

use super::account::Account;
use super::command::{self, Nobody, RoleFlag};
use super::interruption::{account_after, scope, typed, wait};

#[test]
fn a_new_hub_and_its_clusters_are_one_plan() {
    for (template, queue) in [("", "karpenter-base"), ("--queue-name fleet-{cluster}-k", "fleet-base-k")] {
        let account = Account::new(&scope(), account_after(&[]));
        let mut target = command::bootstrap(&typed(template), "0.1.0", |_| {});
        for name in command::names(&["base", "two"]) {
            target.clusters.insert(name, Wish::Set(command::cluster(RoleFlag::Role("a"))));
        }
        let plan = wait(command::plan(&scope(), &account, &target));
        assert!(plan.changes.iter().any(|change| change.id.name() == queue), "{template:?}");
        let stop = account.show(&plan, None);
        let mut outcome = Outcome::of(&plan);
        wait(apply(&plan, &account, 4, stop, &Nobody, &mut outcome));
        assert!(outcome.is_complete(), "{template:?}: {:?}", outcome.failed);
        let again = wait(command::plan(&scope(), &account, &target));
        assert!(again.is_empty(), "{template:?}: {again:?}");
    }
}
