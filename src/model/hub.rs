//! The hub: from its settings to its desired resources, and from its resources back to the options.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::model::{
    Alarms, Alias, Code, Desired, Document, Encryption, EventSourceMapping, Function, FunctionSettings, HubOptions,
    KmsKey, LogGroup, Logging, Observed, OrNone, Parameter, Queue, QueueName, QueueTemplate, Redrive, Resource,
    ResourceId, Role, RolePolicy, RouterHandler, Rule, RuleName, RuleTarget, Scope, Settings, Signal, Tags,
    fill_template,
    policy::{self, KeyUse},
    resource::LARGEST_EVENT,
    scope::LIVE,
    tag_option,
    tags::{CLUSTER, NAMESPACE},
    watch,
};

/// The cluster tag of the probe queue: the router sends only to queues with that tag, and no cluster can have this name.
const PROBE_CLUSTER: &str = "-";

/// The longest invocation of the router, in seconds.
const FUNCTION_TIMEOUT: u32 = 10;

/// The largest batch that Lambda passes to the router. A larger one would need a batching window, and with a window
/// Lambda may wait up to 20 seconds for a batch from a quiet queue (Lambda developer guide, "Using Lambda with Amazon
/// SQS").
pub(crate) const BATCH_SIZE: u32 = 10;

/// How often a message can be received from the hub queue before it becomes a dead letter.
pub(crate) const RECEIVES: u32 = 20;

/// How often EventBridge sends a heartbeat. The alarm on silence fires after three missed heartbeats.
const HEARTBEAT_SCHEDULE: &str = "rate(5 minutes)";

/// The maximum number of concurrent router invocations, unless fewer are reserved. Lambda accepts 2 or more. With more
/// than 5, EC2 throttles more calls when many events arrive within a minute, because each environment of the function
/// has its own cache.
pub(crate) const MAXIMUM_CONCURRENCY: u32 = 5;

/// The longest retention of SQS, in seconds. The age of a dead letter counts from its first send.
const DEAD_LETTER_RETENTION: u32 = 1_209_600;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    scope: Scope,
    settings: Settings,
    code: Code,
}

impl Hub {
    pub fn new(scope: &Scope, settings: impl Into<Settings>, code: Code) -> Self {
        Self { scope: scope.clone(), settings: settings.into(), code }
    }

    fn options(&self) -> &HubOptions {
        &self.settings.options
    }

    pub fn desired(&self) -> Desired {
        let settings = self.function_settings();
        let policy = policy::router_policy(&self.scope, self.options());
        let mut desired: Desired = [
            Resource::Parameter(Parameter {
                name: self.scope.settings_parameter(),
                settings: Ok(self.settings.clone()),
                version: 0,
                tags_of_new: self.tags(),
            }),
            Resource::Queue(self.dead_letter_queue()),
            Resource::Queue(self.hub_queue()),
            Resource::Queue(cluster_queue(
                &self.scope,
                self.scope.probe_queue(),
                self.options(),
                self.tags().with(CLUSTER, PROBE_CLUSTER),
            )),
            Resource::Role(self.role()),
            Resource::RolePolicy(RolePolicy {
                role: self.scope.router_role(),
                name: self.scope.router_policy(),
                document: policy::with_old_keys(policy, KeyUse::Route, &self.scope, &self.settings.old_keys()),
            }),
            Resource::LogGroup(LogGroup {
                name: self.scope.router_log_group(),
                retention_days: Some(self.options().log_retention().days()),
                account_policy: None,
                protected: false,
                tags: self.tags(),
            }),
            Resource::Function(Function {
                name: self.scope.router_function(),
                settings: settings.clone(),
                reserved_concurrency: self.options().reserved(),
                failed_update: None,
                failed: None,
                tags: self.tags(),
            }),
            Resource::Alias(Alias {
                function: self.scope.router_function(),
                name: LIVE.to_owned(),
                settings,
                version: None,
                moves_to: None,
                shares: BTreeSet::new(),
                versions: BTreeSet::new(),
                revision: None,
            }),
            Resource::EventSourceMapping(EventSourceMapping {
                queue: self.scope.hub_queue(),
                function: self.scope.router_function(),
                alias: LIVE.to_owned(),
                batch_size: BATCH_SIZE,
                window: 0,
                maximum_concurrency: Some(self.maximum_concurrency()),
                report_batch_item_failures: true,
                enabled: true,
                filters: BTreeSet::new(),
                duplicates: Vec::new(),
            }),
        ]
        .into_iter()
        .collect();
        desired.extend(self.signals().map(|signal| Resource::Rule(self.rule(signal))).collect());
        if self.options().has_alarms() {
            desired.extend(watch::alarms(&self.scope, self.options()).into_iter().collect());
        }
        if self.options().dashboard == Some(true) {
            desired.insert(Resource::Dashboard(watch::dashboard(&self.scope, self.options())));
        }
        desired
    }

    /// The maximum concurrency of the mapping: no more than the reserved concurrency of the function. Lambda does not
    /// compare the two: it would receive messages that it cannot pass on, and each such receive brings a message closer
    /// to becoming a dead letter (Lambda developer guide, "Configuring scaling behavior for SQS event source
    /// mappings").
    fn maximum_concurrency(&self) -> u32 {
        self.options().reserved().unwrap_or(u32::MAX).min(MAXIMUM_CONCURRENCY)
    }

    fn signals(&self) -> impl Iterator<Item = Signal> {
        let all = Signal::ALL.into_iter();
        all.filter(|signal| self.options().has_rule(*signal))
    }

    fn tags(&self) -> Tags {
        Tags::of_bus(&self.scope.bus).with_all(&self.options().tags())
    }

    fn dead_letter_queue(&self) -> Queue {
        Queue {
            retention: DEAD_LETTER_RETENTION,
            redrive_allow: Some(policy::redrive_from(&self.scope, &self.scope.hub_queue())),
            policy: Some(self.queue_policy(&self.scope.dead_letter_queue())),
            ..queue(self.scope.dead_letter_queue(), self.options().key(), self.tags())
        }
    }

    fn hub_queue(&self) -> Queue {
        Queue {
            retention: self.options().retention().get(),
            visibility: 6 * FUNCTION_TIMEOUT,
            redrive: Some(Redrive {
                dead_letters: self.scope.queue_arn(&self.scope.dead_letter_queue()),
                max_receives: RECEIVES,
            }),
            policy: Some(self.queue_policy(&self.scope.hub_queue())),
            ..queue(self.scope.hub_queue(), self.options().key(), self.tags())
        }
    }

    fn queue_policy(&self, queue: &QueueName) -> Document {
        let rules: BTreeSet<RuleName> = self.signals().map(|signal| self.scope.rule(signal)).collect();
        policy::hub_queue_policy(&self.scope, queue, rules.iter())
    }

    fn role(&self) -> Role {
        Role {
            name: self.scope.router_role(),
            path: self.options().role_path(),
            trust: policy::router_trust(),
            permissions_boundary: self.options().boundary().cloned(),
            tags: self.tags(),
        }
    }

    fn function_settings(&self) -> FunctionSettings {
        FunctionSettings {
            role: self.scope.role_arn(&self.options().role_path(), &self.scope.router_role()),
            runtime: "provided.al2023".to_owned(),
            architecture: self.options().architecture(),
            handler: RouterHandler::of_hub(&self.scope.bus, self.options()).to_string(),
            memory: self.options().memory().get(),
            timeout: FUNCTION_TIMEOUT,
            environment: BTreeMap::new(),
            code: self.code.clone(),
            logging: Logging { group: self.scope.router_log_group().to_string(), format: "Text".to_owned() },
            extras: BTreeSet::new(),
        }
    }

    fn rule(&self, signal: Signal) -> Rule {
        let is_heartbeat = signal == Signal::Heartbeat;
        Rule {
            name: self.scope.rule(signal),
            description: signal.description().to_owned(),
            pattern: signal.pattern(&self.scope.account),
            schedule: is_heartbeat.then(|| HEARTBEAT_SCHEDULE.to_owned()),
            enabled: true,
            target: Some(RuleTarget {
                arn: self.scope.queue_arn(&self.scope.hub_queue()),
                retry_age: 300,
                retries: 185,
                dead_letters: Some(self.scope.queue_arn(&self.scope.dead_letter_queue())),
                rewrite: is_heartbeat.then(|| self.heartbeat()),
                role: None,
                message_group: None,
            }),
            foreign_targets: BTreeSet::new(),
            tags: self.tags(),
        }
    }

    /// The input for the schedule's target, because a target cannot set the source and detail type of an event.
    fn heartbeat(&self) -> Document {
        let scope = [("account", self.scope.account.as_str().into()), ("region", self.scope.region.as_str().into())];
        fill_template(include_str!("../../templates/heartbeat.json"), &scope)
    }
}

/// The ids of all resources that a hub may have: the resources of every hub, and the optional parts that one of these
/// options requests. All must be read to know what exists. Other hubs need no permissions and no calls for the optional
/// parts.
pub fn ids<'a>(scope: &Scope, requested: impl IntoIterator<Item = &'a HubOptions>) -> BTreeSet<ResourceId> {
    let mut ids = BTreeSet::from([
        ResourceId::Parameter(scope.settings_parameter()),
        ResourceId::Queue(scope.dead_letter_queue()),
        ResourceId::Queue(scope.hub_queue()),
        ResourceId::Queue(scope.probe_queue()),
        ResourceId::Role(scope.router_role()),
        ResourceId::RolePolicy(scope.router_role(), scope.router_policy()),
        ResourceId::LogGroup(scope.router_log_group()),
        ResourceId::Function(scope.router_function()),
        ResourceId::Alias(scope.router_function(), LIVE.to_owned()),
        ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned()),
    ]);
    let mut signals: BTreeSet<Signal> = Signal::ALL.into_iter().filter(|signal| *signal != Signal::Heartbeat).collect();
    for options in requested {
        if options.has_alarms() {
            ids.extend(watch::alarm_ids(scope, options));
        }
        if options.dashboard == Some(true) {
            ids.insert(ResourceId::Dashboard(scope.dashboard()));
        }
        signals.extend(Signal::ALL.into_iter().filter(|signal| options.has_rule(*signal)));
    }
    ids.extend(signals.into_iter().map(|signal| ResourceId::Rule(scope.rule(signal))));
    ids
}

/// The options that the resources of a hub show, where they differ from the defaults.
pub fn live_options(scope: &Scope, live: &Observed) -> HubOptions {
    let default = HubOptions::default();
    let queue = live.queue(scope.hub_queue());
    let role = live.role(scope.router_role());
    let router_policy = live.role_policy(scope.router_role(), scope.router_policy());
    let function = live.function(scope.router_function());
    let log_group = live.log_group(scope.router_log_group()).filter(|group| group.account_policy.is_none());
    let is_of_user = |key: &String| !key.starts_with(NAMESPACE) && !key.starts_with("aws:");
    let mut tags = queue.map(|queue| queue.tags.0.clone()).unwrap_or_default();
    tags.retain(|key, _| is_of_user(key));
    let handler = function.and_then(|function| RouterHandler::from_settings(&function.settings));
    let topic = handler.as_ref().and_then(|handler| handler.notify.clone());
    let has_rule = |signal: Signal| live.rule(scope.rule(signal)).is_some();
    let alarms = live.resources().filter_map(Resource::as_alarm);
    let ours = alarms.filter(|alarm| alarm.tags.belong_to(&scope.bus));
    let (of_clusters, of_hub): (Vec<_>, Vec<_>) = ours.partition(|alarm| alarm.tags.get(CLUSTER).is_some());
    let alarms = of_hub.first().map(|alarm| alarm.definition.value()["AlarmActions"][0].as_str());
    HubOptions {
        tag: (!tags.is_empty()).then(|| tag_option(Tags(tags))),
        kms_key: queue.and_then(|queue| queue.encryption.key()?.parse().ok()),
        retention: differing(queue.map(|queue| queue.retention), &default.retention()),
        permissions_boundary: role
            .and_then(|role| role.permissions_boundary.clone())
            .map(|boundary| OrNone(Some(boundary))),
        role_path: differing(role.map(|role| &role.path), &default.role_path()),
        queue_name: differing(handler.as_ref().map(|handler| &handler.template), &default_queue_template()),
        memory: differing(function.map(|function| function.settings.memory), &default.memory()),
        arch: differing(function.map(|function| function.settings.architecture), &default.architecture()),
        reserved_concurrency: function.and_then(|function| function.reserved_concurrency?.to_string().parse().ok()),
        log_retention: differing(log_group.and_then(|group| group.retention_days), &default.log_retention()),
        rebalance: has_rule(Signal::Rebalance).then_some(true),
        alarms: alarms.map(|topic| Alarms::On(topic.and_then(|topic| topic.parse().ok()))),
        reader_alarms: (!of_clusters.is_empty()).then_some(true),
        heartbeat: (has_rule(Signal::Heartbeat) != alarms.is_some()).then(|| has_rule(Signal::Heartbeat)),
        dashboard: live.dashboard(scope.dashboard()).and_then(|dashboard| dashboard.is_of(scope).then_some(true)),
        tag_conditions: router_policy
            .and_then(|policy| policy::requires_tags(&policy.document))
            .filter(|required| *required != default.tag_conditions(&scope.region)),
        cluster_metrics: differing(handler.map(|handler| handler.metrics), &default.cluster_metrics()),
        notify: topic.map(|topic| OrNone(Some(topic))),
        ..default
    }
}

/// A resource's value as an option, if it is not the default.
fn differing<T: FromStr + PartialEq>(live: Option<impl ToString>, default: &T) -> Option<T> {
    live?.to_string().parse().ok().filter(|value| value != default)
}

pub fn default_queue_template() -> QueueTemplate {
    HubOptions::default().queue_template()
}

/// The retention of a cluster queue, in seconds: the same as in Karpenter's own CloudFormation template.
pub const CLUSTER_RETENTION: u32 = 300;

/// A queue that the router sends to.
pub fn cluster_queue(scope: &Scope, name: QueueName, hub: &HubOptions, tags: Tags) -> Queue {
    Queue {
        retention: CLUSTER_RETENTION,
        policy: Some(policy::cluster_queue_policy(scope, &name)),
        ..queue(name, hub.key(), tags)
    }
}

/// The settings that all queues of a bus share; retention and visibility are SQS's own defaults.
fn queue(name: QueueName, key: Option<&KmsKey>, tags: Tags) -> Queue {
    Queue {
        name,
        retention: 345_600,
        visibility: 30,
        delay: 0,
        receive_wait: 0,
        max_message_size: LARGEST_EVENT,
        redrive: None,
        redrive_allow: Some(policy::no_redrive()),
        encryption: key.map_or(Encryption::SqsManaged, |key| Encryption::Kms(key.clone())),
        policy: None,
        tags,
        created: 0,
    }
}

#[cfg(test)]
pub(crate) mod tests;
