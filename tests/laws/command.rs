//! The product's own stages, run against an account in memory.

use kibus::apply::{ChangeEvent, Listener, Outcome, apply};
use kibus::message::Message;
use kibus::model::{ClusterName, Code, HubOptions, Scope};
use kibus::plan::{Change, Plan};
use kibus::reconcile::{
    Blocked, Bootstrap, ClusterSetting, Intent, OfferedRouter, RemovedTags, RoleOption, Target, Wish, reconcile,
};
use kibus::survey::Survey;

use super::account::{Account, Interruption};
use super::interruption::{scope, wait};

/// The option for controller roles.
#[derive(Clone, Copy, Debug)]
pub(super) enum RoleFlag {
    /// Not set: the saved role, else the one with a usual name.
    NotGiven,
    /// `--controller-role`.
    Role(&'static str),
    /// `--no-controller-role`.
    None,
}

#[derive(Clone, Debug)]
pub(super) enum Command {
    /// With these options, and this version of the router.
    BootstrapHub(HubOptions, &'static str),
    /// `bootstrap-hub --router-latest`.
    RouterLatest(HubOptions, &'static str),
    /// `bootstrap-hub --restore-settings`.
    Restore(HubOptions, &'static str),
    Rollback,
    /// The clusters, and the option for their roles.
    AddCluster(Vec<&'static str>, RoleFlag),
    /// The cluster, with tags to add and keys of tags to remove.
    Retag(&'static str, &'static [&'static str], &'static [&'static str]),
    /// The cluster with `--external`.
    External(&'static str),
    /// The cluster with `--adopt`, and the option for its role.
    Adopt(&'static str, RoleFlag),
    RemoveCluster(Vec<&'static str>),
    Teardown,
}

pub(super) struct Run {
    pub plan: Plan,
    pub outcome: Outcome,
}

pub(super) struct Nobody;

impl Listener for Nobody {
    fn event(&self, _: usize, _: &Change, _: ChangeEvent) {}
}

/// Makes the writes of a plan that may be outdated.
pub(super) fn applied(plan: &Plan, account: &Account) -> Outcome {
    let stop = account.show(plan, None);
    let mut outcome = Outcome::of(plan);
    wait(apply(plan, account, 4, stop, &Nobody, &mut outcome));
    outcome
}

impl Command {
    /// Runs the command to its end, which breaks no law.
    pub(super) fn completes(&self, account: &Account) -> Run {
        let run = wait(self.run(&scope(), account, 4, None));
        assert!(run.outcome.is_complete(), "{self:?}: {:?}", run.outcome);
        assert_eq!(account.breaches(), [""; 0], "{self:?}");
        run
    }

    /// Runs the command: survey, reconcile, show, apply.
    pub(super) async fn run(
        &self,
        scope: &Scope,
        account: &Account,
        limit: usize,
        trouble: Option<Interruption>,
    ) -> Run {
        let plan = self.plan(scope, account).await;
        self.apply(plan, account, limit, trouble).await
    }

    pub(super) async fn apply(
        &self,
        plan: Plan,
        account: &Account,
        limit: usize,
        trouble: Option<Interruption>,
    ) -> Run {
        let adopted = self.target().clusters.into_iter().filter(|(_, wish)| match wish {
            Wish::Set(setting) => setting.adopt == Some(true),
            _ => false,
        });
        account.lets_adopt(adopted.map(|(name, _)| name).collect());
        let stop = account.show(&plan, trouble);
        let mut outcome = Outcome::of(&plan);
        apply(&plan, account, limit, stop, &Nobody, &mut outcome).await;
        Run { plan, outcome }
    }

    pub(super) async fn plan(&self, scope: &Scope, account: &Account) -> Plan {
        plan(scope, account, &self.target()).await
    }

    pub(super) fn target(&self) -> Target {
        match self {
            Self::BootstrapHub(options, version) => bootstrap(options, version, |_| {}),
            Self::RouterLatest(options, version) => bootstrap(options, version, |given| given.end_rollback = true),
            Self::Restore(options, version) => bootstrap(options, version, |given| given.restore_settings = true),
            Self::Rollback => Target::rollback(None),
            Self::AddCluster(clusters, role) => Target::add(names(clusters), &cluster(*role)),
            Self::Retag(name, add, remove) => {
                let tags = add.iter().map(|tag| tag.parse().unwrap()).collect();
                let removed = RemovedTags { untag: remove.iter().map(|key| (*key).to_owned()).collect() };
                Target::add(names(&[name]), &ClusterSetting { tags, removed, ..ClusterSetting::default() })
            }
            Self::External(name) => {
                Target::add(names(&[name]), &ClusterSetting { external: Some(true), ..ClusterSetting::default() })
            }
            Self::Adopt(name, role) => {
                Target::add(names(&[name]), &ClusterSetting { adopt: Some(true), ..cluster(*role) })
            }
            Self::RemoveCluster(clusters) => Target::remove(names(clusters), true),
            Self::Teardown => Target::teardown(),
        }
    }
}

/// A hub with these options, and this version of the router.
pub(super) fn bootstrap(options: &HubOptions, version: &str, change: impl Fn(&mut Bootstrap)) -> Target {
    let mut given = Bootstrap { options: options.clone(), ..Bootstrap::default() };
    change(&mut given);
    Target { router: OfferedRouter::Packaged(Code::of_archive(version, version)), ..Target::bootstrap(given) }
}

/// A cluster with this option for its role.
pub(super) fn cluster(role: RoleFlag) -> ClusterSetting {
    ClusterSetting {
        role: match role {
            RoleFlag::NotGiven => RoleOption::Search,
            RoleFlag::Role(role) => RoleOption::Named(role.parse().unwrap()),
            RoleFlag::None => RoleOption::Unmanaged,
        },
        ..ClusterSetting::default()
    }
}

pub(super) fn names(clusters: &[&str]) -> std::collections::BTreeSet<ClusterName> {
    clusters.iter().map(|name| name.parse().unwrap()).collect()
}

pub(super) async fn intent(scope: &Scope, account: &Account, target: &Target) -> Result<Intent, Blocked> {
    survey(scope, account, target, 4).await.1
}

pub(super) async fn plan(scope: &Scope, account: &Account, target: &Target) -> Plan {
    let allowed = plan_if_allowed(scope, account, target).await;
    allowed.unwrap_or_else(|refusals| panic!("{refusals:?}"))
}

/// The plan for a target, or why there is none.
pub(super) async fn plan_if_allowed(scope: &Scope, account: &Account, target: &Target) -> Result<Plan, Vec<Message>> {
    match intent(scope, account, target).await {
        Ok(intent) if intent.refusals.is_empty() => Ok(intent.plan),
        Ok(intent) => Err(intent.refusals),
        // Without a hub there is nothing to do for a cluster.
        Err(blocked) if blocked.is_no_hub() => Ok(Plan::default()),
        Err(Blocked(messages)) => Err(messages),
    }
}

/// The survey for a target, with this many concurrent calls, and the intent.
pub(super) async fn survey(
    scope: &Scope,
    account: &Account,
    target: &Target,
    limit: usize,
) -> (Survey, Result<Intent, Blocked>) {
    let (survey, guess) = target.survey(scope.clone());
    let pass = |survey: &Survey| reconcile(survey, target);
    let read = kibus::survey::survey(account, survey, limit, guess, &|_| {}, pass);
    read.await.unwrap()
}
