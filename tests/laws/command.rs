//! The product's own recipes, run against an account in memory.

use kibus::apply::{Event, Listener, Outcome, apply};
use kibus::model::name::ClusterName;
use kibus::model::options::{ClusterOptions, HubOptions};
use kibus::model::scope::Scope;
use kibus::plan::{Change, Plan};
use kibus::reconcile::{Blocked, Recipe, add_cluster, bootstrap_hub, remove_cluster, teardown};
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
    /// The clusters, and the option for their roles.
    AddCluster(Vec<&'static str>, RoleFlag),
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

struct Nobody;

impl Listener for Nobody {
    fn event(&self, _: usize, _: &Change, _: Event) {}
}

impl Command {
    /// Runs the command: survey, recipe, show, apply.
    pub(super) async fn run(
        &self,
        scope: &Scope,
        account: &Account,
        limit: usize,
        trouble: Option<Interruption>,
    ) -> Run {
        let plan = self.plan(scope, account).await;
        let stop = account.show(&plan, trouble);
        let outcome = apply(&plan, account, limit, stop, &Nobody).await;
        Run { plan, outcome }
    }

    /// The plan of the command.
    pub(super) async fn plan(&self, scope: &Scope, account: &Account) -> Plan {
        match self {
            Self::BootstrapHub(options, version) => {
                let request = bootstrap_hub::Request {
                    options: options.clone(),
                    router: kibus::reconcile::OfferedRouter::Packaged(kibus::model::resource::Code::of_archive(
                        *version, *version,
                    )),
                    allow_downgrade: false,
                    drop_old_key: false,
                };
                plan(scope, account, request).await
            }
            Self::AddCluster(clusters, role) => {
                let request = add_cluster::Request {
                    names: names(clusters),
                    role: match role {
                        RoleFlag::NotGiven => add_cluster::RoleOption::Search,
                        RoleFlag::Role(role) => add_cluster::RoleOption::Named(role.parse().unwrap()),
                        RoleFlag::None => add_cluster::RoleOption::Unmanaged,
                    },
                    options: ClusterOptions::default(),
                    show_settings: false,
                };
                plan(scope, account, request).await
            }
            Self::RemoveCluster(clusters) => {
                let request = remove_cluster::Request {
                    names: names(clusters),
                    ignore_missing: true,
                };
                plan(scope, account, request).await
            }
            Self::Teardown => plan(scope, account, teardown::Request).await,
        }
    }
}

fn names(clusters: &[&str]) -> std::collections::BTreeSet<ClusterName> {
    clusters.iter().map(|name| name.parse().unwrap()).collect()
}

async fn plan(scope: &Scope, account: &Account, recipe: impl Recipe) -> Plan {
    let mut intent = recipe.intent(&survey(scope, account, &recipe, 4).await);
    if let Err(Blocked::BeingDeleted(_)) = &intent {
        account.three_minutes_pass();
        intent = recipe.intent(&survey(scope, account, &recipe, 4).await);
    }
    match intent {
        Ok(intent) => {
            assert_eq!(intent.refusals, []);
            intent.plan
        }
        // Without a hub there is nothing to do for a cluster.
        Err(Blocked::NoHub) => Plan::default(),
        Err(blocked) => panic!("{blocked:?}"),
    }
}

/// What a recipe reads, with this many calls at once.
pub(super) async fn survey(scope: &Scope, account: &Account, recipe: &impl Recipe, limit: usize) -> Survey {
    let mut survey = Survey::new(scope.clone());
    let mut query = recipe.query();
    loop {
        survey.extend(account, &query, limit).await;
        query = recipe.more(&survey);
        if query.is_empty() {
            return survey;
        }
    }
}
