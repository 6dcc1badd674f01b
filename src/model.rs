//! Values: names, documents, resources, options, and the desired resources of a hub and a cluster. Pure: nothing here
//! is `async`, and nothing accepts a client.

pub mod answer;
pub mod cluster;
pub mod document;
pub mod event_rule;
pub mod hub;
pub mod instance;
pub mod karpenter;
pub mod name;
pub mod notation;
pub mod options;
pub mod policy;
#[cfg(test)]
pub(crate) mod readings;
pub mod record;
pub mod region;
pub mod resource;
pub mod router_batch;
pub mod router_build;
pub mod router_function;
pub mod router_line;
pub mod scope;
pub mod settings;
pub mod signal;
pub mod status;
#[cfg(test)]
pub(crate) mod table;
pub mod tags;
pub mod watch;
mod words;

pub use answer::{Fact, Fault, FaultKind, MOST_PAGES, Slowdown, TopicAttributes, TopicKey, slowed_by};
pub use document::{Document, fill_template, principals, texts};
pub use event_rule::{EventRule, ListedTarget, RulePattern, rule_limit};
pub use hub::{Hub, default_queue_template};
pub use instance::{Instance, NamedCluster};
pub use karpenter::{
    Association, RoleCandidates, RoleTemplate, is_usual_role, similar_roles, template_of, usual_roles,
};
pub use name::{
    AccountId, BusName, ClusterName, FunctionName, InstanceId, KmsKey, LogGroupName, NameError, Partition,
    PermissionsBoundary, QueueName, QueueTemplate, Region, RoleName, RolePath, RuleName, Topic,
};
pub use notation::{
    as_time, by_count, count_key, counted, duration_text, first_of, now, parse_duration, parse_time, time_text,
};
pub use options::{Alarms, Bounded, ClusterMetrics, HubOptions, OrNone, OutOfBounds, UserTag, tag_option};
pub use record::{ClusterRecord, Maker};
pub use resource::finding_code::{self, FindingCode, Severity};
pub use resource::{
    Alarm, AlarmField, AlarmName, Alias, AliasField, Architecture, Code, Dashboard, DashboardField, DashboardName,
    Desired, Edge, Effect, Encryption, EventSourceMapping, Field, FieldName, FieldValue, Function, FunctionField,
    FunctionMapping, FunctionPermission, FunctionSettings, Kind, LogGroup, LogGroupField, Logging, MappingField,
    NoRollbackVersion, Observed, Other, Ownership, Parameter, ParameterField, ParameterName, Particulars, PolicyName,
    Queue, QueueField, Record, RecordField, Redrive, Resource, ResourceId, Role, RoleField, RolePolicy, Rule,
    RuleField, RuleTarget, Standing, Unit, WARM_UP, calls,
};
pub use router_batch::{RouterAnswer, RouterDecision, SqsAttributes, SqsEvent, SqsRecord};
pub use router_function::{LiveTest, RouterHandler, SelfTestProblem, SelfTestReport};
pub use router_line::{NodePoolName, RouterLine};
pub use scope::{GlobalOptions, Scope};
pub(crate) use scope::{dns_suffix, partition_of};
pub use settings::{BadDocument, Moment, Settings};
pub use signal::{Signal, SubjectMember, sample_event, short_name};
pub use status::{
    AlarmState, Depth, DroppedClusters, DroppedEvents, HubActivity, LastEvents, LoggedEvent, MappingState, ProbeResult,
    Probed, QueueActivity, Status, VersionState,
};
pub use tags::Tags;
