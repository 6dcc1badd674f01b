//! What confirms a saved option: settings of the hub's resources, which someone who may only tag cannot write.

use crate::model::name::RolePath;
use crate::model::policy;
use crate::model::policy::queue_policy::is_locked;
use crate::model::resource::{Resource, ResourceId};
use crate::model::router_function::router_handler::RouterHandler;
use crate::model::scope::Scope;
use crate::model::tags::Tags;

/// Something that says what an option of the hub is.
#[derive(Clone, Copy, Debug)]
pub enum Witness {
    /// A setting of a resource: which resource, and what it says.
    Setting(fn(&Scope) -> ResourceId, Says),
    /// The option as the function has saved it, if that is not the only place. Few may tag both.
    TagOfFunction,
}

/// The values that a resource says, as one types them, given those that are saved.
pub type Says = fn(&Scope, &Resource, &[String]) -> Option<Vec<String>>;

impl Witness {
    /// The resource that must be read.
    #[must_use]
    pub fn id(self, scope: &Scope) -> ResourceId {
        match self {
            Self::Setting(id, _) => id(scope),
            Self::TagOfFunction => function(scope),
        }
    }
}

pub(super) fn hub_queue(scope: &Scope) -> ResourceId {
    ResourceId::Queue(scope.hub_queue())
}

pub(super) fn role(scope: &Scope) -> ResourceId {
    ResourceId::Role(scope.router_role())
}

pub(super) fn router_policy(scope: &Scope) -> ResourceId {
    ResourceId::RolePolicy(scope.router_role(), scope.router_policy())
}

pub(super) fn function(scope: &Scope) -> ResourceId {
    ResourceId::Function(scope.router_function())
}

/// The prefix of the queues that the router serves.
pub(super) const PREFIX_OF_FUNCTION: Witness = Witness::Setting(function, |_, it, _| {
    let handler = RouterHandler::of(&it.as_function()?.settings)?;
    Some(vec![handler.prefix.to_string()])
});

pub(super) const PREFIX_OF_POLICY: Witness = Witness::Setting(router_policy, |scope, it, _| {
    let prefix = policy::router_prefix(scope, &it.as_role_policy()?.document)?;
    Some(vec![prefix.to_string()])
});

/// The key of the hub queue.
pub const KEY_OF_QUEUE: Witness =
    Witness::Setting(hub_queue, |_, it, _| Some(or_none(it.as_queue()?.encryption.key())));

/// The key that the router may use. An old key that it still may use is no evidence: a tag could bring it back.
pub(super) const KEY_OF_POLICY: Witness = Witness::Setting(router_policy, |_, it, _| {
    Some(or_none(policy::current_keys(&it.as_role_policy()?.document)))
});

pub(super) const BOUNDARY_OF_ROLE: Witness = Witness::Setting(role, |_, it, _| {
    Some(or_none(it.as_role()?.permissions_boundary.as_ref()))
});

pub(super) const PATH_OF_ROLE: Witness = Witness::Setting(role, |_, it, _| Some(vec![it.as_role()?.path.to_string()]));

/// The path of the role that the function runs as.
pub(super) const PATH_OF_FUNCTION: Witness = Witness::Setting(function, |scope, it, _| {
    let (arn, role) = (&it.as_function()?.settings.role, scope.router_role());
    let (_, path) = arn.split_once(":role")?;
    let path: RolePath = path.strip_suffix(role.as_str())?.parse().ok()?;
    (scope.role_arn(&path, &role) == *arn).then(|| vec![path.to_string()])
});

/// The user's tags that the router role has. Tags of the role and of the function can decide who may pass the one and
/// change the other.
pub(super) const TAGS_OF_ROLE: Witness = Witness::Setting(role, |_, it, saved| Some(live(it.tags()?, saved)));

pub(super) const TAGS_OF_FUNCTION: Witness = Witness::Setting(function, |_, it, saved| Some(live(it.tags()?, saved)));

/// The user's tags whose keys the router role has.
pub(super) const TAG_KEYS_OF_ROLE: Witness = Witness::Setting(role, |_, it, saved| {
    let tags = it.tags()?;
    let is_live = |pair: &&String| pair.split_once('=').is_some_and(|(key, _)| tags.get(key).is_some());
    Some(or_none(saved.iter().filter(is_live)))
});

pub(super) const LOCK_OF_QUEUE: Witness = Witness::Setting(hub_queue, |_, it, _| {
    let policy = it.as_queue()?.policy.as_ref();
    Some(vec![policy.is_some_and(is_locked).to_string()])
});

fn live(tags: &Tags, saved: &[String]) -> Vec<String> {
    let is_live = |pair: &&String| {
        pair.split_once('=')
            .is_some_and(|(key, value)| tags.get(key) == Some(value))
    };
    or_none(saved.iter().filter(is_live))
}

/// Values as one types them; `none` if there are none.
pub(super) fn or_none(values: impl IntoIterator<Item: ToString>) -> Vec<String> {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    match values.is_empty() {
        true => vec!["none".to_owned()],
        false => values,
    }
}
