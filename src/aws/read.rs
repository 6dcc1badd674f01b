//! What can be asked of an account and Region.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{decoded, read};
use super::error::{if_present, session_role};
use super::function::permissions;
use super::{
    AwsCloud, eks, event_rules, event_source_mapping, key_policy, log_lines, pages, parameter, preflight,
    queue_metrics, role_details, rule, tagging, version,
};
use crate::cloud::{Fault, ListedRole, Read, Snapshot};
use crate::model::document::Document;
use crate::model::dropped_clusters::DroppedClusters;
use crate::model::event_rule::{EventRule, RuleTarget};
use crate::model::inline_policy::InlinePolicy;
use crate::model::karpenter::Association;
use crate::model::name::{
    BusName, ClusterName, FunctionName, KmsKey, LogGroupName, QueueName, QueuePrefix, RoleName, RuleName,
};
use crate::model::queue_activity::QueueActivity;
use crate::model::resource::{FunctionMapping, FunctionPermission, FunctionSettings, ResourceId};
use crate::model::settings::SettingsChange;
use crate::model::simulation::{Answered, Simulation};
use crate::model::tags::{self, Tags};

impl Read for AwsCloud {
    async fn snapshot(&self, id: &ResourceId) -> Result<Option<Snapshot>, Fault> {
        self.read_one(id).await
    }

    /// The tagging API is late with new and with deleted queues; the list has only names.
    ///
    /// Without an answer of the tagging API, the list is enough, unless the prefix is empty: the caller may not be allowed
    /// to call it, and it has no FIPS host in any partition (botocore, endpoints.json).
    async fn cluster_queues(&self, prefix: &QueuePrefix) -> Result<BTreeSet<QueueName>, Fault> {
        let of_bus = [(tags::BUS, Some(self.scope.bus.as_str())), (tags::CLUSTER, None)];
        let tagged = tagging::queues(self, &of_bus);
        let (tagged, listed) = tokio::join!(tagged, self.queues(prefix.as_str()));
        let mut queues = listed?;
        match tagged {
            Ok(tagged) => {
                let arns = tagged.into_iter().filter_map(|queue| queue.arn);
                // A name that kibus does not accept, like that of a FIFO queue, is not a cluster queue's.
                queues.extend(arns.filter_map(|arn| arn.rsplit(':').next()?.parse().ok()));
            }
            Err(fault) if !prefix.as_str().is_empty() => {
                tracing::debug!("without {}: {}", fault.action, fault.message);
            }
            Err(fault) => {
                return Err(Fault {
                    message: format!("{}; with an empty queue prefix, kibus needs this call", fault.message),
                    ..fault
                });
            }
        }
        Ok(queues)
    }

    async fn queues(&self, prefix: &str) -> Result<BTreeSet<QueueName>, Fault> {
        let prefix = Some(prefix.to_owned()).filter(|prefix| !prefix.is_empty());
        // Without a page size SQS returns one page and no token for the next.
        let call = self.sqs.list_queues().set_queue_name_prefix(prefix).max_results(1000);
        let page = |token| {
            let call = call.clone().set_next_token(token);
            async { call.send().await.map(|page| (page.queue_urls, page.next_token)) }
        };
        let urls = pages::all(self, "sqs:ListQueues", page).await?;
        Ok(names(&urls))
    }

    async fn dead_letter_sources(&self, queue: &QueueName) -> Result<Option<BTreeSet<QueueName>>, Fault> {
        let call = self.sqs.list_dead_letter_source_queues();
        let call = call.queue_url(self.queue_url(queue)).max_results(1000);
        let page = |token| {
            let call = call.clone().set_next_token(token);
            async { call.send().await.map(|page| (Some(page.queue_urls), page.next_token)) }
        };
        let urls = pages::all(self, "sqs:ListDeadLetterSourceQueues", page).await;
        Ok(if_present(urls)?.map(|urls| names(&urls)))
    }

    async fn buses(&self) -> Result<BTreeSet<BusName>, Fault> {
        Ok(parameter::buses(self).await?.into_iter().collect())
    }

    async fn settings_changes(&self, version: u64) -> Vec<SettingsChange> {
        parameter::changes_since(self, &self.scope.settings_parameter(), version).await
    }

    async fn listed_roles(&self) -> Result<BTreeMap<RoleName, ListedRole>, Fault> {
        let call = self.iam.list_roles().max_items(1000);
        let page = |marker| {
            let call = call.clone().set_marker(marker);
            async { call.send().await.map(|page| (Some(page.roles), page.marker)) }
        };
        let roles = pages::all(self, "iam:ListRoles", page).await?.into_iter();
        Ok(roles
            .filter_map(|role| {
                let trust = role.assume_role_policy_document.map(|text| decoded(&text));
                let listed = ListedRole {
                    arn: role.arn,
                    // The others are not kept: an account can have thousands.
                    web_trust: trust
                        .filter(|text| text.contains(":oidc-provider/"))
                        .map(|text| read(&text)),
                };
                Some((role.role_name.parse().ok()?, listed))
            })
            .collect())
    }

    async fn eks_clusters(&self) -> Result<BTreeSet<ClusterName>, Fault> {
        eks::clusters(self).await
    }

    async fn pod_identity_associations(&self, cluster: &ClusterName) -> Result<Option<BTreeSet<Association>>, Fault> {
        eks::associations(self, cluster).await
    }

    async fn oidc_issuer(&self, cluster: &ClusterName) -> Result<Option<String>, Fault> {
        eks::oidc_issuer(self, cluster).await
    }

    async fn inline_policy_names(&self, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        let call = self.iam.list_role_policies().role_name(role).max_items(1000);
        let page = |marker| {
            let call = call.clone().set_marker(marker);
            async { call.send().await.map(|page| (Some(page.policy_names), page.marker)) }
        };
        let names = if_present(pages::all(self, "iam:ListRolePolicies", page).await)?;
        Ok(names.map(|names| names.into_iter().collect()))
    }

    async fn inline_policy(&self, role: &RoleName, policy: &str) -> Result<Option<InlinePolicy>, Fault> {
        let call = self.iam.get_role_policy().role_name(role).policy_name(policy);
        let answer = if_present(self.call("iam:GetRolePolicy", || call.clone().send()).await)?;
        Ok(answer.map(|answer| InlinePolicy {
            name: policy.to_owned(),
            text: decoded(&answer.policy_document),
        }))
    }

    async fn inline_policies(
        &self,
        roles: &BTreeSet<RoleName>,
    ) -> Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault> {
        role_details::read(self, roles).await
    }

    async fn simulate(&self, principal: &str, simulation: &Simulation) -> Vec<Answered> {
        preflight::simulate(self, principal, simulation).await
    }

    async fn unreserved_concurrency(&self) -> Result<Option<u32>, Fault> {
        let send = || self.lambda.get_account_settings().send();
        let limit = self.call("lambda:GetAccountSettings", send).await?.account_limit;
        Ok(limit.and_then(|limit| limit.unreserved_concurrent_executions?.try_into().ok()))
    }

    async fn key_policy(&self, key: &KmsKey) -> Result<Option<Document>, Fault> {
        key_policy::key_policy(self, key).await
    }

    async fn published_version(
        &self,
        function: &FunctionName,
        version: u64,
    ) -> Result<Option<FunctionSettings>, Fault> {
        let version = version::configuration(self, function, &version.to_string()).await?;
        Ok(version.as_ref().map(version::published))
    }

    async fn function_mappings(&self, function: &FunctionName) -> Result<BTreeSet<FunctionMapping>, Fault> {
        event_source_mapping::of_function(self, function).await
    }

    async fn function_permissions(&self, function: &FunctionName) -> Result<BTreeSet<FunctionPermission>, Fault> {
        permissions::read(self, function).await
    }

    async fn dropped_clusters(&self, log: &LogGroupName) -> Result<DroppedClusters, Fault> {
        log_lines::dropped(self, log, self.now()).await
    }

    async fn event_rules(&self) -> Result<Vec<EventRule>, Fault> {
        event_rules::all(self).await
    }

    async fn rule_targets(&self, rule: &RuleName) -> Result<Option<Vec<RuleTarget>>, Fault> {
        event_rules::targets(self, rule).await
    }

    async fn rule_tags(&self, rule: &RuleName) -> Result<Option<Tags>, Fault> {
        rule::tags(self, rule).await
    }

    async fn queue_activity(&self, queues: &BTreeSet<QueueName>) -> Result<BTreeMap<QueueName, QueueActivity>, Fault> {
        queue_metrics::of_last_day(self, queues).await
    }

    fn caller_role(&self) -> Option<RoleName> {
        session_role(&self.caller).and_then(|role| role.parse().ok())
    }
}

fn names(urls: &[String]) -> BTreeSet<QueueName> {
    let names = urls.iter().filter_map(|url| url.rsplit('/').next());
    names.filter_map(|name| name.parse().ok()).collect()
}
