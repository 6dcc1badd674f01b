//! What each command wants and looks at: the recipe, without its words.

use std::collections::{BTreeMap, BTreeSet};

use kibus::apply::{Event, Listener, Outcome, apply};
use kibus::cloud::{Cloud, observe};
use kibus::model::cluster::Cluster;
use kibus::model::hub::{self, Hub};
use kibus::model::inventory::Desired;
use kibus::model::name::{ClusterName, RoleName};
use kibus::model::options::{ClusterOptions, HubOptions};
use kibus::model::resource::{Code, Resource, ResourceId};
use kibus::model::scope::Scope;
use kibus::model::tags::Tags;
use kibus::plan::{Change, Plan, check, plan};

use super::account::{Account, Interruption};

/// What was said about a controller role on the command line.
#[derive(Clone, Copy, Debug)]
pub(super) enum RoleFlag {
    /// Nothing: what the queue remembers stays.
    NotGiven,
    /// `--controller-role`.
    Role(&'static str),
    /// `--no-controller-role`.
    None,
}

/// A command line.
#[derive(Clone, Debug)]
pub(super) enum Command {
    /// With what its flags choose, and the version of the router that it brings.
    BootstrapHub(HubOptions, &'static str),
    /// Each cluster with what is said about its role.
    AddCluster(Vec<(&'static str, RoleFlag)>),
    /// The clusters.
    RemoveCluster(Vec<&'static str>),
    /// All of it.
    Teardown,
}

/// What a command made of an account.
pub(super) struct Run {
    /// What it would do.
    pub plan: Plan,
    /// How that went.
    pub outcome: Outcome,
}

struct Nobody;

impl Listener for Nobody {
    fn event(&self, _: usize, _: &Change, _: Event) {}
}

impl Command {
    /// Runs the command: observe, plan, check, show, apply.
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

    /// What the command would do to an account.
    pub(super) async fn plan(&self, scope: &Scope, account: &Account) -> Plan {
        let (wanted, ids) = self.wants(scope, account).await;
        let observed = observe(account, ids, 4).await.observed;
        let plan = plan(scope, &wanted, &observed);
        assert_eq!(check(scope, &plan, &observed), [], "{self:?}");
        plan
    }

    async fn wants(&self, scope: &Scope, account: &Account) -> (Desired, BTreeSet<ResourceId>) {
        let memory = tags(account, ResourceId::Queue(scope.dead_letter_queue())).await;
        let saved = HubOptions::saved(&memory).unwrap();
        let mut wanted = Desired::default();
        let mut ids = BTreeSet::new();
        match self {
            Self::BootstrapHub(flags, version) => {
                let options = flags.clone().or(saved.clone());
                let hub = Hub::new(scope, options.clone(), Code::of_archive(*version, *version));
                wanted.extend(hub.desired());
                ids.extend(hub::ids(scope));
                if options.kms_key.is_some() || saved.kms_key.is_some() {
                    for (name, _) in registered(scope, account, &hub).await {
                        let cluster = add_cluster(scope, account, &hub, name, RoleFlag::NotGiven, &mut ids).await;
                        wanted.extend(cluster.desired(scope, hub.kms_key()));
                    }
                }
            }
            Self::AddCluster(clusters) => {
                let hub = Hub::new(scope, saved, Code::of_archive("", ""));
                for (name, flag) in clusters {
                    let cluster = add_cluster(scope, account, &hub, name.parse().unwrap(), *flag, &mut ids).await;
                    wanted.extend(cluster.desired(scope, hub.kms_key()));
                }
            }
            Self::RemoveCluster(clusters) => {
                let hub = Hub::new(scope, saved, Code::of_archive("", ""));
                for name in clusters {
                    let name = name.parse().unwrap();
                    add_cluster(scope, account, &hub, name, RoleFlag::NotGiven, &mut ids).await;
                }
            }
            Self::Teardown => {
                ids.extend(hub::ids(scope));
                let hub = Hub::new(scope, saved, Code::of_archive("", ""));
                for (cluster, tags) in registered(scope, account, &hub).await {
                    ids.insert(ResourceId::Queue(scope.cluster_queue(&hub.queue_prefix(), &cluster)));
                    let role = tags.controller_role();
                    ids.extend(role.map(|role| Cluster::policy_id(scope, &cluster, &role)));
                }
            }
        }
        (wanted, ids)
    }
}

/// The clusters that there are, with what their queues remember.
async fn registered(scope: &Scope, account: &Account, hub: &Hub) -> BTreeMap<ClusterName, Tags> {
    let mut found = BTreeMap::new();
    for queue in account.cluster_queues(&hub.queue_prefix()).await.unwrap() {
        let tags = tags(account, ResourceId::Queue(queue)).await;
        if let Some(cluster) = tags.cluster_of(&scope.bus) {
            found.insert(cluster, tags);
        }
    }
    found
}

/// The cluster that is wanted, and with it all that must be looked at: its queue, and its policy on the role that is
/// wanted and on the one that the queue remembers.
async fn add_cluster(
    scope: &Scope,
    account: &Account,
    hub: &Hub,
    name: ClusterName,
    flag: RoleFlag,
    ids: &mut BTreeSet<ResourceId>,
) -> Cluster {
    let queue = ResourceId::Queue(scope.cluster_queue(&hub.queue_prefix(), &name));
    let tags = tags(account, queue.clone()).await;
    let saved = tags.controller_role();
    let role: Option<RoleName> = match flag {
        RoleFlag::NotGiven => saved.clone(),
        RoleFlag::Role(role) => Some(role.parse().unwrap()),
        RoleFlag::None => None,
    };
    ids.insert(queue);
    for role in role.iter().chain(&saved) {
        ids.insert(Cluster::policy_id(scope, &name, role));
    }
    let options = ClusterOptions::saved(&tags).unwrap();
    Cluster::new(scope, &hub.queue_prefix(), name, role, options)
}

async fn tags(account: &Account, id: ResourceId) -> Tags {
    let found = account.read(&id).await.unwrap();
    found.as_ref().and_then(Resource::tags).cloned().unwrap_or_default()
}
