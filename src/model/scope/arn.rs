//! The ARNs, the patterns for them, and the addresses of the resources of a bus.

use super::Scope;
use crate::model::name::{FunctionName, LogGroupName, Partition, QueueName, QueuePrefix, RoleName, RolePath, RuleName};

impl Scope {
    /// The ARN of a queue of this account and Region.
    #[must_use]
    pub fn queue_arn(&self, queue: &QueueName) -> String {
        self.arn("sqs", queue.as_str())
    }

    /// A pattern for the ARN of every queue whose name begins with this.
    #[must_use]
    pub fn queues_arn(&self, prefix: &QueuePrefix) -> String {
        self.arn("sqs", &format!("{prefix}*"))
    }

    /// A pattern for the ARNs of the hub's queues. It has those of a bus whose name begins with this one's, so it needs a
    /// condition on their tag.
    #[must_use]
    pub fn hub_queues_arn(&self) -> String {
        self.arn("sqs", &format!("{}-*", self.bus))
    }

    /// Patterns for the ARNs of the queues that the router sends to: those of clusters, and the probe queue.
    #[must_use]
    pub fn cluster_queue_arns(&self, prefix: &QueuePrefix) -> [String; 2] {
        [self.queues_arn(prefix), self.queue_arn(&self.probe_queue())]
    }

    /// The ARN of the default event bus.
    #[must_use]
    pub fn event_bus_arn(&self) -> String {
        self.arn("events", "event-bus/default")
    }

    /// A pattern for the ARN of every rule of this bus on the default event bus. It has the rules of a bus whose name
    /// begins with this one's, so it is for denials.
    #[must_use]
    pub fn rules_arn(&self) -> String {
        self.arn("events", &format!("rule/{}-*", self.bus))
    }

    /// The ARN of a role by its path and name without the first slash, or a pattern of both.
    #[must_use]
    pub fn roles_arn(&self, pattern: &str) -> String {
        format!("arn:{}:iam::{}:role/{pattern}", self.partition, self.account)
    }

    /// What KMS sees as `kms:ViaService` in a call that SQS makes for its caller: `sqs.REGION.amazonaws.com` (KMS
    /// developer guide, "kms:ViaService"). The guide names no other domain; where the partition has one, that is accepted
    /// too, because a wrong value would deny every message.
    #[must_use]
    pub fn sqs_services(&self) -> Vec<String> {
        let mut services = vec![format!("sqs.{}.amazonaws.com", self.region)];
        let domain = dns_suffix(&self.partition);
        if domain != "amazonaws.com" {
            services.push(format!("sqs.{}.{domain}", self.region));
        }
        services
    }

    /// The ARN of a rule on the default event bus.
    #[must_use]
    pub fn rule_arn(&self, rule: &RuleName) -> String {
        self.arn("events", &format!("rule/{rule}"))
    }

    /// The ARN of a function, without a qualifier.
    #[must_use]
    pub fn function_arn(&self, function: &FunctionName) -> String {
        self.arn("lambda", &format!("function:{function}"))
    }

    /// The ARN of a function's alias.
    #[must_use]
    pub fn alias_arn(&self, function: &FunctionName, alias: &str) -> String {
        self.arn("lambda", &format!("function:{function}:{alias}"))
    }

    /// The ARN of a log group, without the trailing `:*` that stands for its streams.
    #[must_use]
    pub fn log_group_arn(&self, group: &LogGroupName) -> String {
        self.arn("logs", &format!("log-group:{group}"))
    }

    /// The ARN of a role with its path.
    #[must_use]
    pub fn role_arn(&self, path: &RolePath, role: &RoleName) -> String {
        format!("arn:{}:iam::{}:role{path}{role}", self.partition, self.account)
    }

    /// The address of a queue, computed: asking `GetQueueUrl` cannot tell "absent" from "no access".
    ///
    /// `endpoint` is a custom SQS endpoint, if the call goes to one.
    #[must_use]
    pub fn queue_url(&self, endpoint: Option<&str>, queue: &QueueName) -> String {
        match endpoint {
            Some(endpoint) => format!("{}/{}/{queue}", endpoint.trim_end_matches('/'), self.account),
            None => format!(
                "https://sqs.{}.{}/{}/{queue}",
                self.region,
                dns_suffix(&self.partition),
                self.account
            ),
        }
    }

    pub(in crate::model) fn arn(&self, service: &str, resource: &str) -> String {
        format!(
            "arn:{}:{service}:{}:{}:{resource}",
            self.partition, self.region, self.account
        )
    }
}

/// The domain that a partition's endpoints end in (AWS SDK partitions.json).
pub(crate) fn dns_suffix(partition: &Partition) -> &'static str {
    match partition.as_str() {
        "aws-cn" => "amazonaws.com.cn",
        "aws-iso" => "c2s.ic.gov",
        "aws-iso-b" => "sc2s.sgov.gov",
        "aws-iso-e" => "cloud.adc-e.uk",
        "aws-iso-f" => "csp.hci.ic.gov",
        "aws-eusc" => "amazonaws.eu",
        _ => "amazonaws.com",
    }
}
