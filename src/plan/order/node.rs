//! The facts about a step that decide its place.

use super::split::lowers_reserved;
use crate::model::field::FieldValue;
use crate::model::name::PolicyName;
use crate::model::resource::{Queue, Resource, ResourceId};
use crate::model::scope::Scope;
use crate::model::tags::CONTROLLER_ROLE;
use crate::model::{policy, queue_policy};
use crate::plan::{Change, FieldChange, Op};

/// The part of the hub that a resource is. Other resources depend on the part even if their current state does not show
/// it: a rule may have lost its target, a function its role.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The dead-letter queue, which saves the options of the hub.
    Memory,
    HubQueue,
    /// The queue to which the self-test of a router version sends.
    ProbeQueue,
    RouterRole,
    RouterPolicy,
    Other,
}

impl Part {
    fn of(scope: &Scope, id: &ResourceId) -> Self {
        match id {
            ResourceId::Queue(queue) if *queue == scope.dead_letter_queue() => Self::Memory,
            ResourceId::Queue(queue) if *queue == scope.hub_queue() => Self::HubQueue,
            ResourceId::Queue(queue) if *queue == scope.probe_queue() => Self::ProbeQueue,
            ResourceId::Role(role) if *role == scope.router_role() => Self::RouterRole,
            ResourceId::RolePolicy(role, policy)
                if *role == scope.router_role() && *policy == scope.router_policy() =>
            {
                Self::RouterPolicy
            }
            ResourceId::Queue(_)
            | ResourceId::Role(_)
            | ResourceId::RolePolicy(..)
            | ResourceId::LogGroup(_)
            | ResourceId::Function(_)
            | ResourceId::Alias(..)
            | ResourceId::EventSourceMapping(..)
            | ResourceId::Rule(_) => Self::Other,
        }
    }
}

/// A step without a place, and the facts that decide its place.
pub(super) struct Node {
    pub(super) change: usize,
    /// The number of the step within its change.
    pub(super) turn: usize,
    pub(super) op: Op,
    pub(super) part: Part,
    /// For a cluster's queue: the name of the policy of the cluster's controller, on any role.
    pub(super) policy: Option<PolicyName>,
    /// Whether the step removes a saved role from a queue.
    pub(super) forgets_a_role: bool,
    /// Whether the step lowers the reserved concurrency of a function.
    pub(super) lowers_reserved: bool,
    /// Whether the step lets a rule send as EventBridge, instead of as a role, which a lock of the hub queue denies.
    pub(super) drops_role: bool,
    /// Whether the step locks the hub queue, and EventBridge could send to it before.
    pub(super) locks_hub: bool,
    /// For a queue's encryption and for a policy: its effect on customer keys.
    pub(super) key: KeyStep,
}

/// The effect of a step on customer keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyStep {
    /// It changes or sets the encryption of a queue.
    Encrypts,
    /// It allows a key in a policy that was or is in use.
    Opens,
    Nothing,
}

impl KeyStep {
    /// The effect of a step of this change on keys.
    fn of(op: &Op, change: &Change) -> Self {
        match (op, &change.before) {
            (Op::Create(Resource::Queue(_)), _) => Self::Encrypts,
            (Op::Update { fields, .. }, _) if fields.iter().any(|field| field.path == Queue::ENCRYPTION) => {
                Self::Encrypts
            }
            // A recreated policy continues from the one before.
            (
                Op::Create(Resource::RolePolicy(to))
                | Op::Update {
                    to: Resource::RolePolicy(to),
                    ..
                },
                Some(Resource::RolePolicy(before)),
            ) if !policy::keys(&to.document).is_subset(&policy::keys(&before.document)) => Self::Opens,
            (Op::Create(_) | Op::Update { .. } | Op::Delete(_), _) => Self::Nothing,
        }
    }
}

impl Node {
    pub(super) fn new(scope: &Scope, (place, change): (usize, &Change), turn: usize, op: Op) -> Self {
        let part = Part::of(scope, &op.id());
        let policy = match op.resource() {
            Resource::Queue(queue) => queue
                .tags
                .cluster_of(&scope.bus)
                .map(|cluster| scope.controller_policy(&cluster)),
            _ => None,
        };
        let role_tag = format!("tags.{CONTROLLER_ROLE}");
        let forgets = |field: &FieldChange| field.path == role_tag && field.from != FieldValue::Unset;
        Self {
            change: place,
            turn,
            key: KeyStep::of(&op, change),
            part,
            policy,
            lowers_reserved: match &op {
                Op::Update { from, to, .. } => match (from.as_ref(), to) {
                    (Resource::Function(from), Resource::Function(to)) => lowers_reserved(from, to),
                    _ => false,
                },
                Op::Create(_) | Op::Delete(_) => false,
            },
            drops_role: drops_role(&op),
            locks_hub: part == Part::HubQueue && locks(&op),
            forgets_a_role: matches!(&op, Op::Update { fields, .. } if fields.iter().any(forgets)),
            op,
        }
    }

    pub(super) fn resource(&self) -> &Resource {
        self.op.resource()
    }

    /// The name of the controller's policy, if it is about one cluster: its queue, or that policy.
    pub(super) fn cluster(&self) -> Option<&PolicyName> {
        match self.resource() {
            _ if self.part != Part::Other => None,
            Resource::RolePolicy(policy) => Some(&policy.name),
            _ => self.policy.as_ref(),
        }
    }
}

fn drops_role(op: &Op) -> bool {
    let Op::Update { from, to, .. } = op else { return false };
    let (Resource::Rule(from), Resource::Rule(to)) = (from.as_ref(), to) else {
        return false;
    };
    match (&from.target, &to.target) {
        (Some(from), Some(to)) => from.arn == to.arn && from.role.is_some() && to.role.is_none(),
        _ => false,
    }
}

fn locks(op: &Op) -> bool {
    let Op::Update { from, to, .. } = op else { return false };
    let (Resource::Queue(from), Resource::Queue(to)) = (from.as_ref(), to) else {
        return false;
    };
    match (&from.policy, &to.policy) {
        (Some(from), Some(to)) => queue_policy::only_locks(from, to),
        _ => false,
    }
}
