//! Saved options of the hub that decide who may do what, and that nothing but a tag confirms. Whoever may tag the
//! dead-letter queue could choose the key of the queues, the prefix of those that the router may send to, and the path,
//! the boundary and the tags of its role.

use std::collections::BTreeSet;

use super::saved_options::{Difference, SavedOption, or_none, pairs};
use super::saved_prefix;
use crate::model::name::{ClusterName, KmsKey, PermissionsBoundary, RolePath};
use crate::model::options::{HubOptions, UserTags};
use crate::model::policy;
use crate::model::resource::{Encryption, Function, Queue, Resource, ResourceId, RolePolicy};
use crate::model::tags::Tags;
use crate::plan::{Action, Change, Plan, Refusal, flags};
use crate::survey::{SavedOptions, Survey};

/// The refusals of a plan by `after`: the options of the command line (`given`), else the saved ones. The command that each
/// names repeats the given options: without them, it would be refused for those.
pub(super) fn check(survey: &Survey, given: &HubOptions, after: &HubOptions) -> Vec<Refusal> {
    let hub = LiveHub::of(survey);
    let key = given
        .kms_key
        .is_some()
        .then(|| or_none(given.key().map(KmsKey::as_str)));
    let path = given.role_path.as_ref().map(|path| vec![path.to_string()]);
    let tags = given.tags.as_ref().map(|tags| pairs(tags.tags().0.iter()));
    let bounded = given.permissions_boundary.is_some();
    let boundary = bounded.then(|| or_none(boundary_of(given).as_ref().map(PermissionsBoundary::as_str)));
    let prefix = hub.prefix(given, after);
    let same_prefix = given.queue_prefix.as_ref().filter(|_| prefix.is_none());
    let options = [
        (
            "queue-prefix",
            same_prefix.map(|prefix| vec![prefix.to_string()]),
            prefix,
        ),
        ("kms-key", key, hub.key(after)),
        ("role-path", path, hub.path(after)),
        ("tag", tags, hub.tags(after)),
        ("permissions-boundary", boundary, hub.added_boundary(after)),
    ];
    let (mut differences, mut keep) = (Vec::new(), Vec::new());
    for (flag, given, difference) in options {
        match (given, difference) {
            (Some(values), _) => keep.push(flags(flag, &values)),
            (None, Some(difference)) => {
                keep.push(typed(&difference.live));
                differences.push(difference);
            }
            (None, None) => {}
        }
    }
    let boundary = (!bounded).then(|| hub.boundary(after)).flatten();
    let keep = keep.join(" ");
    let refusals = differences
        .into_iter()
        .map(|difference| refusal(difference, Some(&keep)));
    refusals.chain(boundary).collect()
}

/// The refusal of an option that a resource contradicts. `keep` is all that the printed command sets, if that is more than
/// this option.
pub(super) fn refusal(difference: Difference, keep: Option<&str>) -> Refusal {
    let Difference { saved, live, of } = difference;
    Refusal::UnconfirmedOption {
        saved: typed(&saved),
        keep: keep.map_or_else(|| typed(&live), str::to_owned),
        live: typed(&live),
        of: Box::new(of),
    }
}

fn typed(option: &SavedOption) -> String {
    flags(option.flag, &option.values)
}

/// Whether these clusters have or would have a key of the customer that the hub queue may not have: then the hub queue
/// must be read.
pub(super) fn changes_key(survey: &Survey, hub: &HubOptions, clusters: &BTreeSet<ClusterName>) -> bool {
    let has_key = |cluster| {
        let queue = survey.observed.queue(survey.cluster_queue(cluster));
        queue.is_some_and(|queue| key_of(queue).is_some())
    };
    hub.key().is_some() || clusters.iter().any(has_key)
}

/// The registered clusters whose queues name no controller role and do not have the key of these options yet.
pub(super) fn rekeyed_without_role(survey: &Survey, hub: &HubOptions) -> BTreeSet<ClusterName> {
    let mut clusters = survey.registered();
    clusters.retain(|cluster, tags| {
        let queue = survey.observed.queue(survey.cluster_queue(cluster));
        let rekeyed = queue.is_some_and(|queue| key_of(queue) != hub.key().map(KmsKey::as_str));
        rekeyed && tags.controller_role().is_none()
    });
    clusters.into_keys().collect()
}

/// The refusals of a plan that gives cluster queues another key than the hub queue has, if that was read.
pub(super) fn check_key_of_clusters(survey: &Survey, hub: &HubOptions, plan: &Plan) -> Vec<Refusal> {
    let encrypts = |change: &Change| match (&change.before, &change.after) {
        (_, Some(Resource::Queue(_))) if change.action != Action::Update => true,
        _ => change.touches(Queue::ENCRYPTION),
    };
    let Some(queue) = survey.observed.queue(survey.scope.hub_queue()) else {
        return Vec::new();
    };
    let (saved, live) = (hub.key().map(KmsKey::as_str), key_of(queue));
    if saved == live || !plan.changes.iter().any(encrypts) {
        return Vec::new();
    }
    let id = ResourceId::Queue(queue.name.clone());
    vec![refusal(difference("kms-key", or_none(saved), or_none(live), id), None)]
}

/// The key of the customer that encrypts a queue.
fn key_of(queue: &Queue) -> Option<&str> {
    match &queue.encryption {
        Encryption::None | Encryption::SqsManaged => None,
        Encryption::Kms(key) => Some(key.as_str()),
        Encryption::OtherKms(key) => Some(key),
    }
}

fn difference(flag: &'static str, saved: Vec<String>, live: Vec<String>, of: ResourceId) -> Difference {
    let option = |values| SavedOption { flag, values };
    Difference {
        saved: option(saved),
        live: option(live),
        of,
    }
}

/// What the resources of the hub say about its options.
struct LiveHub<'a> {
    survey: &'a Survey,
    function: Option<&'a Function>,
    router_policy: Option<&'a RolePolicy>,
}

impl<'a> LiveHub<'a> {
    fn of(survey: &'a Survey) -> Self {
        let scope = &survey.scope;
        let id = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
        Self {
            survey,
            function: survey.observed.function(scope.router_function()),
            router_policy: survey.observed.resource(&id).and_then(|policy| policy.as_role_policy()),
        }
    }

    fn function_id(&self) -> ResourceId {
        ResourceId::Function(self.survey.scope.router_function())
    }

    fn role_id(&self) -> ResourceId {
        ResourceId::Role(self.survey.scope.router_role())
    }

    /// By another prefix than the saved one, clusters with queues of the live one would not be found.
    fn prefix(&self, given: &HubOptions, after: &HubOptions) -> Option<Difference> {
        let Some(given) = &given.queue_prefix else {
            return saved_prefix::difference(self.survey, &after.prefix());
        };
        let saved = self.survey.queue_prefix();
        let difference = saved_prefix::difference(self.survey, &saved)?;
        (*given != saved && difference.live.values != [given.as_str()]).then_some(difference)
    }

    /// In a change of key that was cut short, the router's policy may allow the new key already. An old key that it still
    /// allows is no evidence: a tag could bring it back.
    fn key(&self, after: &HubOptions) -> Option<Difference> {
        let hub_queue = self.survey.scope.hub_queue();
        let queue = self.survey.observed.queue(hub_queue.clone());
        let of_queue = queue.map(|queue| BTreeSet::from_iter(key_of(queue).map(str::to_owned)));
        let of_policy = self.router_policy.map(|live| policy::current_keys(&live.document));
        let saved = after.key().map(KmsKey::as_str);
        let says_so = |keys: &BTreeSet<String>| saved.map_or(keys.is_empty(), |key| keys.contains(key));
        if of_queue.iter().chain(&of_policy).any(says_so) {
            return None;
        }
        let live = of_policy.or(of_queue)?;
        let of = match self.router_policy {
            Some(policy) => ResourceId::RolePolicy(policy.role.clone(), policy.name.clone()),
            None => ResourceId::Queue(hub_queue),
        };
        let live = or_none(live.first().map(String::as_str));
        Some(difference("kms-key", or_none(saved), live, of))
    }

    fn path(&self, after: &HubOptions) -> Option<Difference> {
        let scope = &self.survey.scope;
        let role = scope.router_role();
        let saved = after.path();
        if self
            .function
            .is_some_and(|live| live.settings.role == scope.role_arn(&saved, &role))
        {
            return None;
        }
        let (live, of) = match (self.survey.observed.role(role.clone()), self.function) {
            (Some(role), _) => (role.path.clone(), self.role_id()),
            (None, Some(function)) => {
                let path = function.settings.role.split_once(":role").map(|(_, path)| path)?;
                let path: RolePath = path.strip_suffix(role.as_str())?.parse().ok()?;
                (path, self.function_id())
            }
            (None, None) => return None,
        };
        let differs = live != saved;
        differs.then(|| difference("role-path", vec![saved.to_string()], vec![live.to_string()], of))
    }

    /// Tags of the role and of the function can decide who may pass the one and change the other.
    fn tags(&self, after: &HubOptions) -> Option<Difference> {
        let saved = after.tags.as_ref().map(UserTags::tags)?;
        let role = self.survey.observed.role(self.survey.scope.router_role());
        let live: Vec<&Tags> = [role.map(|role| &role.tags), self.function.map(|live| &live.tags)]
            .into_iter()
            .flatten()
            .collect();
        let of = role.map_or_else(|| self.function_id(), |_| self.role_id());
        let is_live = |key: &str, value: &str| live.iter().any(|tags| tags.get(key) == Some(value));
        let confirmed: Vec<_> = saved.0.iter().filter(|(key, value)| is_live(key, value)).collect();
        let differs = !live.is_empty() && confirmed.len() < saved.0.len();
        differs.then(|| difference("tag", pairs(saved.0.iter()), pairs(confirmed.into_iter()), of))
    }

    /// A boundary that is added can stop the router. If someone took it from the role, the function has saved it too.
    fn added_boundary(&self, after: &HubOptions) -> Option<Difference> {
        let role = self.survey.observed.role(self.survey.scope.router_role())?;
        let saved = boundary_of(after)?;
        let confirmed = role.permissions_boundary.is_some() || self.copied_boundary() == Some(Some(saved.clone()));
        (!confirmed).then(|| {
            let saved = or_none(Some(saved.as_str()));
            difference("permissions-boundary", saved, or_none(None), self.role_id())
        })
    }

    /// A role that is missing has no boundary to compare with. The options are saved twice.
    fn boundary(&self, after: &HubOptions) -> Option<Refusal> {
        let role = self.survey.scope.router_role();
        if self.survey.observed.role(role.clone()).is_some() {
            return None;
        }
        let (saved, copy) = (boundary_of(after), self.copied_boundary());
        let confirmed = copy.as_ref().map_or(saved.is_none(), |copy| *copy == saved);
        (!confirmed).then_some(Refusal::UnconfirmedNewRole { role, saved, copy })
    }

    /// The boundary that the function has saved, unless that is the only copy of the options.
    fn copied_boundary(&self) -> Option<Option<PermissionsBoundary>> {
        let is_copy = matches!(self.survey.saved, SavedOptions::Kept { copy: true, .. });
        let function = self.function.filter(|_| !is_copy)?;
        Some(boundary_of(&HubOptions::saved(&function.tags).unwrap_or_default()))
    }
}

fn boundary_of(options: &HubOptions) -> Option<PermissionsBoundary> {
    options.permissions_boundary.as_ref()?.0.clone()
}
