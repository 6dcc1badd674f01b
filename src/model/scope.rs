//! The account and Region of a bus. Each kind of resource derives its names and ARNs from it, and each message its commands.

use std::fmt::Display;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::name::{AccountId, BusName, InstanceId, NameError, Partition, Region, Topic};
use crate::error::quoted;

/// The alias of the router function that the event source mapping points to.
pub const LIVE: &str = "live";

/// One bus in one Region of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The bus; every hub resource's name begins with it.
    pub bus: BusName,
    pub account: AccountId,
    /// The Region of all resources except IAM.
    pub region: Region,
    /// The partition, as the caller's own ARN names it.
    pub partition: Partition,
    pub options: GlobalOptions,
}

// The global options, besides `--bus`, with which a command reaches a bus: exactly as given, so that a printed command
// reaches the same bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct GlobalOptions {
    /// AWS Region [default: AWS_REGION, else the Region of the profile].
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_REGION"))]
    pub region: Option<Region>,
    /// AWS profile [default: AWS_PROFILE].
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_PROFILE"))]
    pub profile: Option<String>,
    /// Endpoint for all calls, instead of the AWS endpoints. http:// is allowed only to this machine, or with KIBUS_ALLOW_HTTP=true.
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_ENDPOINT_URL", value_name = "URL"))]
    pub endpoint_url: Option<String>,
    /// Use the sandbox (see `kibus sandbox`) instead of AWS.
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_SANDBOX", conflicts_with_all = ["profile", "endpoint_url"],
        num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true,
        value_name = "BOOL", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::Set,
        hide_default_value = true, hide_possible_values = true))]
    pub sandbox: bool,
    // The whole command as given, to run it again.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub again: String,
}

impl GlobalOptions {
    pub fn kibus(&self, bus: Option<&BusName>, arguments: impl Display) -> String {
        let bus = bus.map_or_else(String::new, |bus| format!(" --bus {bus}"));
        let region = self.region.as_ref();
        let region = region.map_or_else(String::new, |region| format!(" --region {region}"));
        let sandbox = if self.sandbox { " --sandbox" } else { "" };
        format!("kibus {arguments}{bus}{region}{}{sandbox}", self.shared())
    }

    /// The options that the AWS CLI also has.
    fn shared(&self) -> String {
        let given = [("--profile", &self.profile), ("--endpoint-url", &self.endpoint_url)];
        let option = |(flag, value): (&str, &Option<String>)| Some(format!(" {flag} {}", quoted(value.as_ref()?)));
        given.into_iter().filter_map(option).collect()
    }
}

impl Scope {
    /// A whole kibus command for this bus, from a subcommand with its arguments: `add-cluster base`.
    pub fn kibus(&self, arguments: impl Display) -> String {
        let is_default = self.bus.as_str() == "kibus";
        self.kibus_on((!is_default).then_some(&self.bus), arguments)
    }

    /// A whole kibus command for another bus, or for all buses.
    pub fn kibus_on(&self, bus: Option<&BusName>, arguments: impl Display) -> String {
        self.options.kibus(bus, arguments)
    }

    /// The command as given, with these additional options.
    pub fn again(&self, more: &str) -> String {
        format!("{}{more}", self.options.again)
    }

    /// An AWS CLI call that reaches the same account as kibus: `sqs tag-queue --queue-url URL`. The variables of the
    /// sandbox are set only for this call, so that it reaches nothing else if the sandbox is not running.
    pub fn aws(&self, call: impl Display) -> String {
        if self.options.sandbox {
            format!(r#"(env=$(kibus sandbox env) && eval "$env" && aws {call} --endpoint-url "$AWS_ENDPOINT_URL")"#)
        } else {
            format!("aws {call}{}", self.options.shared())
        }
    }

    pub fn event_bus_arn(&self) -> String {
        self.arn("events", "event-bus/default")
    }

    /// The `kms:ViaService` value that KMS sees in a call that SQS makes for its caller: `sqs.REGION.amazonaws.com` (KMS
    /// developer guide, "kms:ViaService"). The guide names no other domain; where the partition has one, that is accepted
    /// too, because a wrong value would deny every message.
    pub fn sqs_services(&self) -> Vec<String> {
        let mut services = vec![format!("sqs.{}.amazonaws.com", self.region)];
        let domain = dns_suffix(&self.partition);
        if domain != "amazonaws.com" {
            services.push(format!("sqs.{}.{domain}", self.region));
        }
        services
    }

    pub fn topic_arn(&self, topic: &Topic) -> String {
        self.arn("sns", topic.name())
    }

    pub fn instance_arn(&self, instance: &InstanceId) -> String {
        self.arn("ec2", &format!("instance/{instance}"))
    }

    pub(in crate::model) fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:{}:{service}:{}:{}:{resource}", self.partition, self.region, self.account)
    }
}

/// For each partition: the prefix of its Region names, its name, and the domains of its endpoints, regular and
/// dual-stack (AWS SDK partitions.json). The prefix of the last one matches every name.
const PARTITIONS: [[&str; 4]; 8] = [
    ["cn-", "aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn"],
    ["us-gov-", "aws-us-gov", "amazonaws.com", "api.aws"],
    ["us-iso-", "aws-iso", "c2s.ic.gov", "api.aws.ic.gov"],
    ["us-isob-", "aws-iso-b", "sc2s.sgov.gov", "api.aws.scloud"],
    ["eu-isoe-", "aws-iso-e", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"],
    ["us-isof-", "aws-iso-f", "csp.hci.ic.gov", "api.aws.hci.ic.gov"],
    ["eusc-", "aws-eusc", "amazonaws.eu", "api.amazonwebservices.eu"],
    ["", "aws", "amazonaws.com", "api.aws"],
];

/// The name of a Region's partition, and the domains of its endpoints, regular and dual-stack.
pub(crate) fn partition_of(region: &str) -> (&'static str, [&'static str; 2]) {
    let row = PARTITIONS.into_iter().find(|[prefix, ..]| region.starts_with(prefix));
    let [_, name, domain, dual_stack_domain] = row.unwrap_or(PARTITIONS[7]);
    (name, [domain, dual_stack_domain])
}

/// The domain suffix of a partition's endpoints.
pub(crate) fn dns_suffix(partition: &Partition) -> &'static str {
    let row = PARTITIONS.into_iter().find(|[_, name, ..]| *name == partition.as_str());
    row.map_or("amazonaws.com", |[_, _, domain, _]| domain)
}

/// Parses a name that is valid because its parts are checked.
pub(super) fn fixed<T: FromStr<Err = NameError>>(name: String) -> T {
    #[expect(clippy::expect_used, reason = "every part was checked, and the tests hold the longest combination")]
    name.parse().expect("a name made of checked parts")
}

/// Shortens a name that is too long, and appends `-` and 8 hex digits of the full name's SHA-256.
pub(super) fn cut_with_hash(name: &str, limit: usize) -> String {
    if name.len() <= limit {
        return name.to_owned();
    }
    let hash = hex::encode(&Sha256::digest(name)[..4]);
    format!("{}-{hash}", &name[..limit - 9])
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{ClusterName, QueueTemplate, Signal};

    /// A scope for unit tests.
    pub(crate) fn scope() -> Scope {
        scope_in("aws", "us-west-2")
    }

    pub(crate) fn scope_in(partition: &str, region: &str) -> Scope {
        Scope {
            bus: "kibus".parse().unwrap(),
            account: "111122223333".parse().unwrap(),
            region: region.parse().unwrap(),
            partition: partition.parse().unwrap(),
            options: GlobalOptions::default(),
        }
    }

    #[test]
    fn a_command_reaches_the_bus_in_the_same_way() {
        let reached = |bus: &str, region: Option<&str>, profile: Option<&str>, endpoint_url: Option<&str>| {
            let region = region.map(|region| region.parse().unwrap());
            let [profile, endpoint_url] = [profile, endpoint_url].map(|given| given.map(str::to_owned));
            let options = GlobalOptions { region, profile, endpoint_url, ..GlobalOptions::default() };
            Scope { bus: bus.parse().unwrap(), options, ..scope() }
        };
        let (region, endpoint) = (Some("eu-west-1"), Some("http://[::1]:1"));
        let both = " --profile p --endpoint-url 'http://[::1]:1'";
        for (scope, kibus, others, aws) in [
            (reached("kibus", None, None, None), "", "", ""),
            (reached("one", region, None, None), " --bus one", " --region eu-west-1", ""),
            (reached("one", None, Some("a b"), None), " --bus one", "", " --profile 'a b'"),
            (reached("kibus", region, Some("p"), endpoint), "", " --region eu-west-1", both),
        ] {
            let two = "two".parse().unwrap();
            assert_eq!(scope.kibus("verify a"), format!("kibus verify a{kibus}{others}{aws}"));
            assert_eq!(scope.kibus_on(Some(&two), "status"), format!("kibus status --bus two{others}{aws}"));
            assert_eq!(scope.kibus_on(None, "list"), format!("kibus list{others}{aws}"));
            assert_eq!(scope.aws("sts a"), format!("aws sts a{aws}"));
        }
    }

    /// In a shell whose `kibus` prints the variables of the sandbox, or fails because the sandbox is not running.
    #[test]
    fn a_call_for_the_sandbox_reaches_nothing_else() {
        let options = GlobalOptions { sandbox: true, ..GlobalOptions::default() };
        let scope = Scope { options, ..scope() };
        assert_eq!(scope.kibus("list"), "kibus list --sandbox");
        let line = scope.aws("sts a");
        for (kibus, reached) in
            [("echo export AWS_ENDPOINT_URL=http://here", "sts a --endpoint-url http://here"), ("return 1", "")]
        {
            let script = format!("aws() {{ echo \"$@\"; }}\nkibus() {{ {kibus}; }}\n{line}");
            let output = std::process::Command::new("sh").args(["-c", &script]).env_clear().output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), reached, "{script}");
        }
    }

    #[test]
    fn every_name_fits_with_the_longest_bus_and_region() {
        let bus = "a2345678901234567890".parse().unwrap();
        let longest = Scope { bus, region: "us-isob-northcentral-123".parse().unwrap(), ..scope() };
        let cluster: ClusterName = "c".repeat(100).parse().unwrap();
        let template: QueueTemplate = format!("{}{{cluster}}-", "p".repeat(49)).parse().unwrap();
        assert_eq!(longest.cluster_queue(&template, &cluster).as_str().len(), 80);
        assert!(longest.controller_policy(&cluster).as_str().len() <= 128);
        assert!([longest.router_role(), longest.drill_role()].iter().all(|role| role.as_str().len() <= 64));
        assert!(longest.router_log_group().as_str().ends_with("-router"));
        assert!(longest.hub_queues().iter().all(|name| name.as_str().len() <= 80));
        assert!(longest.router_function().as_str().ends_with("-router"));
        assert!(Signal::ALL.iter().all(|signal| longest.rule(*signal).as_str().len() <= 64));
    }

    proptest! {
        /// As far as the hash of a shortened name distinguishes them. Cluster names often start or end alike.
        #[test]
        fn no_two_clusters_have_one_queue(
            (before, after) in ("[A-Za-z0-9_-]{0,50}", "[A-Za-z0-9_-]{0,50}"),
            (start, end) in ("[A-Za-z0-9][A-Za-z0-9_-]{0,50}", "[A-Za-z0-9_-]{0,40}"),
            parts in ["[A-Za-z0-9_-]{0,9}", "[A-Za-z0-9_-]{0,9}"],
        ) {
            let before = &before[..before.len().min(50 - after.len())];
            let template: QueueTemplate = format!("{before}{{cluster}}{after}").parse().unwrap();
            let names = parts.map(|part| format!("{start}{part}{end}").parse::<ClusterName>().unwrap());
            let queues = names.each_ref().map(|name| scope().cluster_queue(&template, name));
            for (name, queue) in names.iter().zip(&queues) {
                let queue = queue.as_str();
                let part = queue.strip_prefix(before).and_then(|rest| rest.strip_suffix(after.as_str())).unwrap();
                let whole = before.len() + name.as_str().len() + after.len();
                prop_assert_eq!(queue.len(), whole.min(80));
                prop_assert!(part == name.as_str() || whole > 80 && name.as_str().starts_with(&part[..part.len() - 9]));
            }
            prop_assert_eq!(names[0] == names[1], queues[0] == queues[1]);
        }
    }

    /// With dashes between the parts, these two would be the same policy.
    #[test]
    fn the_policy_of_a_cluster_is_that_of_no_other_bus() {
        let [first, second] = [("a", "us-west-2-x"), ("a-us-west-2", "x")].map(|(bus, cluster)| {
            let scope = Scope { bus: bus.parse().unwrap(), ..scope() };
            (scope.controller_policy(&cluster.parse().unwrap()), scope)
        });
        assert_ne!(first.0, second.0);
        assert_eq!(first.1.cluster_of_policy(&second.0), None);
        assert_eq!(second.1.cluster_of_policy(&first.0), None);
    }

    #[test]
    fn a_role_has_its_path_and_a_url_its_custom_endpoint() {
        let role = scope().role_arn(&"/x/".parse().unwrap(), &scope().router_role());
        assert_eq!(role, "arn:aws:iam::111122223333:role/x/kibus-router-us-west-2");
        let url = scope().queue_url(Some("http://127.0.0.1:4566/"), &scope().hub_queue());
        assert_eq!(url, "http://127.0.0.1:4566/111122223333/kibus-hub");
    }
}
