//! What kibus can read from an account and Region.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_iam::operation::get_account_authorization_details::GetAccountAuthorizationDetailsOutput;
use aws_sdk_iam::types::{EntityType, RoleDetail};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use super::alias::{permissions_of_router as function_permissions, published_settings as versions};
use super::document::{decoded, read};
use super::error::{if_present, rejected};
use super::event_source_mapping::of_router as function_mappings;
use super::invoke::live_test;
use super::log_group::{dropped as dropped_clusters, last_events};
use super::parameter::buses;
use super::rule::{all_rules as event_rules, all_targets as rule_targets, tags as rule_tags};
use super::{AwsCloud, record, taken};
use crate::cloud::{Fault, FaultKind, ListedRole, Questions, Read, Snapshot, questions};
use crate::model::{
    Association, BusName, ClusterName, Document, DroppedClusters, EventRule, FunctionMapping, FunctionPermission,
    FunctionSettings, HubActivity, KmsKey, LastEvents, ListedTarget, LiveTest, ParameterName, QueueActivity, QueueName,
    Record, ResourceId, RoleName, RuleName, Tags, Topic, TopicAttributes, TopicKey,
    calls::{cloudwatch, eks, iam, kms, lambda, sns, sqs, tag},
    karpenter::SERVICE_ACCOUNT,
    now,
    policy::InlinePolicy,
    tags,
};
use crate::wire::sns::attributes;

/// The number of roles per page. With the longest trust policy and inline policies, percent-encoded, each role takes 60
/// kB, so an answer has at most 18 MB.
const PAGE: i32 = 300;

/// The length of the requested period, in seconds.
const DAY: u64 = 86_400;
const HOUR: u64 = 3_600;
/// The period of one value, in seconds.
const PERIOD: u64 = 300;
/// The metrics that are read (SQS developer guide, "Available CloudWatch metrics for Amazon SQS").
const METRICS: [&str; 4] =
    ["NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfEmptyReceives", "NumberOfMessagesDeleted"];
/// The queues of one call. A call can have 500 queries, and a page of its answer 100,800 values (CloudWatch API
/// reference, `GetMetricData`): one day of four metrics for 87 queues.
const QUEUES: usize = 80;
/// The empty receives in a period with long polling: 15 at 20 s each, and fewer if messages arrive.
const POLLED: f64 = 5.0;

macro_rules! forwards {
    (
        once { $($(#[$once_doc:meta])* $once:ident -> $one:ty;)* }
        each { $($(#[$each_doc:meta])* $each:ident($key:ty) -> $answer:ty;)* }
        first { $($(#[$first_doc:meta])* $first:ident($first_key:ty) -> $first_answer:ty;)* }
        composed { $($composed:tt)* }
    ) => {
        impl Questions for AwsCloud {
            $(
                async fn $once(&self) -> Result<Option<$one>, Fault> {
                    $once(self).await.map(Into::into)
                }
            )*
            $(
                async fn $each(&self, key: &$key) -> Result<Option<$answer>, Fault> {
                    $each(self, key).await.map(Into::into)
                }
            )*
            $(
                async fn $first(&self, key: &$first_key) -> Result<Option<$first_answer>, Fault> {
                    $first(self, key).await
                }
            )*
        }
    };
}
questions!(forwards);

impl Read for AwsCloud {
    async fn snapshot(&self, id: &ResourceId) -> Result<Option<Snapshot>, Fault> {
        self.read_one(id).await
    }

    async fn records(&self, names: &[ParameterName]) -> Result<Vec<Record>, Fault> {
        let calls = names.chunks(record::AT_ONCE).map(|names| record::several(self, names));
        Ok(try_join_all(calls).await?.into_iter().flatten().collect())
    }

    async fn records_page(&self, token: Option<String>) -> Result<(Vec<Record>, Option<String>), Fault> {
        record::page(self, token).await
    }

    fn now(&self) -> u64 {
        u64::try_from(now() / 1_000 + self.ahead).unwrap_or_default()
    }

    async fn inline_policy_names(&self, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        let call = self.iam.list_role_policies().role_name(role).max_items(1000);
        let page = |marker| call.clone().set_marker(marker).send();
        let names = self.pages(iam::LIST_ROLE_POLICIES, page, |page| (Some(page.policy_names), page.marker));
        let names = if_present(names.await)?;
        Ok(names.map(|names| names.into_iter().collect()))
    }

    async fn inline_policy(&self, role: &RoleName, policy: &str) -> Result<Option<InlinePolicy>, Fault> {
        let call = self.iam.get_role_policy().role_name(role).policy_name(policy);
        let answer = if_present(self.call(iam::GET_ROLE_POLICY, || call.clone().send()).await)?;
        Ok(answer.map(|answer| InlinePolicy { name: policy.to_owned(), text: decoded(&answer.policy_document) }))
    }

    async fn inline_policies(
        &self,
        roles: &BTreeSet<RoleName>,
    ) -> Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault> {
        // One page of IAM's report about the account has hundreds of roles, and IAM limits the number of calls.
        if let Some(fault) = self.roles_denied.get() {
            return Err(fault.clone());
        }
        let call = self.iam.get_account_authorization_details().filter(EntityType::Role).max_items(PAGE);
        let page = |marker| call.clone().set_marker(marker).send();
        // Other roles are not kept: an account can have thousands.
        let wanted = |page: GetAccountAuthorizationDetailsOutput| {
            let all = page.role_detail_list.unwrap_or_default().into_iter();
            (Some(all.filter_map(|role| details(role, roles)).collect()), page.marker)
        };
        let details: Result<Vec<_>, _> = self.pages(iam::GET_ACCOUNT_AUTHORIZATION_DETAILS, page, wanted).await;
        let details = details.inspect_err(|fault| {
            if let FaultKind::Denied { .. } = fault.kind {
                self.roles_denied.get_or_init(|| fault.clone());
            }
        })?;
        Ok(details.into_iter().collect())
    }

    async fn activity(&self, queues: &BTreeSet<QueueName>) -> Result<BTreeMap<QueueName, QueueActivity>, Fault> {
        let (queues, now): (Vec<&QueueName>, u64) = (queues.iter().collect(), self.now());
        let start = now.saturating_sub(DAY) / PERIOD * PERIOD;
        let calls = queues.chunks(QUEUES).map(async |queues| {
            let queries = queues.iter().enumerate().flat_map(|(at, queue)| queries(at, queue)).collect();
            Ok(active(queues, &metrics(self, queries, start, now).await?, now))
        });
        Ok(try_join_all(calls).await?.into_iter().flatten().collect())
    }

    fn caller(&self) -> &str {
        &self.caller
    }
}

fn details(role: RoleDetail, wanted: &BTreeSet<RoleName>) -> Option<(RoleName, Vec<InlinePolicy>)> {
    let name: RoleName = role.role_name?.parse().ok()?;
    if !wanted.contains(&name) {
        return None;
    }
    let inline = role.role_policy_list.unwrap_or_default().into_iter();
    let inline = inline
        .filter_map(|policy| Some(InlinePolicy { name: policy.policy_name?, text: decoded(&policy.policy_document?) }));
    Some((name, inline.collect()))
}

/// The queries about the queue at this index.
fn queries(at: usize, queue: &QueueName) -> impl Iterator<Item = Value> {
    let metrics = METRICS.iter().enumerate();
    metrics.map(move |(number, name)| query(format!("q{at}_{number}"), name, queue, PERIOD))
}

fn query(id: String, metric: &str, queue: &QueueName, period: u64) -> Value {
    let dimensions = json!([{"Name": "QueueName", "Value": queue.as_str()}]);
    let metric = json!({"Namespace": "AWS/SQS", "MetricName": metric, "Dimensions": dimensions});
    json!({"Id": id, "MetricStat": {"Metric": metric, "Period": period, "Stat": "Sum"}})
}

/// The series of these queries. If an answer has several pages, an id may appear again with further values.
async fn metrics(cloud: &AwsCloud, queries: Vec<Value>, start: u64, end: u64) -> Result<Vec<Value>, Fault> {
    let input = json!({ "StartTime": start, "EndTime": end, "MetricDataQueries": queries });
    let list = ["MetricDataResults", "NextToken"];
    cloud.json_pages(&cloud.metrics, cloudwatch::GET_METRIC_DATA, input, list).await
}

/// What happened on each queue. SQS reports every metric of an active queue, including zeros. A queue without some
/// metric is left out: missing data proves nothing.
fn active(queues: &[&QueueName], series: &[Value], now: u64) -> BTreeMap<QueueName, QueueActivity> {
    let mut found: BTreeMap<&QueueName, [Vec<(u64, f64)>; METRICS.len()]> = BTreeMap::new();
    for series in series {
        if let Some((queue, metric)) = asked(series["Id"].as_str().unwrap_or_default(), queues) {
            let times = numbers(series, "Timestamps").map(whole);
            found.entry(queue).or_default()[metric].extend(times.zip(numbers(series, "Values")));
        }
    }
    found.retain(|_, metrics| metrics.iter().all(|values| !values.is_empty()));
    let activities = found.into_iter().map(|(queue, metrics)| (queue.clone(), activity(&metrics, now)));
    activities.collect()
}

fn activity([sent, received, empty, deleted]: &[Vec<(u64, f64)>; METRICS.len()], now: u64) -> QueueActivity {
    let hour = now.saturating_sub(HOUR) / PERIOD * PERIOD;
    let begin = hour.saturating_sub(PERIOD);
    let sum = |values: &[(u64, f64)]| whole(values.iter().map(|(_, count)| count).sum());
    let receives = [received.as_slice(), empty].concat();
    let recent: Vec<_> = receives.iter().copied().filter(|(time, _)| *time >= begin).collect();
    QueueActivity {
        sent: sum(sent),
        receives: sum(&receives),
        deleted: sum(deleted),
        polled: empty.iter().filter(|(_, count)| *count >= POLLED).count() as u64,
        // A queue without data for the first minutes is new, or was idle.
        receives_of_last_hour: empty.iter().any(|(time, _)| (begin..=hour).contains(time)).then(|| sum(&recent)),
        last_receive: receives.iter().filter(|(_, count)| *count > 0.0).map(|(time, _)| *time).max(),
    }
}

/// The sum of a queue metric in the whole minutes since this one.
pub(super) async fn metric_sum(cloud: &AwsCloud, queue: &QueueName, metric: &str, since: i64) -> Result<u64, Fault> {
    let since = u64::try_from(since).unwrap_or_default();
    let queries = vec![query("q".to_owned(), metric, queue, 60)];
    let series = metrics(cloud, queries, since / 60 * 60, cloud.now() + 60).await?;
    Ok(whole(series.iter().flat_map(|series| numbers(series, "Values")).sum()))
}

/// The start of the newest period with a heartbeat, and of the newest with a message sent to the probe queue; and the slowest delivery.
async fn hub_activity(cloud: &AwsCloud) -> Result<Option<HubActivity>, Fault> {
    let dimensions = json!([{"Name": "bus", "Value": cloud.scope.bus}]);
    let of_router = |id: &str, name: &str, statistic: &str| {
        let metric = json!({"Namespace": "Kibus", "MetricName": name, "Dimensions": dimensions});
        json!({"Id": id, "MetricStat": {"Metric": metric, "Period": PERIOD, "Stat": statistic}})
    };
    let (counted, delay) = (of_router("counted", "Heartbeat", "Sum"), of_router("delay", "Delay", "Maximum"));
    let sent = query("sent".to_owned(), "NumberOfMessagesSent", &cloud.scope.probe_queue(), PERIOD);
    let now = cloud.now();
    // The end is exclusive, and a metric of this second counts.
    let series = metrics(cloud, vec![counted, sent, delay], now.saturating_sub(DAY), now + 60).await?;
    let of = |id: &'static str| series.iter().filter(move |series| series["Id"] == id);
    let delays = of("delay").flat_map(|series| numbers(series, "Values"));
    Ok(Some(HubActivity {
        heartbeat: newest(of("counted")),
        sent_to_probe_queue: newest(of("sent")),
        slowest: delays.map(|delay| delay.round() as i64).max(),
    }))
}

/// The start of the newest period with a nonzero value, in seconds of the Unix epoch.
fn newest<'a>(series: impl IntoIterator<Item = &'a Value>) -> Option<u64> {
    let periods = series.into_iter().flat_map(|series| numbers(series, "Timestamps").zip(numbers(series, "Values")));
    let periods = periods.filter(|(_, count)| *count > 0.0);
    periods.map(|(time, _)| whole(time)).max()
}

/// The numbers in a list of a CloudWatch series.
fn numbers<'a>(series: &'a Value, member: &str) -> impl Iterator<Item = f64> + use<'a> {
    let numbers = series[member].as_array().into_iter().flatten();
    numbers.filter_map(Value::as_f64)
}

/// The queue and the metric of a query, by its id.
fn asked<'a>(id: &str, queues: &[&'a QueueName]) -> Option<(&'a QueueName, usize)> {
    let (at, metric) = id.strip_prefix('q')?.split_once('_')?;
    let metric = metric.parse().ok().filter(|metric| *metric < METRICS.len())?;
    Some((queues.get(at.parse::<usize>().ok()?)?, metric))
}

/// A sum of counts, as a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion from f64 saturates, and a count is whole and not negative"
)]
pub(super) fn whole(sum: f64) -> u64 {
    sum.round() as u64
}

async fn tagged_buses(cloud: &AwsCloud) -> Result<BTreeSet<BusName>, Fault> {
    let tagged = tagged(cloud, json!([{ "Key": tags::BUS }])).await?;
    Ok(tagged.iter().filter_map(|(_, of)| of.get(tags::BUS)?.parse().ok()).collect())
}

/// The queues with the tags of a cluster of the bus.
async fn tagged_queues(cloud: &AwsCloud) -> Result<BTreeMap<QueueName, Tags>, Fault> {
    // A tag filter without a value matches every value.
    let filters = json!([{ "Key": tags::BUS, "Values": [cloud.scope.bus.as_str()] }, { "Key": tags::CLUSTER }]);
    Ok(tagged(cloud, filters).await?.into_iter().collect())
}

/// The queues that the tagging API lists for these tags. It lags behind for new and deleted queues.
async fn tagged(cloud: &AwsCloud, filters: Value) -> Result<Vec<(QueueName, Tags)>, Fault> {
    let input = json!({ "ResourceTypeFilters": ["sqs"], "TagFilters": filters });
    let list = ["ResourceTagMappingList", "PaginationToken"];
    let queues = cloud.json_pages(&cloud.tagging, tag::GET_RESOURCES, input, list).await?;
    let text = |tag: &Value, member: &str| tag[member].as_str().map(str::to_owned);
    let queue = |found: &Value| {
        // A name that kibus does not accept, such as a FIFO queue name, does not belong to a cluster queue.
        let name = found["ResourceARN"].as_str()?.rsplit(':').next()?.parse().ok()?;
        let tags = found["Tags"].as_array().into_iter().flatten();
        Some((name, tags.filter_map(|tag| Some((text(tag, "Key")?, text(tag, "Value")?))).collect()))
    };
    Ok(queues.iter().filter_map(queue).collect())
}

#[expect(clippy::ptr_arg, reason = "this is the key of the question")]
async fn queues(cloud: &AwsCloud, prefix: &String) -> Result<BTreeSet<QueueName>, Fault> {
    let prefix = Some(prefix.clone()).filter(|prefix| !prefix.is_empty());
    // Without a page size, SQS returns one page and no token for the next.
    let call = cloud.sqs.list_queues().set_queue_name_prefix(prefix).max_results(1000);
    let page = |token| call.clone().set_next_token(token).send();
    let urls = cloud.pages(sqs::LIST_QUEUES, page, |page| (page.queue_urls, page.next_token));
    Ok(names(&urls.await?))
}

async fn dead_letter_sources(cloud: &AwsCloud, queue: &QueueName) -> Result<Option<BTreeSet<QueueName>>, Fault> {
    let call = cloud.sqs.list_dead_letter_source_queues().queue_url(cloud.queue_url(queue)).max_results(1000);
    let page = |token| call.clone().set_next_token(token).send();
    let action = sqs::LIST_DEAD_LETTER_SOURCE_QUEUES;
    let urls = cloud.pages(action, page, |page| (Some(page.queue_urls), page.next_token));
    Ok(if_present(urls.await)?.map(|urls| names(&urls)))
}

async fn listed_roles(cloud: &AwsCloud) -> Result<BTreeMap<RoleName, ListedRole>, Fault> {
    let call = cloud.iam.list_roles().max_items(1000);
    let page = |marker| call.clone().set_marker(marker).send();
    let roles = cloud.pages(iam::LIST_ROLES, page, |page| (Some(page.roles), page.marker));
    let listed = roles.await?.into_iter().filter_map(|role| {
        let trust = role.assume_role_policy_document.map(|text| decoded(&text));
        // Others are not kept: an account can have thousands.
        let web_trust = trust.filter(|text| text.contains(":oidc-provider/")).map(|text| read(&text));
        Some((role.role_name.parse().ok()?, ListedRole { arn: role.arn, web_trust }))
    });
    Ok(listed.collect())
}

async fn key_policies(cloud: &AwsCloud, key: &KmsKey) -> Result<Option<Document>, Fault> {
    let action = kms::GET_KEY_POLICY;
    // `default` is the only policy that a key has (KMS API reference, `GetKeyPolicy`).
    let input = json!({ "KeyId": key.as_str(), "PolicyName": "default" });
    let answer = cloud.json(&cloud.kms, action, input);
    let policy = |answer: Value| match answer["Policy"].as_str() {
        Some(policy) => Ok(read(policy)),
        None => Err(rejected(action, "the answer holds no policy")),
    };
    if_present(answer.await)?.map(policy).transpose()
}

async fn topics(cloud: &AwsCloud, topic: &Topic) -> Result<Option<TopicAttributes>, Fault> {
    let (action, arn) = (sns::GET_TOPIC_ATTRIBUTES, cloud.scope.topic_arn(topic));
    let answer = cloud.call(action, || cloud.sns.topic_attributes(&arn)).await;
    let attributes = |answer: String| match attributes(&answer) {
        Some(mut found) => Ok(TopicAttributes {
            policy: found.remove("Policy").map(|policy| read(&policy)),
            key: found.remove("KmsMasterKeyId").filter(|key| !key.is_empty()),
        }),
        None => Err(rejected(action, "the answer holds no attributes")),
    };
    if_present(answer)?.map(attributes).transpose()
}

async fn topic_keys(cloud: &AwsCloud, key: &String) -> Result<Option<TopicKey>, Fault> {
    let action = kms::DESCRIBE_KEY;
    let answer: Option<Value> = if_present(cloud.json(&cloud.kms, action, json!({ "KeyId": key })).await)?;
    let found = |answer: Value| {
        let facts = &answer["KeyMetadata"];
        let key = facts["Arn"].as_str().and_then(|arn| arn.parse().ok());
        let key = key.ok_or_else(|| rejected(action, "the answer holds no key"))?;
        Ok(TopicKey { key, of_aws: facts["KeyManager"] == "AWS" })
    };
    answer.map(found).transpose()
}

async fn unreserved_concurrency(cloud: &AwsCloud) -> Result<Option<u32>, Fault> {
    let send = || cloud.lambda.get_account_settings().send();
    let limit = cloud.call(lambda::GET_ACCOUNT_SETTINGS, send).await?.account_limit;
    Ok(limit.and_then(|limit| limit.unreserved_concurrent_executions?.try_into().ok()))
}

/// The longest time of a call with its retries. Kibus works without EKS, and a network may have no route to its endpoint.
const LONGEST_OF_EKS: Duration = Duration::from_secs(20);

/// A configuration for EKS calls.
pub(super) fn eks_config(config: &SdkConfig) -> SdkConfig {
    let timeouts = config.timeout_config().map(TimeoutConfig::to_builder);
    let timeouts = timeouts.unwrap_or_default().operation_timeout(LONGEST_OF_EKS);
    config
        .to_builder()
        .retry_config(RetryConfig::standard().with_max_attempts(2))
        .timeout_config(timeouts.build())
        .build()
}

async fn eks_clusters(cloud: &AwsCloud) -> Result<BTreeSet<ClusterName>, Fault> {
    let page = |token: Option<String>| async move {
        let query: Vec<_> = token.as_deref().map(|token| ("nextToken", token)).into_iter().collect();
        cloud.eks.get("ListClusters", &["clusters"], &query).await
    };
    let names = cloud.pages(eks::LIST_CLUSTERS, page, |page| taken(page, ["clusters", "nextToken"]));
    Ok(names.await?.iter().filter_map(|name| name.as_str()?.parse().ok()).collect())
}

async fn associations(cloud: &AwsCloud, cluster: &ClusterName) -> Result<Option<BTreeSet<Association>>, Fault> {
    let path = ["clusters", cluster.as_str(), "pod-identity-associations"];
    let page = |token: Option<String>| async move {
        let token = token.as_deref().map(|token| ("nextToken", token));
        let query: Vec<_> = [("serviceAccount", SERVICE_ACCOUNT)].into_iter().chain(token).collect();
        cloud.eks.get("ListPodIdentityAssociations", &path, &query).await
    };
    let items = |page| taken(page, ["associations", "nextToken"]);
    let Some(listed) = if_present(cloud.pages(eks::LIST_POD_IDENTITY_ASSOCIATIONS, page, items).await)? else {
        return Ok(None);
    };
    let reads = listed.iter().map(async |summary| {
        let is_meant = summary["serviceAccount"] == SERVICE_ACCOUNT;
        let Some(id) = summary["associationId"].as_str().filter(|_| is_meant) else {
            return Ok(None);
        };
        let namespace = summary["namespace"].as_str().unwrap_or_default().to_owned();
        let role = role_of(cloud, cluster, id).await?;
        Ok(role.map(|role_arn| Association { namespace, role_arn }))
    });
    Ok(Some(try_join_all(reads).await?.into_iter().flatten().collect()))
}

/// The ARN of the role of an association. With a target role, pods get the credentials of that role (EKS API reference,
/// `PodIdentityAssociation`).
async fn role_of(cloud: &AwsCloud, cluster: &ClusterName, association: &str) -> Result<Option<String>, Fault> {
    let path = ["clusters", cluster.as_str(), "pod-identity-associations", association];
    let send = || cloud.eks.get("DescribePodIdentityAssociation", &path, &[]);
    // An association deleted between the two calls no longer has a role.
    let answer: Option<Value> = if_present(cloud.call(eks::DESCRIBE_POD_IDENTITY_ASSOCIATION, send).await)?;
    Ok(answer.and_then(|answer| {
        let text = |name: &str| answer["association"][name].as_str();
        Some(text("targetRoleArn").or(text("roleArn"))?.to_owned())
    }))
}

async fn oidc_issuers(cloud: &AwsCloud, cluster: &ClusterName) -> Result<Option<String>, Fault> {
    let path = ["clusters", cluster.as_str()];
    let send = || cloud.eks.get("DescribeCluster", &path, &[]);
    let answer: Option<Value> = if_present(cloud.call(eks::DESCRIBE_CLUSTER, send).await)?;
    let issuer = answer.and_then(|answer| Some(answer["cluster"]["identity"]["oidc"]["issuer"].as_str()?.to_owned()));
    Ok(issuer.filter(|issuer| !issuer.is_empty()))
}

fn names(urls: &[String]) -> BTreeSet<QueueName> {
    let names = urls.iter().filter_map(|url| url.rsplit('/').next());
    names.filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S30.
    #[test]
    fn a_queue_counts_if_all_of_its_metrics_are_known() {
        const NOW: u64 = 100_000;
        // From the first period of the hour before: 99,900 is the last.
        const FIRST: u64 = 96_300;
        let names: Vec<QueueName> = ["a", "b"].map(|name| name.parse().unwrap()).into();
        let queues: Vec<&QueueName> = names.iter().collect();
        let series = |id: &str, values: &[(u64, f64)]| {
            let (times, values): (Vec<u64>, Vec<f64>) = values.iter().copied().unzip();
            json!({"Id": id, "Timestamps": times, "Values": values})
        };
        let all = |at: usize, [sent, received, empty, deleted]: [&[(u64, f64)]; 4]| -> Vec<Value> {
            let each = [sent, received, empty, deleted].into_iter().enumerate();
            each.map(|(metric, values)| series(&format!("q{at}_{metric}"), values)).collect()
        };
        let zero: &[(u64, f64)] = &[(FIRST, 0.0), (99_900, 0.0)];
        let activity = |receives, deleted, polled, receives_of_last_hour| QueueActivity {
            sent: 0,
            receives,
            deleted,
            polled,
            receives_of_last_hour,
            last_receive: (receives > 0).then_some(99_900),
        };
        let idle = activity(0, 0, 0, Some(0));
        let polls: &[(u64, f64)] = &[(99_900, 15.0), (FIRST, 5.0), (FIRST - 300, 4.0), (50_000, 14.0)];
        let [gone, later, meanwhile]: [&[(u64, f64)]; 3] =
            [&[(50_000, 15.0), (FIRST, 0.0)], &[(FIRST + 300, 0.0)], &[(50_000, 15.0), (99_900, 1.0)]];
        let mut two_pages = all(0, [zero; 4]);
        let others = [("q0_0", &[(600, 7.0)][..]), ("q1_4", zero), ("q2_0", zero), ("x0_0", zero)];
        two_pages.extend(others.map(|(id, values)| series(id, values)));
        two_pages.push(json!({"Id": "q0_0", "Timestamps": "odd"}));
        let read: &[(u64, f64)] = &[(99_900, 2.0)];
        for (case, answer, expected) in [
            ("no data", all(0, [&[]; 4]), vec![]),
            ("zeros", all(0, [zero; 4]), vec![("a", idle)]),
            ("a reader", all(1, [zero, read, polls, read]), vec![("b", activity(40, 2, 3, Some(26)))]),
            (
                "one that has gone",
                all(0, [zero, zero, gone, zero]),
                vec![("a", QueueActivity { last_receive: Some(50_000), ..activity(15, 0, 1, Some(0)) })],
            ),
            ("since later", all(0, [zero, zero, later, zero]), vec![("a", activity(0, 0, 0, None))]),
            ("idle meanwhile", all(0, [zero, zero, meanwhile, zero]), vec![("a", activity(16, 0, 1, None))]),
            ("without the deletes", all(0, [zero, zero, zero, &[]]), vec![]),
            ("two pages, and what was not asked", two_pages, vec![("a", QueueActivity { sent: 7, ..idle })]),
        ] {
            let expected = expected.into_iter().map(|(name, activity)| (name.parse().unwrap(), activity));
            assert_eq!(active(&queues, &answer, NOW), expected.collect(), "{case}");
        }
    }

    #[test]
    fn the_newest_period_with_a_value_counts() {
        for (series, expected) in [
            (json!([]), None),
            (json!([{"Timestamps": [600, 900], "Values": [0, 0]}]), None),
            (json!([{"Timestamps": [900, 600, 300], "Values": [0, 1, 1]}]), Some(600)),
            (json!([{"Timestamps": [300], "Values": [1]}, {"Timestamps": [600.0], "Values": [1.0]}]), Some(600)),
        ] {
            assert_eq!(newest(series.as_array().unwrap()), expected, "{series}");
        }
    }

    #[test]
    fn a_sum_is_a_count() {
        for (sum, count) in [(0.0, 0), (4_320.0, 4_320), (-1.0, 0), (f64::NAN, 0), (1e300, u64::MAX)] {
            assert_eq!(whole(sum), count, "{sum}");
        }
    }
}
