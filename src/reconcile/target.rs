//! What should be true of a hub and its clusters afterwards. Each command makes a target from its arguments; the commands
//! that change something, and `verify`, differ in nothing else.

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

/// Up to this many clusters, the usual roles are read by name. For more clusters, one list of all roles needs fewer calls.
const BY_NAME: usize = 10;

/// What should be true afterwards of a hub, of a cluster, or of all clusters that are not named, which nothing sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish<S = Infallible> {
    /// It stays as it is. Of a hub, what the clusters need is read; clusters follow the key and the alarms of a hub that is set.
    Leave,
    /// As it is saved. Differences are findings.
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
    /// The clusters that are not named.
    pub others: Wish,
    /// Whether a cluster that is removed and does not exist is skipped without an error or a warning.
    pub ignore_missing: bool,
    pub check: Check,
}

/// How far a check goes. Each also does what those before it do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// It reads.
    Look,
    /// The live router tests itself, and messages that wait are counted again.
    #[default]
    Test,
    /// The bus and the clusters are probed, once all else is known: that takes long.
    Probe,
}

/// What is set of a hub.
#[derive(Clone, Debug)]
pub enum HubSetting {
    /// All of it.
    Bootstrap(Box<Bootstrap>),
    /// This version of the router is live, else the one before.
    RollBack(Option<u64>),
}

/// A hub by these options, else the saved ones, else the defaults.
#[derive(Clone, Debug, Default)]
pub struct Bootstrap {
    /// The options that are given.
    pub options: HubOptions,
    /// Whether an older router may replace a newer one.
    pub allow_downgrade: bool,
    /// Whether a rollback ends, so that the router of this kibus replaces the version that was rolled back to.
    pub end_rollback: bool,
    /// Whether the settings are written although resources of the hub exist without them, or over damaged ones.
    pub restore_settings: bool,
    pub removed: RemovedTags,
}

/// The user's tags that a command removes.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct RemovedTags {
    /// Key of a tag to remove; repeat for more.
    #[arg(long, env = "KIBUS_UNTAG", value_name = "KEY", value_delimiter = ',', value_parser = tag_key, hide_short_help = true)]
    pub untag: Vec<String>,
}

impl RemovedTags {
    /// Refuses tags that are also set.
    pub fn beside(&self, tags: &Tags) -> Result<(), Error> {
        self.untag.iter().find(|key| tags.get(key).is_some()).map_or(Ok(()), |key| {
            let message = format!("--tag sets tag `{}`, and --untag removes it", key.escape_debug());
            Err(Error::usage(message).hint("pass only one of the two for a tag"))
        })
    }
}

/// A cluster that is set, by the options of `add-cluster`. The comment of an option is its help on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ClusterSetting {
    #[arg(skip)]
    pub role: RoleOption,
    /// Do not ask EKS whether a new cluster exists, nor for its controller role.
    #[arg(long, env = "KIBUS_NO_EKS_CHECK", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_name = "BOOL", value_parser = BoolishValueParser::new(),
        hide_possible_values = true, hide_short_help = true)]
    pub no_eks_check: Option<bool>,
    /// Tag to add to the queue, or to change; repeat for more.
    #[arg(long = "tag", env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',')]
    pub tags: Vec<UserTag>,
    #[command(flatten)]
    pub removed: RemovedTags,
    /// Record a queue that another tool manages, with the permission of the controller; kibus writes to neither.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL",
        value_parser = BoolishValueParser::new(), hide_possible_values = true,
        conflicts_with_all = ["adopt", "tags", "untag", "controller_role", "no_controller_role"])]
    pub external: Option<bool>,
    /// Make a queue that exists kibus's own: its policy is replaced, and remove-cluster deletes it.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL",
        value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    pub adopt: Option<bool>,
    /// Whether the Karpenter settings are shown even if they have not changed.
    #[arg(skip)]
    pub show_settings: bool,
}

impl ClusterSetting {
    /// Whether EKS is asked about the cluster when it is recorded for the first time.
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
    /// Not set: the recorded role, else the one that EKS and trust policies show, else the one with a usual name.
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

    /// A router that is rolled back to this version, else to the one before.
    pub fn rollback(version: Option<u64>) -> Self {
        Self::of_hub(Wish::Set(HubSetting::RollBack(version)), Wish::Leave)
    }

    /// Nothing of the hub and its clusters.
    pub fn teardown() -> Self {
        Self::of_hub(Wish::Remove, Wish::Remove)
    }

    /// Clusters that are recorded, all by one setting.
    pub fn add(names: impl IntoIterator<Item = ClusterName>, setting: &ClusterSetting) -> Self {
        Self::of_clusters(names, &Wish::Set(setting.clone()))
    }

    pub fn remove(names: impl IntoIterator<Item = ClusterName>, ignore_missing: bool) -> Self {
        Self { ignore_missing, ..Self::of_clusters(names, &Wish::Remove) }
    }

    /// The hub as it has saved, and these clusters, or all if there are none.
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

    /// Whether the target says what should be as it is, so that differences are findings and nothing is changed.
    pub fn is_check(&self) -> bool {
        matches!(self.hub, Wish::Keep)
    }

    /// The options of a hub that is set.
    pub(super) fn bootstraps(&self) -> Option<&Bootstrap> {
        match &self.hub {
            Wish::Set(HubSetting::Bootstrap(bootstrap)) => Some(bootstrap),
            _ => None,
        }
    }

    /// Of what applies to every target.
    pub(super) fn is_any(&self) -> bool {
        true
    }

    /// Whether the target is also about clusters that are not named.
    pub(super) fn is_of_all(&self) -> bool {
        self.others != Wish::Leave
    }

    pub(super) fn checks_all(&self) -> bool {
        self.others == Wish::Keep
    }

    pub(super) fn sets_hub(&self) -> bool {
        self.bootstraps().is_some()
    }

    /// Whether the options of the hub decide what is planned for the hub itself.
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

    /// Whether a queue is checked that is of this cluster, or of one that is not known.
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

    /// A survey for this target in which nothing is read yet, and what a pass will certainly ask for.
    pub fn survey(&self, scope: Scope) -> (Survey, Query) {
        let mut survey = Survey::new(scope);
        survey.new_template = self.bootstraps().and_then(|given| given.options.queue_name.clone());
        let guess = self.guess(&survey);
        (survey, guess)
    }

    /// What a pass for this target will certainly ask for, if the hub has the names of queues that the survey begins with: no
    /// command pays a round trip for it.
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
            // Calls that must follow each other: a check, which has a second round, makes them beside those of that round.
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
                // The named roles of many clusters are read one by one, if needed.
                RoleOption::Named(template) if is_few => guess.roles.extend(template.role(name).ok()),
                RoleOption::Named(_) => {}
                RoleOption::Search if is_few => guess.roles.extend(usual_roles(name)),
                RoleOption::Search => guess.listed_roles = true,
            }
        }
        guess
    }
}

/// The recorded clusters that a target keeps as they are.
pub fn checked_clusters<'a>(survey: &'a Survey, target: &Target) -> BTreeMap<ClusterName, &'a ClusterRecord> {
    let mut kept = survey.recorded();
    kept.retain(|name, _| target.checks(name));
    kept
}

/// These clusters by their queues.
pub(super) fn checked_by_queue(survey: &Survey, target: &Target) -> BTreeMap<QueueName, ClusterName> {
    let checked = checked_clusters(survey, target).into_iter();
    checked.map(|(name, record)| (record.queue.clone(), name)).collect()
}
