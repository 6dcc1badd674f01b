//! The product's own stages, run against an account in memory.

use kibus::apply::{Event, Listener, Outcome, apply};
use kibus::model::{ClusterName, Code, Grant, HubOptions, Scope};
use kibus::plan::{Change, Plan};
use kibus::reconcile::{
    Adopt, Blocked, Bootstrap, ClusterSetting, Intent, OfferedRouter, RoleOption, Target, reconcile,
};
use kibus::survey::Survey;

use super::account::{Account, Interruption};

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

/// A command line.
#[derive(Clone, Debug)]
pub(super) enum Command {
    /// With these options, and this version of the router.
    BootstrapHub(HubOptions, &'static str),
    /// The same with `--router-latest`.
    RouterLatest(HubOptions, &'static str),
    /// The same with `--restore-settings`.
    Restore(HubOptions, &'static str),
    /// To the version before.
    Rollback,
    /// The clusters, and the option for their roles.
    AddCluster(Vec<&'static str>, RoleFlag),
    /// The same with `--grant`.
    Granted(Vec<&'static str>, RoleFlag, Grant),
    /// The cluster whose queue is taken over, the option for its role, and `--drop-old-senders`.
    Adopt(&'static str, RoleFlag, bool),
    /// The clusters.
    RemoveCluster(Vec<&'static str>),
    /// Everything.
    Teardown,
}

/// The result of a command.
pub(super) struct Run {
    /// The plan.
    pub plan: Plan,
    /// The outcome.
    pub outcome: Outcome,
}

pub(super) struct Nobody;

impl Listener for Nobody {
    fn event(&self, _: usize, _: &Change, _: Event) {}
}

impl Command {
    /// Runs the command: survey, reconcile, show, apply.
    pub(super) async fn run(
        &self,
        scope: &Scope,
        account: &Account,
        limit: usize,
        trouble: Option<Interruption>,
    ) -> Run {
        let plan = self.plan(scope, account).await;
        self.apply(plan, scope, account, limit, trouble).await
    }

    /// Applies a plan of the command. A queue that was marked and stays is planned again.
    pub(super) async fn apply(
        &self,
        mut plan: Plan,
        scope: &Scope,
        account: &Account,
        limit: usize,
        mut trouble: Option<Interruption>,
    ) -> Run {
        loop {
            let stop = account.show(&plan, trouble.take());
            let mut outcome = Outcome::of(&plan);
            apply(&plan, account, limit, stop, &Nobody, &mut outcome).await;
            if !outcome.queue_stays(&plan) {
                return Run { plan, outcome };
            }
            plan = self.plan(scope, account).await;
        }
    }

    /// The plan of the command.
    pub(super) async fn plan(&self, scope: &Scope, account: &Account) -> Plan {
        plan(scope, account, &self.target()).await
    }

    /// The target that the command makes.
    pub(super) fn target(&self) -> Target {
        match self {
            Self::BootstrapHub(options, version) => bootstrap(options, version, |_| {}),
            Self::RouterLatest(options, version) => bootstrap(options, version, |given| given.end_rollback = true),
            Self::Restore(options, version) => bootstrap(options, version, |given| given.restore_settings = true),
            Self::Rollback => Target::rollback(None),
            Self::AddCluster(clusters, role) => Target::add(names(clusters), &cluster(*role)),
            Self::Granted(clusters, role, grant) => {
                let setting = ClusterSetting { grant: Some(*grant), ..cluster(*role) };
                Target::add(names(clusters), &setting)
            }
            Self::Adopt(name, role, drop_old_senders) => {
                let setting = ClusterSetting {
                    adopt: Some(Adopt::Unproven),
                    drop_old_senders: Some(*drop_old_senders),
                    ..cluster(*role)
                };
                Target::add(names(&[name]), &setting)
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

/// The intent for a target.
pub(super) async fn intent(scope: &Scope, account: &Account, target: &Target) -> Result<Intent, Blocked> {
    survey(scope, account, target, 4).await.1
}

/// The plan for a target.
pub(super) async fn plan(scope: &Scope, account: &Account, target: &Target) -> Plan {
    match intent(scope, account, target).await {
        Ok(intent) => {
            assert_eq!(intent.refusals, []);
            intent.plan
        }
        // Without a hub there is nothing to do for a cluster.
        Err(blocked) if blocked.is_no_hub() => Plan::default(),
        Err(blocked) => panic!("{blocked:?}"),
    }
}

/// What is read for a target, with this many calls at once, and the intent.
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
