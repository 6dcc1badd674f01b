//! AWS, or an emulator of it. The only place that names the provisioning SDKs.
//!
//! Each kind of resource has a file that reads, creates, updates and deletes it. A new kind is such a file and a line
//! in the table below.

mod alias;
mod call_log;
mod changes;
mod concurrency;
mod connect_error;
mod credentials;
mod dead_letters;
mod deleted_queue;
mod discovery;
mod document;
mod empty_answer;
mod error;
mod event_source_mapping;
mod fresh_connections;
mod function;
mod inline_policies;
mod invoke;
mod key_policy;
mod log_group;
mod log_lines;
mod managed_policies;
mod messages;
mod pace;
mod pages;
mod probe;
mod queue;
mod queue_depth;
mod retry;
mod role;
mod role_details;
mod role_policy;
mod rule;
mod self_test;
mod session;
mod still_absent;
mod version;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use tokio::sync::watch;

pub use connect_error::ConnectError;
pub use session::{Connect, Session};

use crate::cloud::{Fault, FaultKind, Read, RoleDetails, Snapshot, Waiting, Write};
use crate::model::document::Document;
use crate::model::inline_policy::InlinePolicy;
use crate::model::name::{BusName, FunctionName, KmsKey, QueueName, QueuePrefix, RoleName};
use crate::model::resource::{FunctionMapping, FunctionSettings, Resource, ResourceId};
use crate::model::scope::Scope;
use crate::model::status::Status;
use crate::plan::{FieldChange, Op};
use changes::Update;
use error::OrFault;
use pace::Pace;

/// One bus's account and Region on AWS.
#[derive(Clone, Debug)]
pub struct AwsCloud {
    scope: Scope,
    caller: String,
    endpoint: Option<String>,
    archive: Option<Vec<u8>>,
    bounded: role::Bounded,
    roles_denied: role_details::Denied,
    known_absent: still_absent::KnownAbsent,
    pace: Arc<Pace>,
    stop: Option<watch::Receiver<bool>>,
    /// Whether AWS has executed a call of the current write.
    has_written: Arc<AtomicBool>,
    sqs: aws_sdk_sqs::Client,
    iam: aws_sdk_iam::Client,
    logs: aws_sdk_cloudwatchlogs::Client,
    lambda: aws_sdk_lambda::Client,
    events: aws_sdk_eventbridge::Client,
    tagging: aws_sdk_resourcegroupstagging::Client,
    fresh_connections: fresh_connections::FreshConnections,
    get_key_policy: key_policy::GetKeyPolicy,
}

impl AwsCloud {
    /// A bus in the account and Region of a session.
    #[must_use]
    pub fn new(session: &Session, bus: BusName) -> Self {
        let config = session.config();
        macro_rules! client {
            ($sdk:ident) => {
                $sdk::Client::from_conf(
                    $sdk::config::Builder::from(config)
                        .interceptor(call_log::CallLog)
                        .interceptor(empty_answer::NoEmptyAnswer)
                        .retry_classifier(retry::FinalAnswers)
                        .build(),
                )
            };
        }
        Self {
            scope: session.scope(bus),
            caller: session.caller.clone(),
            endpoint: config.endpoint_url().map(str::to_owned),
            archive: None,
            bounded: role::Bounded::default(),
            roles_denied: role_details::Denied::default(),
            known_absent: still_absent::KnownAbsent::default(),
            pace: Arc::clone(&session.pace),
            stop: None,
            has_written: Arc::default(),
            sqs: client!(aws_sdk_sqs),
            iam: client!(aws_sdk_iam),
            logs: client!(aws_sdk_cloudwatchlogs),
            lambda: client!(aws_sdk_lambda),
            events: client!(aws_sdk_eventbridge),
            tagging: client!(aws_sdk_resourcegroupstagging),
            fresh_connections: fresh_connections::FreshConnections::default(),
            get_key_policy: key_policy::get_key_policy(config),
        }
    }

    /// The same with an archive for the function's code. Without it, or with another archive than the planned one,
    /// no code is written.
    #[must_use]
    pub fn with_archive(mut self, archive: Vec<u8>) -> Self {
        self.archive = Some(archive);
        self
    }

    /// The same until someone asks to stop: then no call waits for the rate of its service any more.
    #[must_use]
    pub fn until(mut self, stop: watch::Receiver<bool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The bus with its account and Region.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    fn queue_url(&self, queue: &QueueName) -> String {
        self.scope.queue_url(self.endpoint.as_deref(), queue)
    }

    /// Makes a call, named as in IAM, at the pace that its service allows.
    async fn call<T, E, F>(&self, action: &str, send: impl Fn() -> F) -> Result<T, Fault>
    where
        E: ProvideErrorMetadata + StdError + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        let attempt = || {
            // The future of the SDK is large, and would be part of each future that waits for it.
            let sent = Box::pin(send());
            async move { sent.await.or_fault(action) }
        };
        let answer = self.pace.call(action, self.stop.as_ref(), attempt).await;
        if answer.is_ok() && !pace::is_read(action) {
            self.has_written.store(true, Ordering::Relaxed);
        }
        answer
    }
}

macro_rules! snapshot {
    ($kind:ident, $found:expr) => {
        $found.map(|resource| Snapshot {
            resource: Resource::$kind(resource),
            status: None,
        })
    };
    ($kind:ident, $found:expr, $status:ident) => {
        $found.map(|(resource, state)| Snapshot {
            resource: Resource::$kind(resource),
            status: Option::from(state).map(Status::$status),
        })
    };
}

macro_rules! kinds {
    ($($kind:ident($($key:ident),+) => $file:ident $(with $status:ident)?;)*) => {
        impl AwsCloud {
            async fn read_one(&self, id: &ResourceId) -> Result<Option<Snapshot>, Fault> {
                Ok(match id {
                    $(ResourceId::$kind($($key),+) => {
                        snapshot!($kind, $file::read(self, $($key),+).await? $(, $status)?)
                    })*
                })
            }

            async fn create(&self, resource: &Resource, waiting: Waiting<'_>) -> Result<(), Fault> {
                match resource {
                    $(Resource::$kind(resource) => $file::create(self, resource, waiting).await,)*
                }
            }

            async fn update(
                &self,
                from: &Resource,
                to: &Resource,
                fields: &[FieldChange],
                waiting: Waiting<'_>,
            ) -> Result<(), Fault> {
                match (from, to) {
                    $((Resource::$kind(from), Resource::$kind(to)) => {
                        $file::update(self, Update { from, to, fields }, waiting).await
                    })*
                    _ => unreachable!("an update is between two of a kind"),
                }
            }

            async fn delete(&self, id: &ResourceId, waiting: Waiting<'_>) -> Result<(), Fault> {
                match id {
                    $(ResourceId::$kind($($key),+) => $file::delete(self, $($key),+, waiting).await,)*
                }
            }
        }
    };
}

// Each kind of resource with what its id consists of, the file that reads and writes it, and the status that is read with it.
kinds! {
    Queue(name) => queue with Queue;
    Role(name) => role;
    RolePolicy(role, name) => role_policy;
    LogGroup(name) => log_group;
    Function(name) => function;
    Alias(function, name) => alias with Version;
    EventSourceMapping(queue, function, alias) => event_source_mapping with Mapping;
    Rule(name) => rule;
}

impl Read for AwsCloud {
    async fn snapshot(&self, id: &ResourceId) -> Result<Option<Snapshot>, Fault> {
        self.read_one(id).await
    }

    async fn cluster_queues(&self, prefix: &QueuePrefix) -> Result<BTreeSet<QueueName>, Fault> {
        discovery::cluster_queues(self, prefix).await
    }

    async fn queues(&self, prefix: &str) -> Result<BTreeSet<QueueName>, Fault> {
        discovery::queues(self, prefix).await
    }

    async fn dead_letter_sources(&self, queue: &QueueName) -> Result<Option<BTreeSet<QueueName>>, Fault> {
        discovery::dead_letter_sources(self, queue).await
    }

    async fn buses(&self) -> Result<BTreeSet<BusName>, Fault> {
        discovery::buses(self).await
    }

    async fn role_arns(&self) -> Result<BTreeMap<RoleName, String>, Fault> {
        discovery::role_arns(self).await
    }

    async fn inline_policy_names(&self, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        inline_policies::names(self, role).await
    }

    async fn inline_policy(&self, role: &RoleName, policy: &str) -> Result<Option<InlinePolicy>, Fault> {
        inline_policies::read(self, role, policy).await
    }

    async fn attached_policies(&self, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        managed_policies::attached(self, role).await
    }

    async fn role_details(&self, roles: &BTreeSet<RoleName>) -> Result<BTreeMap<RoleName, RoleDetails>, Fault> {
        role_details::read(self, roles).await
    }

    async fn managed_policy(&self, arn: &str) -> Result<Option<Document>, Fault> {
        managed_policies::read(self, arn).await
    }

    async fn unreserved_concurrency(&self) -> Result<Option<u32>, Fault> {
        concurrency::unreserved(self).await
    }

    async fn key_policy(&self, key: &KmsKey) -> Result<Option<Document>, Fault> {
        key_policy::key_policy(self, key).await
    }

    async fn published_version(
        &self,
        function: &FunctionName,
        version: u64,
    ) -> Result<Option<FunctionSettings>, Fault> {
        version::read(self, function, version).await
    }

    async fn function_mappings(&self, function: &FunctionName) -> Result<BTreeSet<FunctionMapping>, Fault> {
        event_source_mapping::of_function(self, function).await
    }

    fn caller_role(&self) -> Option<RoleName> {
        error::session_role(&self.caller).and_then(|role| role.parse().ok())
    }
}

impl Write for AwsCloud {
    async fn read_back(&self, id: &ResourceId) -> Result<Option<Resource>, Fault> {
        self.read(id).await
    }

    async fn prepare(&self, op: &Op) {
        if let Op::Create(resource @ (Resource::RolePolicy(_) | Resource::Rule(_))) = op {
            still_absent::read_ahead(self, &resource.id()).await;
        }
    }

    async fn write(&self, op: &Op, waiting: Waiting<'_>) -> Result<(), Fault> {
        let cloud = Self {
            has_written: Arc::default(),
            ..self.clone()
        };
        let answer = match op {
            Op::Create(resource) => cloud.create(resource, waiting).await,
            Op::Update { from, to, fields } => cloud.update(from, to, fields, waiting).await,
            Op::Delete(resource) => cloud.delete(&resource.id(), waiting).await,
        };
        answer.map_err(|mut fault| {
            if fault.kind == FaultKind::Stopped && !cloud.has_written.load(Ordering::Relaxed) {
                fault.kind = FaultKind::NotBegun;
            }
            error::of_the_caller(fault, &self.caller)
        })
    }

    async fn gone(&self, id: &ResourceId, waiting: Waiting<'_>) -> Result<(), Fault> {
        match id {
            ResourceId::Queue(name) => queue::gone(self, name, waiting).await,
            _ => Ok(()),
        }
    }
}
