//! The account and Region of a bus, and every name and ARN that kibus computes. No other module makes names.

use sha2::{Digest, Sha256};

use super::name::{
    AccountId, BusName, ClusterName, FunctionName, LogGroupName, NameError, Partition, PolicyName, QueueName,
    QueuePrefix, Region, RoleName, RolePath, RuleName,
};
use super::signal::Signal;

/// The alias of the router function that the event source mapping points to.
pub const LIVE: &str = "live";

/// One bus in one Region of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The bus; every hub resource's name begins with it.
    pub bus: BusName,
    /// The account of all resources.
    pub account: AccountId,
    /// The Region of all resources except IAM.
    pub region: Region,
    /// The partition, as the caller's own ARN names it.
    pub partition: Partition,
}

impl Scope {
    /// The hub queue, which every rule delivers to.
    #[must_use]
    pub fn hub_queue(&self) -> QueueName {
        self.fixed(format!("{}-hub", self.bus))
    }

    /// The dead-letter queue of the hub queue and of every rule's target.
    #[must_use]
    pub fn dead_letter_queue(&self) -> QueueName {
        self.fixed(format!("{}-hub-dlq", self.bus))
    }

    /// The queue of the cluster that does not exist, for probes.
    #[must_use]
    pub fn probe_queue(&self) -> QueueName {
        self.fixed(format!("{}-probe", self.bus))
    }

    /// The role that the router function runs as. IAM is global, so the Region is part of the name.
    #[must_use]
    pub fn router_role(&self) -> RoleName {
        self.fixed(format!("{}-router-{}", self.bus, self.region))
    }

    /// The inline policy of the router's role; it has the role's name.
    #[must_use]
    pub fn router_policy(&self) -> PolicyName {
        self.fixed(format!("{}-router-{}", self.bus, self.region))
    }

    /// The router function.
    #[must_use]
    pub fn router_function(&self) -> FunctionName {
        self.fixed(format!("{}-router", self.bus))
    }

    /// The log group that Lambda writes the router's output to.
    #[must_use]
    pub fn router_log_group(&self) -> LogGroupName {
        self.fixed(format!("/aws/lambda/{}-router", self.bus))
    }

    /// The rule of one kind of signal.
    #[must_use]
    pub fn rule(&self, signal: Signal) -> RuleName {
        self.fixed(format!("{}-{}", self.bus, signal.slug()))
    }

    /// The names that a cluster's queue must not have.
    #[must_use]
    pub fn hub_queues(&self) -> [QueueName; 3] {
        [self.hub_queue(), self.dead_letter_queue(), self.probe_queue()]
    }

    /// The queue of a cluster: prefix and name, cut to the length that SQS allows, with a hash that keeps it unique.
    #[must_use]
    pub fn cluster_queue(&self, prefix: &QueuePrefix, cluster: &ClusterName) -> QueueName {
        self.fixed(cut_with_hash(&format!("{prefix}{cluster}"), 80))
    }

    /// The prefix of the inline policies on controller roles.
    #[must_use]
    pub fn controller_policies_prefix(&self) -> String {
        format!("{}-{}-", self.bus, self.region)
    }

    /// The inline policy on a cluster's controller role.
    #[must_use]
    pub fn controller_policy(&self, cluster: &ClusterName) -> PolicyName {
        self.fixed(cut_with_hash(&format!("{}-{}-{cluster}", self.bus, self.region), 128))
    }

    /// The cluster in the name of an inline policy that [`Self::controller_policy`] made; `None` for other names. The
    /// name of a policy that was cut gives a name that no cluster has.
    #[must_use]
    pub fn cluster_of_policy(&self, policy: &PolicyName) -> Option<ClusterName> {
        let start = format!("{}-{}-", self.bus, self.region);
        policy.as_str().strip_prefix(&start)?.parse().ok()
    }

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

    fn arn(&self, service: &str, resource: &str) -> String {
        format!(
            "arn:{}:{service}:{}:{}:{resource}",
            self.partition, self.region, self.account
        )
    }

    /// Parses a name that is valid because its parts are checked.
    fn fixed<T: std::str::FromStr<Err = NameError>>(&self, name: String) -> T {
        #[expect(
            clippy::expect_used,
            reason = "every part was checked, and the tests hold the longest combination"
        )]
        name.parse().expect("a name made of checked parts")
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

/// Cuts a name that is too long and ends it with `-` and 8 hex digits of the whole name's SHA-256.
fn cut_with_hash(name: &str, limit: usize) -> String {
    if name.len() <= limit {
        return name.to_owned();
    }
    let digest = Sha256::digest(name.as_bytes());
    let hash: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
    format!("{}-{hash}", &name[..limit - 9])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A scope for unit tests that need any.
    pub(crate) fn scope() -> Scope {
        scope_in("aws", "us-west-2")
    }

    pub(crate) fn scope_in(partition: &str, region: &str) -> Scope {
        Scope {
            bus: "kibus".parse().unwrap(),
            account: "111122223333".parse().unwrap(),
            region: region.parse().unwrap(),
            partition: partition.parse().unwrap(),
        }
    }

    #[test]
    fn every_name_fits_with_the_longest_bus_and_region() {
        let longest = Scope {
            bus: "a2345678901234567890".parse().unwrap(),
            region: "us-isob-northcentral-123".parse().unwrap(),
            ..scope()
        };
        let cluster: ClusterName = "c".repeat(100).parse().unwrap();
        let prefix: QueuePrefix = "p".repeat(40).parse().unwrap();
        assert_eq!(longest.cluster_queue(&prefix, &cluster).as_str().len(), 80);
        assert!(longest.controller_policy(&cluster).as_str().len() <= 128);
        assert!(longest.router_role().as_str().len() <= 64);
        assert!(longest.router_log_group().as_str().ends_with("-router"));
        assert!(longest.hub_queues().iter().all(|name| name.as_str().len() <= 80));
        assert!(longest.router_function().as_str().ends_with("-router"));
        for signal in Signal::ALL {
            assert!(longest.rule(signal).as_str().len() <= 64, "{signal:?}");
        }
    }

    #[test]
    fn long_names_that_begin_alike_stay_apart() {
        let prefix: QueuePrefix = "karpenter-".parse().unwrap();
        let (a, b) = ("c".repeat(99) + "a", "c".repeat(99) + "b");
        let (a, b) = (a.parse().unwrap(), b.parse().unwrap());
        assert_ne!(scope().cluster_queue(&prefix, &a), scope().cluster_queue(&prefix, &b));
        assert_ne!(
            scope().controller_policy(&a),
            scope().cluster_queue(&prefix, &b).as_str().parse().unwrap()
        );
    }

    #[test]
    fn arns_and_urls_follow_the_partition() {
        for (partition, region, host) in [
            ("aws", "us-west-2", "sqs.us-west-2.amazonaws.com"),
            ("aws-cn", "cn-north-1", "sqs.cn-north-1.amazonaws.com.cn"),
            ("aws-us-gov", "us-gov-west-1", "sqs.us-gov-west-1.amazonaws.com"),
        ] {
            let scope = scope_in(partition, region);
            let queue = scope.hub_queue();
            assert_eq!(
                scope.queue_arn(&queue),
                format!("arn:{partition}:sqs:{region}:111122223333:kibus-hub")
            );
            assert_eq!(
                scope.queue_url(None, &queue),
                format!("https://{host}/111122223333/kibus-hub")
            );
            assert_eq!(
                scope.role_arn(&"/x/".parse().unwrap(), &scope.router_role()),
                format!("arn:{partition}:iam::111122223333:role/x/kibus-router-{region}")
            );
        }
        assert_eq!(
            scope().queue_url(Some("http://127.0.0.1:4566/"), &scope().hub_queue()),
            "http://127.0.0.1:4566/111122223333/kibus-hub"
        );
    }
}
