//! The kinds of resource that kibus knows: a closed set with one table of facts, and one file per kind; desired resources, and the
//! answers to reading resources.
//!
//! Desired and observed resources have the same type. The `fields` of a kind name every field of the type, so the compiler
//! rejects a new field until someone decides whether it is compared.

mod alarm;
mod alias;
pub mod calls;
mod dashboard;
mod event_source_mapping;
pub mod finding_code;
mod function;
mod log_group;
mod parameter;
mod particulars;
mod queue;
mod record;
mod role;
mod role_policy;
mod rule;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use alarm::{Alarm, AlarmField, AlarmName, WARM_UP};
pub use alias::{Alias, AliasField, NoRollbackVersion};
pub use dashboard::{Dashboard, DashboardField, DashboardName};
pub use event_source_mapping::{EventSourceMapping, FunctionMapping, MappingField};
pub use function::{Architecture, Code, Function, FunctionField, FunctionPermission, FunctionSettings, Logging};
pub use log_group::{LogGroup, LogGroupField};
pub use parameter::{Parameter, ParameterField, ParameterName, SETTINGS_PATH};
pub use particulars::{Edge, Effect, Field, FieldName, FieldValue, Other, Ownership, Particulars, Tie, Unit};
pub use queue::{AGE_SLACK, Encryption, LARGEST_EVENT, Queue, QueueField, Redrive, Standing};
pub use record::{Record, RecordField};
pub use role::{Role, RoleField};
pub use role_policy::{PolicyName, RolePolicy, RolePolicyField};
pub use rule::{Rule, RuleField, RuleTarget};

use super::answer::{Fact, Fault};
use super::name::{FunctionName, LogGroupName, QueueName, RoleName, RuleName};
use super::scope::Scope;
use super::tags::Tags;
use finding_code::FindingCode;

// For each kind: the parts of its id, its accessors, its word in JSON, its word in text, its name, and its tags if
// kibus tags it; then the codes of its findings (missing and changed, of the hub or of a cluster), which `finding_code`
// reads.
macro_rules! with_kinds {
    ($then:ident) => { $then! {
        Parameter(name: ParameterName) {parameter, as_parameter, "parameter", "parameter", name.to_string()} [
            SettingsMissing("K113", Critical, "events are routed, but kibus does not know the settings of the hub and changes nothing"),
            TagsChanged("K209", Error, "routing is unchanged; kibus and its policies use tags to identify the resources of a bus"),
        ];
        /// The proof that a cluster is on the bus.
        Record(name: ParameterName) {record, as_record, "record", "record", name.to_string()} [
            ClusterNotRecorded("K116", Critical, "the cluster is not on the bus: its events are dropped, and its Karpenter receives no interruption events"),
            RecordChanged("K214", Error, "a change to this cluster was interrupted: a role that it had before may still be able to read its queue"),
        ];
        Queue(name: QueueName) {queue, as_queue, "queue", "queue", name.to_string(), tags} [
            HubQueueMissing("K101", Critical, "events cannot pass through the hub, or are lost if they cannot be delivered"),
            HubQueueChanged("K201", Critical, "events may be rejected or lost early, or others may read or forge them"),
        ] or [
            ClusterQueueMissing("K110", Critical, "the cluster's events are dropped, and its Karpenter receives no interruption events"),
            ClusterQueueChanged("K210", Critical, "this cluster's events may be lost early, or others may read or forge them"),
        ];
        Role(name: RoleName) {role, as_role, "role", "role", name.to_string(), tags} [
            RoleMissing("K102", Critical, "the router cannot run, and events pile up in the hub queue"),
            RoleChanged("K202", Critical, "the router may be unable to run, or other principals may be able to assume its role"),
        ];
        RolePolicy(role: RoleName, name: PolicyName) {role_policy, as_role_policy, "role-policy", "role policy",
                if role.as_str() == name.as_str() { name.to_string() } else { format!("{role}/{name}") }
            } [
            RouterPolicyMissing("K103", Critical, "the router has no permissions, and events pile up in the hub queue"),
            RouterPolicyChanged("K203", Critical, "the router may fail to deliver, or has permissions that it does not need"),
        ] or [
            ControllerPolicyMissing("K111", Critical, "this Karpenter cannot read its queue and receives no interruption events"),
            ControllerPolicyChanged("K211", Critical, "this Karpenter may not be able to read its queue, or has permissions that it does not need"),
        ];
        LogGroup(name: LogGroupName) {log_group, as_log_group, "log-group", "log group", name.to_string(), tags} [
            LogGroupMissing("K104", Error, "dropped events and their reasons are not logged, and the router's metrics stop"),
            LogGroupChanged("K204", Error, "the retention of the router's log differs from the configuration"),
        ];
        Function(name: FunctionName) {function, as_function, "function", "function", name.to_string(), tags} [
            FunctionMissing("K105", Critical, "no event is routed, and events pile up in the hub queue"),
            FunctionChanged("K205", Error, "the router may be slow, fail, or route to the wrong place"),
        ];
        Alias(function: FunctionName, name: String) {alias, as_alias, "alias", "alias", format!("{function}:{name}")} [
            AliasMissing("K106", Critical, "no event is routed, and events pile up in the hub queue"),
            AliasChanged("K206", Error, "the settings of the live version differ from the configuration"),
        ];
        /// Makes Lambda read a queue: from this queue, to this alias of a function.
        EventSourceMapping(queue: QueueName, function: FunctionName, alias: String)
            {mapping, as_mapping, "event-source-mapping", "mapping", format!("{queue} -> {function}:{alias}")} [
            MappingMissing("K107", Critical, "nothing reads the hub queue, and events pile up in it"),
            MappingChanged("K207", Error, "events may be delivered late, or lost if they cannot be routed immediately"),
        ];
        /// An EventBridge rule on the default bus, with its one target.
        Rule(name: RuleName) {rule, as_rule, "rule", "rule", name.to_string(), tags} [
            RuleMissing("K108", Critical, "events of this kind reach no cluster at all"),
            RuleChanged("K208", Critical, "events that the rule no longer matches reach no cluster"),
        ];
        Alarm(name: AlarmName) {alarm, as_alarm, "alarm", "alarm", name.to_string(), tags} [
            AlarmMissing("K114", Error, "nobody is notified of the problem that the alarm watches for"),
            AlarmChanged("K212", Error, "the alarm may fire late, without reason, or not at all"),
        ];
        Dashboard(name: DashboardName) {dashboard, as_dashboard, "dashboard", "dashboard", name.to_string()} [
            DashboardMissing("K115", Error, "no dashboard shows the metrics of the bus; events are still routed"),
            DashboardChanged("K213", Error, "the dashboard may not show the metrics of the bus; events are still routed"),
        ];
    } };
}
use with_kinds;

macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident($($key:ident: $type:ty),+)
        {$accessor:ident, $as:ident, $word:literal, $label:literal, $name:expr $(, $tags:ident)?}
        [$missing:ident $m:tt, $changed:ident $c:tt,] $(or [$of_one_missing:ident $mo:tt, $of_one_changed:ident $co:tt,])?;
    )*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The codes of the findings for a missing resource and for one with different settings.
            pub fn codes(self, of_cluster: bool) -> [FindingCode; 2] {
                match self {
                    $($(Self::$kind if of_cluster => [FindingCode::$of_one_missing, FindingCode::$of_one_changed],)?)*
                    $(Self::$kind => [FindingCode::$missing, FindingCode::$changed],)*
                }
            }
        }

        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ResourceId {
            $($(#[$doc])* $kind($($type),+),)*
        }

        impl ResourceId {
            /// Every kind, as JSON output names it.
            pub const KINDS: &[&str] = &[$($word),*];

            pub fn of_kind(&self) -> Kind {
                match self {
                    $(Self::$kind(..) => Kind::$kind,)*
                }
            }

            /// The kind, as JSON output names it.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$kind(..) => $word,)*
                }
            }

            /// The kind, as text output names it.
            pub fn label(&self) -> &'static str {
                match self {
                    $(Self::$kind(..) => $label,)*
                }
            }

            pub fn name(&self) -> String {
                match self {
                    $(Self::$kind($($key),+) => $name,)*
                }
            }
        }

        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Resource {
            $($(#[$doc])* $kind($kind),)*
        }

        impl Resource {
            pub fn id(&self) -> ResourceId {
                match self {
                    $(Self::$kind(r) => ResourceId::$kind($(r.$key.clone()),+),)*
                }
            }

            /// Everything that is compared and shown, except the name and the tags.
            pub fn fields(&self) -> Vec<Field> {
                match self {
                    $(Self::$kind(r) => r.fields(),)*
                }
            }

            /// Its tags; nothing for a kind that kibus does not tag.
            pub fn tags(&self) -> Option<&Tags> {
                match self {
                    $(Self::$kind($kind { $($tags,)? .. }) => None$(.or(Some($tags)))?,)*
                }
            }

            pub fn tags_mut(&mut self) -> Option<&mut Tags> {
                match self {
                    $(Self::$kind($kind { $($tags,)? .. }) => None$(.or(Some($tags)))?,)*
                }
            }

            pub fn particulars(&self) -> &dyn Particulars {
                match self {
                    $(Self::$kind(r) => r,)*
                }
            }

            $(
                #[doc = concat!("The ", $label, ", if it is one.")]
                pub fn $as(&self) -> Option<&$kind> {
                    match self {
                        Self::$kind(r) => Some(r),
                        _ => None,
                    }
                }
            )*
        }

        impl Observed {
            $(
                #[doc = concat!("The ", $label, " of this name, if it was read and exists.")]
                pub fn $accessor(&self, $($key: $type),+) -> Option<&$kind> {
                    self.resource(&ResourceId::$kind($($key),+))?.$as()
                }
            )*
        }
    };
}

with_kinds!(kinds);

impl Resource {
    /// The resources that its steps are ordered against, on the bus of this scope. The settings are written before
    /// everything that follows from them, and entries are removed from them last.
    pub fn edges(&self, scope: &Scope) -> Vec<Edge> {
        let settings = || ResourceId::Parameter(scope.settings_parameter());
        if self.id() == settings() {
            return Vec::new();
        }
        let mut edges = self.particulars().edges(scope);
        let because = "everything follows from the settings of the hub, which list a resource until it is gone";
        edges.push(Tie::FollowsFrom.to(settings(), because));
        edges
    }
}

fn last(text: &str, separator: char) -> &str {
    text.rsplit(separator).next().unwrap_or(text)
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind().replace('-', " "), self.name())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    resources: BTreeMap<ResourceId, Resource>,
    /// The keys of user tags to remove. Kibus removes no other tags of others.
    untagged: BTreeMap<ResourceId, BTreeSet<String>>,
}

impl Desired {
    /// Adds a resource, replacing any with the same id.
    pub fn insert(&mut self, resource: Resource) {
        self.resources.insert(resource.id(), resource);
    }

    pub fn remove(&mut self, id: &ResourceId) {
        self.resources.remove(id);
    }

    /// Removes the tags with these keys from a resource, unless they are desired.
    pub fn untag(&mut self, id: ResourceId, keys: impl IntoIterator<Item = String>) {
        self.untagged.entry(id).or_default().extend(keys);
    }

    pub fn untagged(&self, id: &ResourceId) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.untagged.get(id).unwrap_or(&NONE)
    }

    pub fn extend(&mut self, other: Self) {
        self.resources.extend(other.resources);
        for (id, keys) in other.untagged {
            self.untag(id, keys);
        }
    }

    pub fn get(&self, id: &ResourceId) -> Option<&Resource> {
        self.resources.get(id)
    }

    pub fn ids(&self) -> impl Iterator<Item = &ResourceId> {
        self.resources.keys()
    }

    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }
}

impl FromIterator<Resource> for Desired {
    fn from_iter<I: IntoIterator<Item = Resource>>(iter: I) -> Self {
        Self { resources: iter.into_iter().map(|r| (r.id(), r)).collect(), untagged: BTreeMap::new() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed(BTreeMap<ResourceId, Fact<Resource>>);

impl Observed {
    /// Records the answer for one id. A question without an answer is not recorded.
    pub fn insert(&mut self, id: ResourceId, answer: Fact<Resource>) {
        self.0.extend(answer.is_asked().then_some((id, answer)));
    }

    pub fn remove(&mut self, id: &ResourceId) {
        self.0.remove(id);
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The answer for one id; [`Fact::NotAsked`] if it was never read.
    pub fn get(&self, id: &ResourceId) -> &Fact<Resource> {
        self.0.get(id).unwrap_or(const { &Fact::NotAsked })
    }

    pub fn resource(&self, id: &ResourceId) -> Option<&Resource> {
        self.get(id).present()
    }

    /// Every resource that exists.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.0.values().filter_map(Fact::present)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&ResourceId, &Fact<Resource>)> {
        self.0.iter()
    }

    pub fn faults(&self) -> impl Iterator<Item = (&ResourceId, &Fault)> {
        self.0.iter().filter_map(|(id, answer)| Some((id, answer.fault()?)))
    }
}

impl FromIterator<(ResourceId, Fact<Resource>)> for Observed {
    fn from_iter<I: IntoIterator<Item = (ResourceId, Fact<Resource>)>>(iter: I) -> Self {
        Self(iter.into_iter().filter(|(_, answer)| answer.is_asked()).collect())
    }
}
