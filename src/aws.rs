//! AWS, or an emulator of it. The only place that names the provisioning SDKs.
//!
//! Each kind of resource has a file that reads, creates, updates and deletes it. A new kind needs such a file and a
//! line in the table below.

mod alarm;
mod alias;
mod dashboard;
mod document;
mod drill;
mod error;
mod event_source_mapping;
mod function;
mod interceptor;
mod invoke;
mod log_group;
mod messages;
mod pace;
mod parameter;
mod queue;
mod read;
mod record;
mod role;
mod role_policy;
mod rule;
mod session;
mod wait;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

pub use session::{Connect, Session, profiles};

use crate::cloud::{Fault, FaultKind, Read, Snapshot, Waiting, Write};
use crate::model::{
    BusName, MOST_PAGES, QueueName, Resource, ResourceId, RoleName, Scope, Status, calls,
    calls::{iam, lambda},
};
use crate::plan::{Action, Change, FieldChange};
use crate::wire::aws_json::{self, EKS, JsonClient};
use crate::wire::{ec2, sns};
use error::{failed, rejected};
use interceptor::{CallLog, FinalAnswers, NoEmptyAnswer};
use pace::Pace;
use wait::WaitReason;
use write::{Update, Writing};

/// The account and Region of one bus on AWS.
#[derive(Clone, Debug)]
pub struct AwsCloud {
    scope: Scope,
    caller: String,
    ahead: i64,
    endpoint: Option<String>,
    archive: Option<Arc<[u8]>>,
    /// The roles that this run has given a permissions boundary.
    bounded: Arc<Mutex<BTreeSet<RoleName>>>,
    /// Why the caller is not allowed to read the report about all roles. It is requested once: most operators are not allowed to.
    roles_denied: Arc<OnceLock<Fault>>,
    /// The last list of the router versions, which is used once more: two questions of a survey need it.
    last_versions: Arc<tokio::sync::Mutex<Option<alias::Versions>>>,
    /// The records that wait for a call which deletes them.
    deleted_records: Arc<record::Gathered>,
    /// The records that wait for a call which reads them again.
    read_records: Arc<record::Gathered>,
    pace: Arc<Pace>,
    stop: Option<watch::Receiver<bool>>,
    /// The services that did not answer in time, if the wait for metrics and logs is limited.
    silent: Option<Arc<Mutex<BTreeSet<String>>>>,
    /// When the command began. What its plan creates did not exist then.
    began: Instant,
    /// When AWS last confirmed what a change relies on: that the new resource is absent, or that a record was written.
    answered: Arc<Mutex<BTreeMap<ResourceId, Instant>>>,
    /// When this run last wrote something. Writes before the run are unknown.
    last_write: Arc<Mutex<Instant>>,
    /// Whether AWS has executed a call of the current write.
    has_written: Arc<AtomicBool>,
    sqs: aws_sdk_sqs::Client,
    iam: aws_sdk_iam::Client,
    lambda: aws_sdk_lambda::Client,
    events: aws_sdk_eventbridge::Client,
    kms: JsonClient,
    logs: JsonClient,
    tagging: JsonClient,
    ec2: ec2::Client,
    eks: JsonClient,
    fis: JsonClient,
    metrics: JsonClient,
    ssm: JsonClient,
    sns: sns::Client,
}

impl AwsCloud {
    pub fn new(session: &Session, bus: BusName) -> Self {
        let config = session.config();
        macro_rules! client {
            ($sdk:ident) => {
                $sdk::Client::from_conf(
                    $sdk::config::Builder::from(config)
                        .interceptor(CallLog)
                        .interceptor(NoEmptyAnswer)
                        .retry_classifier(FinalAnswers)
                        .build(),
                )
            };
        }
        let further = || {
            let components = RuntimeComponentsBuilder::new("kibus")
                .with_interceptor(CallLog)
                .with_interceptor(NoEmptyAnswer)
                .with_retry_classifier(FinalAnswers);
            StaticRuntimePlugin::new().with_runtime_components(components)
        };
        let json = |service| JsonClient::new(config, service, further());
        Self {
            scope: session.scope(bus),
            caller: session.caller.clone(),
            ahead: session.ahead,
            endpoint: config.endpoint_url().map(str::to_owned),
            archive: None,
            bounded: Arc::default(),
            roles_denied: Arc::default(),
            last_versions: Arc::default(),
            deleted_records: Arc::default(),
            read_records: Arc::default(),
            pace: Arc::clone(&session.pace),
            stop: None,
            silent: None,
            began: Instant::now(),
            answered: Arc::default(),
            last_write: Arc::new(Mutex::new(Instant::now())),
            has_written: Arc::default(),
            sqs: client!(aws_sdk_sqs),
            iam: client!(aws_sdk_iam),
            lambda: client!(aws_sdk_lambda),
            events: client!(aws_sdk_eventbridge),
            kms: json(aws_json::KMS),
            logs: json(aws_json::LOGS),
            tagging: json(aws_json::TAGGING),
            ec2: ec2::Client::of_instances(config, further()),
            eks: JsonClient::new(&read::eks_config(config), EKS, further()),
            fis: json(aws_json::FIS),
            metrics: json(aws_json::METRICS),
            ssm: json(aws_json::PARAMETERS),
            sns: sns::Client::of_topics(config, further()),
        }
    }

    /// Adds an archive for the function's code. Without it, or with another archive than the planned one, no code is written.
    pub fn with_archive(mut self, archive: impl Into<Arc<[u8]>>) -> Self {
        self.archive = Some(archive.into());
        self
    }

    /// Waits at most [`PATIENCE`] for metrics and logs; a service that takes longer is not called again.
    pub fn impatient(mut self) -> Self {
        self.silent = Some(Arc::default());
        self
    }

    /// After a request to stop, calls no longer wait for the rate of their service.
    pub fn until(mut self, stop: watch::Receiver<bool>) -> Self {
        self.stop = Some(stop);
        self
    }

    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    fn queue_url(&self, queue: &QueueName) -> String {
        self.scope.queue_url(self.endpoint.as_deref(), queue)
    }

    /// Makes a call, named as in IAM, at the pace that its service allows.
    async fn call<T, F: Sent<T>>(&self, action: &str, send: impl Fn() -> F) -> Result<T, Fault> {
        let attempt = || {
            // The future of the SDK is large, and would be part of each future that waits for it.
            let sent = Box::pin(send());
            async move { sent.await.map_err(|e| failed(action, &e)) }
        };
        let answer = self.paced(action, attempt).await;
        if answer.is_ok() && !calls::is_read(action) {
            self.has_written.store(true, Ordering::Relaxed);
        }
        answer
    }

    async fn json<T>(&self, client: &JsonClient, action: &'static str, input: Value) -> Result<T, Fault>
    where
        T: DeserializeOwned + Debug + Send + Sync + 'static,
    {
        self.call(action, || client.call(operation(action), input.clone())).await
    }

    /// The items of every page of a list, of which `page` requests one by its token. A throttled page is requested
    /// again, without the pages before it.
    async fn pages<P, I, F: Sent<P>>(
        &self,
        action: &str,
        page: impl Fn(Option<String>) -> F,
        items: impl Fn(P) -> Page<I>,
    ) -> Result<Vec<I>, Fault> {
        let (mut all, mut token) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let (items, next) = items(self.call(action, || page(token.clone())).await?);
            all.extend(items.unwrap_or_default());
            token = next.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(all);
            }
        }
        Err(Fault::endless(action))
    }

    /// The items of every page of a call of AWS JSON. `members` are the names of the list and of the token.
    async fn json_pages(
        &self,
        client: &JsonClient,
        action: &'static str,
        input: Value,
        members: [&str; 2],
    ) -> Result<Vec<Value>, Fault> {
        let page = |token: Option<String>| {
            let mut input = input.clone();
            input[members[1]] = token.into();
            client.call(operation(action), input)
        };
        self.pages(action, page, |page| taken(page, members)).await
    }

    /// Repeats what makes a call, at the pace that its service allows.
    async fn paced<T, F>(&self, action: &str, attempt: impl Fn() -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let stop = self.stop.as_ref();
        let waiting = stop.map_or_else(Waiting::unattended, |stop| Waiting::new(&|_| {}, stop));
        let call = self.pace.call(action, waiting, attempt);
        let service = action.split(':').next().unwrap_or_default();
        let Some(silent) = self.silent.as_ref().filter(|_| ["cloudwatch", "logs"].contains(&service)) else {
            return call.await;
        };
        let no_answer = || rejected(action, format!("no answer within {} s", PATIENCE.as_secs()));
        if locked(silent).contains(service) {
            return Err(no_answer());
        }
        tokio::time::timeout(PATIENCE, call).await.unwrap_or_else(|_| {
            locked(silent).insert(service.to_owned());
            Err(no_answer())
        })
    }
}

/// A call of an SDK, on its way.
trait Sent<T>: Future<Output = Result<T, SdkError<Self::Error, HttpResponse>>> {
    type Error: ProvideErrorMetadata + StdError + 'static;
}

impl<T, E: ProvideErrorMetadata + StdError + 'static, F: Future<Output = Result<T, SdkError<E, HttpResponse>>>> Sent<T>
    for F
{
    type Error = E;
}

/// How long `status` waits for metrics and the log, which are not essential.
const PATIENCE: Duration = Duration::from_secs(2);

/// The items of a page, and the token of the next one.
type Page<I> = (Option<Vec<I>>, Option<String>);

fn taken(mut page: Value, [list, token]: [&str; 2]) -> Page<Value> {
    let items = match page.get_mut(list).map(Value::take) {
        Some(Value::Array(items)) => Some(items),
        _ => None,
    };
    (items, page.get(token).and_then(Value::as_str).map(str::to_owned))
}

/// How long a change may rely on an answer that was given before it. Changes of IAM are eventually consistent (IAM user guide,
/// "Troubleshoot IAM"), so a read right before the create may also miss something created seconds ago.
const AHEAD: Duration = Duration::from_secs(5);

/// Whether AWS has just answered about this. Each answer counts once.
fn was_answered(cloud: &AwsCloud, id: &ResourceId) -> bool {
    locked(&cloud.answered).remove(id).is_some_and(|answered| answered.elapsed() < AHEAD)
}

/// Refuses to create an existing resource: IAM and EventBridge calls would overwrite something created since the plan.
async fn still_absent(cloud: &AwsCloud, action: &str, id: &ResourceId) -> Result<(), Fault> {
    if was_answered(cloud, id) || cloud.read(id).await?.is_none() {
        return Ok(());
    }
    Err(Fault::new(FaultKind::Exists, action, format!("{id} already exists")))
}

/// Every state behind these locks is valid, so a poisoned lock does no harm.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operation that an action of IAM allows.
fn operation(action: &'static str) -> &'static str {
    action.split_once(':').map_or(action, |(_, operation)| operation)
}

/// A number for the SDK, which accepts only signed numbers.
fn signed(number: u32) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

macro_rules! snapshot {
    ($kind:ident, $found:expr) => {
        $found.map(|resource| Snapshot { resource: Resource::$kind(resource), status: None })
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
        }

        impl Writing<'_> {
            async fn create(&self, resource: &Resource) -> Result<(), Fault> {
                match resource {
                    $(Resource::$kind(resource) => $file::create(self, resource).await,)*
                }
            }

            async fn update(&self, from: &Resource, to: &Resource, fields: &[FieldChange]) -> Result<(), Fault> {
                match (from, to) {
                    $((Resource::$kind(from), Resource::$kind(to)) => {
                        $file::update(self, Update { from, to, fields }).await
                    })*
                    _ => unreachable!("an update is between two of a kind"),
                }
            }

            async fn delete(&self, id: &ResourceId) -> Result<(), Fault> {
                match id {
                    $(ResourceId::$kind($($key),+) => $file::delete(self, $($key),+).await,)*
                }
            }
        }
    };
}

// Each kind of resource with the parts of its id, the file that reads and writes it, and the status that is read with it.
kinds! {
    Parameter(name) => parameter;
    Record(name) => record;
    Queue(name) => queue with Queue;
    Role(name) => role;
    RolePolicy(role, name) => role_policy;
    LogGroup(name) => log_group;
    Function(name) => function;
    Alias(function, name) => alias with Version;
    EventSourceMapping(queue, function, alias) => event_source_mapping with Mapping;
    Rule(name) => rule;
    Alarm(name) => alarm with Alarm;
    Dashboard(name) => dashboard;
}

impl Write for AwsCloud {
    async fn read_back(&self, id: &ResourceId, waiting: Waiting<'_>) -> Result<Option<Resource>, Fault> {
        let (action, unseen) = match id {
            ResourceId::Role(_) => (iam::GET_ROLE, WaitReason::RoleUnknown),
            ResourceId::Function(_) => (lambda::GET_FUNCTION, WaitReason::FunctionUnknown),
            _ => return self.read(id).await,
        };
        let cloud = Writing { cloud: self, waiting };
        cloud.settled(action, unseen, || self.read(id)).await.map(Some)
    }

    async fn read_ahead(&self, change: &Change) {
        if change.action == Action::Create && matches!(change.id, ResourceId::RolePolicy(..) | ResourceId::Rule(_)) {
            // For any other answer, the read right before the create decides.
            if let Ok(None) = self.read(&change.id).await {
                locked(&self.answered).insert(change.id.clone(), Instant::now());
            }
        }
    }

    async fn write(&self, change: &Change, waiting: Waiting<'_>) -> Result<(), Fault> {
        let cloud = Self { has_written: Arc::default(), ..self.clone() };
        let write = Writing { cloud: &cloud, waiting };
        if change.hands_over {
            write.new_policy_applies().await?;
        }
        let answer = match (change.action, &change.before) {
            (Action::Update, Some(from)) => write.update(from, change.resource(), &change.fields).await,
            (Action::Delete, _) => write.delete(&change.id).await,
            _ => write.create(change.resource()).await,
        };
        let answer = match (&change.id, &change.cluster, change.action) {
            (ResourceId::RolePolicy(..), Some(cluster), Action::Create | Action::Update) if answer.is_ok() => {
                record::remains(&write, cluster).await
            }
            _ => answer,
        };
        if !change.hands_over {
            *locked(&self.last_write) = Instant::now();
        }
        answer.map_err(|mut fault| {
            if fault.kind == FaultKind::Stopped && !cloud.has_written.load(Ordering::Relaxed) {
                fault.kind = FaultKind::NotBegun;
            }
            error::of_the_caller(fault, &self.caller)
        })
    }
}
