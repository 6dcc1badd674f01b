//! What should be true of a hub and its clusters afterwards. Each command makes a target from its arguments; the commands
//! that change something, and `verify`, differ in nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::OfferedRouter;
use crate::model::hub;
use crate::model::karpenter::{KarpenterVersion, RoleTemplate, usual_roles};
use crate::model::name::{ClusterName, QueueName};
use crate::model::options::HubOptions;
use crate::model::resource::ResourceId;
use crate::model::scope::Scope;
use crate::model::tags::Tags;
use crate::survey::{Query, Survey};

/// Up to this many clusters, the usual roles are read by name. For more clusters, one list of all roles needs fewer calls.
const BY_NAME: usize = 10;

/// A target for one hub.
#[derive(Clone, Debug)]
pub struct Target {
    pub hub: HubTarget,
    /// The clusters that are named.
    pub clusters: BTreeMap<ClusterName, ClusterTarget>,
    /// The clusters that are not named.
    pub others: Others,
    /// What a check tries, once all else is known.
    pub trial: Trial,
}

/// What a check tries, besides reading: it takes long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trial {
    #[default]
    Nothing,
    /// Counts messages that wait once more: one that is seen once may just have arrived.
    Glance,
    /// Counts them for a minute, and probes the bus and the clusters that are checked.
    Probe,
}

/// The target for a hub.
#[derive(Clone, Debug)]
pub enum HubTarget {
    /// It stays as it is, and is read as far as the clusters need.
    Leave,
    /// As its settings say, with this router. Differences are findings.
    Keep(OfferedRouter),
    /// By these options, else the saved ones, else the defaults.
    Set(Box<HubSetting>),
    /// This version of the router is live, else the one before.
    RollBack(Option<u64>),
    /// It does not exist.
    Remove,
}

/// A hub that is set.
#[derive(Clone, Debug)]
pub struct HubSetting {
    /// The options that are given.
    pub options: HubOptions,
    /// The router of this kibus.
    pub router: OfferedRouter,
    /// Whether an older router may replace a newer one.
    pub allow_downgrade: bool,
    /// Whether a rollback ends, so that this router replaces the version that was rolled back to.
    pub end_rollback: bool,
    /// Whether the settings are written although resources of the hub exist without them, or over damaged ones.
    pub restore_settings: bool,
}

/// The target for a named cluster.
#[derive(Clone, Debug)]
pub enum ClusterTarget {
    /// As its queue has saved. Differences are findings.
    Keep,
    /// Registered.
    Set(ClusterSetting),
    /// Not registered.
    Remove {
        /// Whether a cluster that does not exist is skipped without an error or a warning.
        ignore_missing: bool,
    },
}

/// A cluster that is set.
#[derive(Clone, Debug, Default)]
pub struct ClusterSetting {
    pub role: RoleOption,
    pub adopt: Adopt,
    /// Whether an adopted queue loses the statements of its owner that allow something.
    pub drop_old_senders: bool,
    /// The user's tags to add to the queue, or to change.
    pub tags: Tags,
    /// The keys of the tags to remove from the queue.
    pub untag: BTreeSet<String>,
    /// Else the version that the queue's tag has.
    pub karpenter_version: Option<KarpenterVersion>,
    /// Whether the Karpenter settings are shown even if they have not changed.
    pub show_settings: bool,
    /// Whether EKS is asked about the cluster when it is registered for the first time.
    pub asks_eks: bool,
}

/// Whether a queue that another tool created is taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adopt {
    #[default]
    No,
    /// If something shows that a Karpenter uses it.
    IfUsed,
    /// Whatever uses it.
    Unproven,
}

/// The option for a controller role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RoleOption {
    /// Not set: the saved role, else the one that EKS and trust policies show, else the one with a usual name.
    #[default]
    Search,
    /// This role, or this pattern of names.
    Named(RoleTemplate),
    /// Kibus does not manage a policy on the controller role.
    Unmanaged,
}

/// The target for the clusters that are not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They stay as they are, and follow the key and the prefix of a hub that is set.
    Leave,
    /// As their queues have saved. Differences are findings.
    Keep,
    /// They do not exist.
    Remove,
}

impl Target {
    /// A hub by these options.
    pub fn bootstrap(setting: HubSetting) -> Self {
        Self::of_hub(HubTarget::Set(Box::new(setting)), Others::Leave)
    }

    /// A router that is rolled back to this version, else to the one before.
    pub fn rollback(version: Option<u64>) -> Self {
        Self::of_hub(HubTarget::RollBack(version), Others::Leave)
    }

    /// Nothing of the hub and its clusters.
    pub fn teardown() -> Self {
        Self::of_hub(HubTarget::Remove, Others::Remove)
    }

    /// Clusters that are registered, all by the same setting.
    pub fn add(names: impl IntoIterator<Item = ClusterName>, setting: &ClusterSetting) -> Self {
        Self::of_clusters(names, &ClusterTarget::Set(setting.clone()))
    }

    /// Clusters that are not registered.
    pub fn remove(names: impl IntoIterator<Item = ClusterName>, ignore_missing: bool) -> Self {
        Self::of_clusters(names, &ClusterTarget::Remove { ignore_missing })
    }

    /// The hub as it has saved, with this router, and these clusters, or all if there are none.
    pub fn keep(router: OfferedRouter, names: impl IntoIterator<Item = ClusterName>) -> Self {
        let named = Self::of_clusters(names, &ClusterTarget::Keep);
        Self {
            hub: HubTarget::Keep(router),
            others: if named.clusters.is_empty() {
                Others::Keep
            } else {
                Others::Leave
            },
            ..named
        }
    }

    /// The clusters whose queues are to be taken over.
    pub(super) fn adopting(&self) -> impl Iterator<Item = &ClusterName> {
        let set = self.set().into_iter();
        set.filter_map(|(name, setting)| (setting.adopt != Adopt::No).then_some(name))
    }

    /// Whether the target says what should be as it is, so that differences are findings and nothing is changed.
    pub fn is_check(&self) -> bool {
        matches!(self.hub, HubTarget::Keep(_))
    }

    /// The router, for a hub that is set or kept.
    pub fn router(&self) -> Option<&OfferedRouter> {
        match &self.hub {
            HubTarget::Set(setting) => Some(&setting.router),
            HubTarget::Keep(router) => Some(router),
            HubTarget::Leave | HubTarget::RollBack(_) | HubTarget::Remove => None,
        }
    }

    /// The same with this router.
    pub fn offer(&mut self, offered: OfferedRouter) {
        match &mut self.hub {
            HubTarget::Set(setting) => setting.router = offered,
            HubTarget::Keep(router) => *router = offered,
            HubTarget::Leave | HubTarget::RollBack(_) | HubTarget::Remove => {}
        }
    }

    fn of_hub(hub: HubTarget, others: Others) -> Self {
        Self {
            hub,
            clusters: BTreeMap::new(),
            others,
            trial: Trial::Nothing,
        }
    }

    fn of_clusters(names: impl IntoIterator<Item = ClusterName>, each: &ClusterTarget) -> Self {
        Self {
            hub: HubTarget::Leave,
            clusters: names.into_iter().map(|name| (name, each.clone())).collect(),
            others: Others::Leave,
            trial: Trial::Nothing,
        }
    }

    /// The setting of a hub that is set.
    pub(super) fn setting(&self) -> Option<&HubSetting> {
        match &self.hub {
            HubTarget::Set(setting) => Some(setting),
            _ => None,
        }
    }

    /// Whether the options of the hub decide what is planned for the hub itself.
    pub(super) fn plans_hub(&self) -> bool {
        matches!(self.hub, HubTarget::Set(_) | HubTarget::Keep(_))
    }

    /// The clusters that are set.
    pub(super) fn set(&self) -> BTreeMap<&ClusterName, &ClusterSetting> {
        let set = self.clusters.iter().filter_map(|(name, target)| match target {
            ClusterTarget::Set(setting) => Some((name, setting)),
            ClusterTarget::Keep | ClusterTarget::Remove { .. } => None,
        });
        set.collect()
    }

    /// The clusters that are removed, and whether a missing one is ignored.
    pub(super) fn removed(&self) -> BTreeMap<&ClusterName, bool> {
        let removed = self.clusters.iter().filter_map(|(name, target)| match target {
            ClusterTarget::Remove { ignore_missing } => Some((name, *ignore_missing)),
            ClusterTarget::Keep | ClusterTarget::Set(_) => None,
        });
        removed.collect()
    }

    /// The clusters that are named to be kept.
    pub(super) fn kept(&self) -> BTreeSet<ClusterName> {
        let kept = self
            .clusters
            .iter()
            .filter(|(_, target)| matches!(target, ClusterTarget::Keep));
        kept.map(|(name, _)| name.clone()).collect()
    }

    /// Whether a registered cluster is checked.
    pub(super) fn checks(&self, cluster: &ClusterName) -> bool {
        self.others == Others::Keep || matches!(self.clusters.get(cluster), Some(ClusterTarget::Keep))
    }

    /// Whether a queue is checked that is of this cluster, or of one that is not known.
    pub(super) fn checks_queue(&self, cluster: Option<&ClusterName>) -> bool {
        cluster.map_or(self.others == Others::Keep, |cluster| self.checks(cluster))
    }

    /// Whether a cluster that exists is wanted afterwards.
    pub(super) fn wants(&self, cluster: &ClusterName) -> bool {
        match self.clusters.get(cluster) {
            Some(target) => !matches!(target, ClusterTarget::Remove { .. }),
            None => self.others != Others::Remove,
        }
    }

    /// A survey for this target in which nothing is read yet.
    pub fn survey(&self, scope: Scope) -> Survey {
        let given = self.setting().and_then(|setting| setting.options.queue_prefix.clone());
        let mut survey = Survey::new(scope);
        survey.new_prefix = given;
        survey
    }

    /// What a pass for this target will certainly ask for, if the hub has the prefix that the survey begins with: no command pays
    /// a round trip for it.
    pub fn guess(&self, survey: &Survey) -> Query {
        let (set, removed) = (self.set(), self.removed());
        let all = self.is_check() || self.others == Others::Remove;
        let is_few = set.len() <= BY_NAME;
        let named = set.keys().chain(removed.keys());
        let queues = named.map(|name| ResourceId::Queue(survey.cluster_queue(name)));
        let mut guess = Query {
            resources: queues.collect(),
            cluster_queues: all.then(|| survey.queue_prefix()).into_iter().collect(),
            listed_roles: all,
            function_mappings: self.is_check(),
            // Calls that must follow each other: a check, which has a second round, makes them beside those of that round.
            function_permissions: self.setting().is_some(),
            dropped_clusters: self.is_check() && self.others == Others::Keep,
            event_rules: self.is_check() || self.adopting().next().is_some(),
            eks_clusters: is_few && set.values().any(|setting| setting.asks_eks),
            ..Query::default()
        };
        if !matches!(self.hub, HubTarget::Leave) {
            guess.resources.extend(hub::ids(&survey.scope));
        }
        for (name, setting) in set {
            let asks_ec2 = setting.karpenter_version.is_some_and(KarpenterVersion::asks_ec2);
            guess.listed_roles |= asks_ec2 && setting.role != RoleOption::Unmanaged;
            match &setting.role {
                RoleOption::Unmanaged => {}
                RoleOption::Named(template) => guess.roles.extend(template.role(name).ok()),
                RoleOption::Search if is_few => guess.roles.extend(usual_roles(name)),
                RoleOption::Search => guess.listed_roles = true,
            }
        }
        guess
    }
}

/// The registered clusters that a target keeps as they are saved, with the tags of their queues.
pub fn checked_clusters<'a>(survey: &'a Survey, target: &Target) -> BTreeMap<ClusterName, &'a Tags> {
    let mut kept = match target.is_check() {
        true => survey.registered(),
        false => BTreeMap::new(),
    };
    kept.retain(|name, _| target.checks(name));
    kept
}

/// The same clusters by their queues.
pub(super) fn checked_by_queue(survey: &Survey, target: &Target) -> BTreeMap<QueueName, ClusterName> {
    let names = checked_clusters(survey, target).into_keys();
    names.map(|name| (survey.cluster_queue(&name), name)).collect()
}
