//! What should be true for a hub and its clusters afterwards. Each command creates a target from its arguments;
//! changing commands and `verify` differ only in their targets.

use std::collections::BTreeMap;
use std::convert::Infallible;

use clap::builder::BoolishValueParser;

use super::OfferedRouter;
use crate::error::Error;
use crate::model::{
    ClusterName, ClusterRecord, HubOptions, NameError, QueueName, ResourceId, RoleTemplate, Scope, Tags, UserTag, hub,
    tags::NAMESPACE, usual_roles,
};
use crate::survey::{Query, Survey};

/// For up to this many clusters, the usual roles are read by name. For more clusters, one list of all roles needs fewer calls.
const BY_NAME: usize = 10;

/// What should be true afterwards for a hub, for a cluster, or for all unnamed clusters, which are never set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish<S = Infallible> {
    /// It stays unchanged. For a hub, only what the clusters need is read; clusters follow the key and the alarms of a hub that is set.
    Leave,
    /// It should match its saved state. Differences are findings.
    Keep,
    Set(S),
    /// It does not exist.
    Remove,
}

impl<S> Wish<S> {
    fn setting(&self) -> Option<&S> {
        match self {
            Self::Set(setting) => Some(setting),
            Self::Leave | Self::Keep | Self::Remove => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Target {
    pub hub: Wish<HubSetting>,
    /// The router of this kibus, for a hub that is set or kept.
    pub router: OfferedRouter,
    pub clusters: BTreeMap<ClusterName, Wish<ClusterSetting>>,
    /// The unnamed clusters.
    pub others: Wish,
    /// Whether a cluster to remove that does not exist is skipped without an error or a warning.
    pub ignore_missing: bool,
    pub check: Check,
}

/// The depth of a check. Each level includes the previous ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// It reads.
    Look,
    /// The live router runs its self-test, and waiting messages are counted again.
    #[default]
    Test,
    /// The bus and the clusters are probed, after everything else is known, because it takes long.
    Probe,
}

/// What a command sets on a hub.
#[derive(Clone, Debug)]
pub enum HubSetting {
    /// All of it.
    Bootstrap(Box<Bootstrap>),
    /// This version of the router is live, or else the previous one.
    RollBack(Option<u64>),
}

/// A hub with these options, else the saved ones, else the defaults.
#[derive(Clone, Debug, Default)]
pub struct Bootstrap {
    /// The given options.
    pub options: HubOptions,
    /// Whether an older router may replace a newer one.
    pub allow_downgrade: bool,
    /// Whether a rollback ends, so that the router of this kibus replaces the pinned version.
    pub end_rollback: bool,
    /// Whether the settings are written even if resources of the hub exist without them, or if they are damaged.
    pub restore_settings: bool,
    pub removed: RemovedTags,
}

/// The user's tags that a command removes.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct RemovedTags {
    /// Key of a tag to remove; repeatable.
    #[arg(long, env = "KIBUS_UNTAG", value_name = "KEY", value_delimiter = ',', value_parser = tag_key, hide_short_help = true)]
    pub untag: Vec<String>,
}

impl RemovedTags {
    /// Rejects tags that are also set.
    pub fn beside(&self, tags: &Tags) -> Result<(), Error> {
        self.untag.iter().find(|key| tags.get(key).is_some()).map_or(Ok(()), |key| {
            let message = format!("--tag sets tag `{}`, but --untag removes it", key.escape_debug());
            Err(Error::usage(message).hint("pass only one of the two for a tag"))
        })
    }
}

/// A cluster that is set, by the options of `add-cluster`. The comment of an option is its help on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ClusterSetting {
    #[arg(skip)]
    pub role: RoleOption,
    /// Do not look up new clusters and their controller roles in EKS.
    #[arg(long, env = "KIBUS_NO_EKS_CHECK", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_name = "BOOL", value_parser = BoolishValueParser::new(),
        hide_possible_values = true, hide_short_help = true)]
    pub no_eks_check: Option<bool>,
    /// Tag to add or change on the queue; repeatable.
    #[arg(long = "tag", env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',')]
    pub tags: Vec<UserTag>,
    #[command(flatten)]
    pub removed: RemovedTags,
    /// Record a queue that another tool manages, with the controller's permission; kibus changes neither.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL",
        value_parser = BoolishValueParser::new(), hide_possible_values = true,
        conflicts_with_all = ["adopt", "tags", "untag", "controller_role", "no_controller_role"])]
    pub external: Option<bool>,
    /// Take over an existing queue: kibus replaces its policy, and remove-cluster deletes it.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL",
        value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    pub adopt: Option<bool>,
    /// Whether the Karpenter settings are shown even if they have not changed.
    #[arg(skip)]
    pub show_settings: bool,
}

impl ClusterSetting {
    /// Whether the cluster is looked up in EKS when it is recorded for the first time.
    pub(super) fn asks_eks(&self) -> bool {
        self.no_eks_check != Some(true)
    }

    pub(super) fn external(&self) -> bool {
        self.external == Some(true)
    }

    pub(super) fn adopts(&self) -> bool {
        self.adopt == Some(true)
    }

    /// The user's tags to add to the queue, or to change.
    pub fn tags(&self) -> Tags {
        let tags = self.tags.iter().cloned();
        tags.map(|tag| (tag.key, tag.value)).collect()
    }
}

fn tag_key(key: &str) -> Result<String, NameError> {
    let reserved = key.to_lowercase().starts_with("aws:") || key.starts_with(NAMESPACE);
    if reserved || key.is_empty() || key.chars().count() > 128 {
        Err(NameError::new("key of a tag", key, "up to 128 characters that do not begin with `kibus:` or `aws:`"))
    } else {
        Ok(key.to_owned())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RoleOption {
    /// Not set: the recorded role, else the role found in EKS and trust policies, else the role with a usual name.
    #[default]
    Search,
    /// This role, or this pattern of names.
    Named(RoleTemplate),
    /// Kibus does not manage a policy on the controller role.
    Unmanaged,
}

impl Target {
    pub fn bootstrap(bootstrap: Bootstrap) -> Self {
        Self::of_hub(Wish::Set(HubSetting::Bootstrap(Box::new(bootstrap))), Wish::Leave)
    }

    /// A router that is rolled back to this version, or else to the previous one.
    pub fn rollback(version: Option<u64>) -> Self {
        Self::of_hub(Wish::Set(HubSetting::RollBack(version)), Wish::Leave)
    }

    /// Nothing of the hub and its clusters.
    pub fn teardown() -> Self {
        Self::of_hub(Wish::Remove, Wish::Remove)
    }

    /// Clusters to record, all with the same setting.
    pub fn add(names: impl IntoIterator<Item = ClusterName>, setting: &ClusterSetting) -> Self {
        Self::of_clusters(names, &Wish::Set(setting.clone()))
    }

    pub fn remove(names: impl IntoIterator<Item = ClusterName>, ignore_missing: bool) -> Self {
        Self { ignore_missing, ..Self::of_clusters(names, &Wish::Remove) }
    }

    /// The hub with its saved settings, and these clusters, or all if there are none.
    pub fn keep(names: impl IntoIterator<Item = ClusterName>) -> Self {
        let named = Self::of_clusters(names, &Wish::Keep);
        Self { hub: Wish::Keep, others: if named.clusters.is_empty() { Wish::Keep } else { Wish::Leave }, ..named }
    }

    fn of_hub(hub: Wish<HubSetting>, others: Wish) -> Self {
        Self {
            hub,
            router: OfferedRouter::of_version(env!("CARGO_PKG_VERSION")),
            clusters: BTreeMap::new(),
            others,
            ignore_missing: false,
            check: Check::default(),
        }
    }

    fn of_clusters(names: impl IntoIterator<Item = ClusterName>, each: &Wish<ClusterSetting>) -> Self {
        Self {
            clusters: names.into_iter().map(|name| (name, each.clone())).collect(),
            ..Self::of_hub(Wish::Leave, Wish::Leave)
        }
    }

    /// Whether the target is a check: differences are findings, and nothing is changed.
    pub fn is_check(&self) -> bool {
        matches!(self.hub, Wish::Keep)
    }

    /// The options for a hub that is set.
    pub(super) fn bootstraps(&self) -> Option<&Bootstrap> {
        match &self.hub {
            Wish::Set(HubSetting::Bootstrap(bootstrap)) => Some(bootstrap),
            _ => None,
        }
    }

    /// For everything that applies to every target.
    pub(super) fn is_any(&self) -> bool {
        true
    }

    /// Whether the target also covers unnamed clusters.
    pub(super) fn is_of_all(&self) -> bool {
        self.others != Wish::Leave
    }

    pub(super) fn checks_all(&self) -> bool {
        self.others == Wish::Keep
    }

    pub(super) fn sets_hub(&self) -> bool {
        self.bootstraps().is_some()
    }

    /// Whether the options of the hub determine the plan for the hub itself.
    pub(super) fn plans_hub(&self) -> bool {
        self.is_check() || self.sets_hub()
    }

    pub(super) fn set(&self) -> impl Iterator<Item = (&ClusterName, &ClusterSetting)> {
        let wishes = self.clusters.iter();
        wishes.filter_map(|(name, wish)| Some((name, wish.setting()?)))
    }

    pub(super) fn setting(&self, cluster: &ClusterName) -> Option<&ClusterSetting> {
        self.clusters.get(cluster)?.setting()
    }

    pub(super) fn removed(&self) -> impl Iterator<Item = &ClusterName> {
        self.named(Wish::Remove)
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = &ClusterName> {
        self.named(Wish::Keep)
    }

    fn named(&self, same: Wish<ClusterSetting>) -> impl Iterator<Item = &ClusterName> {
        let wishes = self.clusters.iter();
        wishes.filter_map(move |(name, wish)| (*wish == same).then_some(name))
    }

    /// Whether a recorded cluster is checked.
    pub(super) fn checks(&self, cluster: &ClusterName) -> bool {
        self.others == Wish::Keep || matches!(self.clusters.get(cluster), Some(Wish::Keep))
    }

    /// Whether a queue of this cluster, or of an unknown cluster, is checked.
    pub(super) fn checks_queue(&self, cluster: Option<&ClusterName>) -> bool {
        cluster.map_or(self.others == Wish::Keep, |cluster| self.checks(cluster))
    }

    /// Whether a cluster that exists is wanted afterwards.
    pub(super) fn wants(&self, cluster: &ClusterName) -> bool {
        match self.clusters.get(cluster) {
            Some(wish) => *wish != Wish::Remove,
            None => self.others != Wish::Remove,
        }
    }

    /// An empty survey for this target, and what a pass will certainly request.
    pub fn survey(&self, scope: Scope) -> (Survey, Query) {
        let mut survey = Survey::new(scope);
        survey.new_template = self.bootstraps().and_then(|given| given.options.queue_name.clone());
        let guess = self.guess(&survey);
        (survey, guess)
    }

    /// What a pass for this target will certainly request, if the hub has the queue names that the survey begins with.
    /// This saves every command a round trip.
    fn guess(&self, survey: &Survey) -> Query {
        let is_check = self.is_check();
        let is_few = self.set().count() <= BY_NAME;
        let set = self.set().map(|(name, _)| name);
        let queues = set.chain(self.removed()).map(|name| ResourceId::Queue(survey.cluster_queue(name)));
        let records = self.clusters.keys().map(|name| survey.record_id(name));
        let mut guess = Query {
            resources: queues.chain(records).collect(),
            records: self.is_of_all() || self.bootstraps().is_some_and(|given| given.restore_settings),
            sources_of_recorded: is_check,
            tagged_queues: is_check || self.others == Wish::Remove,
            listed_roles: is_check || self.others == Wish::Remove,
            function_mappings: is_check,
            // Calls that depend on each other: a check, which has a second round anyway, makes them in parallel with that round.
            function_permissions: self.sets_hub(),
            dropped_clusters: self.checks_all(),
            event_rules: is_check,
            eks_clusters: is_few && self.set().any(|(_, setting)| setting.asks_eks()),
            ..Query::default()
        };
        if !matches!(self.hub, Wish::Leave) {
            let given = self.bootstraps().map(|given| &given.options);
            guess.resources.extend(hub::ids(&survey.scope, given));
        }
        for (name, setting) in self.set().filter(|(_, setting)| !setting.external()) {
            match &setting.role {
                RoleOption::Unmanaged => {}
                // For many clusters, named roles are read one by one, if needed.
                RoleOption::Named(template) if is_few => guess.roles.extend(template.role(name).ok()),
                RoleOption::Named(_) => {}
                RoleOption::Search if is_few => guess.roles.extend(usual_roles(name)),
                RoleOption::Search => guess.listed_roles = true,
            }
        }
        guess
    }
}

/// The recorded clusters that a target leaves unchanged.
pub fn checked_clusters<'a>(survey: &'a Survey, target: &Target) -> BTreeMap<ClusterName, &'a ClusterRecord> {
    let mut kept = survey.recorded();
    kept.retain(|name, _| target.checks(name));
    kept
}

/// These clusters, by their queues.
pub(super) fn checked_by_queue(survey: &Survey, target: &Target) -> BTreeMap<QueueName, ClusterName> {
    let checked = checked_clusters(survey, target).into_iter();
    checked.map(|(name, record)| (record.queue.clone(), name)).collect()
}
