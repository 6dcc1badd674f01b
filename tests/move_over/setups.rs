//! What each tool creates for the interruptions of one cluster: the names, patterns, targets, tags and policies, in the
//! form that its template or module creates. One row per tool, or per variant of a tool.
//!
//! `${queue_arn}` in a policy stands for the queue, and `${rule_arn}` for the beginning of the ARN of a rule.

/// How a cluster gets onto the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Its queue has the name that a hub with this template gives it, and kibus adopts it.
    Adopt,
    /// Its queue also has that name, but the tool keeps it.
    External,
    /// It receives a new queue, and Karpenter a new setting.
    NewQueue,
}

/// A policy with this name that lets the controller read the old queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant {
    Managed(&'static str),
    Inline(&'static str),
}

/// What one tool has created for one cluster.
#[derive(Debug)]
pub(crate) struct Setup {
    /// Whether `kibus discover` names its cluster without EKS, by a tag or the role.
    pub(crate) is_named: bool,
    pub(crate) cluster: &'static str,
    /// The template of queue names of the hub that the cluster moves to.
    pub(crate) template: &'static str,
    pub(crate) way: Way,
    pub(crate) queue: &'static str,
    pub(crate) queue_tags: &'static [(&'static str, &'static str)],
    pub(crate) queue_policy: &'static str,
    /// The names of the rules, with their patterns.
    pub(crate) rules: &'static [(&'static str, &'static str)],
    pub(crate) rule_tags: &'static [(&'static str, &'static str)],
    /// The id of each rule's target.
    pub(crate) target_id: &'static str,
    /// The controller role.
    pub(crate) role: &'static str,
    pub(crate) grant: Grant,
    /// Whether Karpenter is configured to read the queue.
    pub(crate) is_read: bool,
}

const HEALTH: &str = r#"{"source":["aws.health"],"detail-type":["AWS Health Event"]}"#;
const SPOT: &str = r#"{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}"#;
const REBALANCE: &str = r#"{"source":["aws.ec2"],"detail-type":["EC2 Instance Rebalance Recommendation"]}"#;
const STATE: &str = r#"{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"]}"#;
const RESERVATION: &str =
    r#"{"source":["aws.ec2"],"detail-type":["EC2 Capacity Reservation Instance Interruption Warning"]}"#;
/// The pattern of a released template, which matches no event.
pub(super) const MISSPELLED_STATE: &str =
    r#"{"detail-type":["C2 Instance State-change Notification"],"source":["aws.ec2"]}"#;

/// Karpenter's template, and eksctl's.
const BY_TEMPLATE: &str = r#"{"Version":"2008-10-17","Id":"EC2InterruptionPolicy","Statement":[
    {"Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sqs.amazonaws.com"]},
     "Action":"sqs:SendMessage","Resource":"${queue_arn}"},
    {"Sid":"DenyHTTP","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"${queue_arn}",
     "Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}"#;
/// Terraform modules that follow terraform-aws-eks.
const BY_MODULE: &str = r#"{"Version":"2012-10-17","Statement":[
    {"Sid":"SqsWrite","Effect":"Allow","Principal":{"Service":["sqs.amazonaws.com","events.amazonaws.com"]},
     "Action":"sqs:SendMessage","Resource":"${queue_arn}"}]}"#;
const BY_MODULE_WITH_TLS: &str = r#"{"Version":"2012-10-17","Statement":[
    {"Sid":"SqsWrite","Effect":"Allow","Principal":{"Service":["sqs.amazonaws.com","events.amazonaws.com"]},
     "Action":"sqs:SendMessage","Resource":"${queue_arn}"},
    {"Sid":"DenyHTTP","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"${queue_arn}",
     "Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}"#;
const BY_ADDONS: &str = r#"{"Version":"2012-10-17","Statement":[
    {"Sid":"SendEventsToQueue","Effect":"Allow","Principal":{"Service":["sqs.amazonaws.com","events.amazonaws.com"]},
     "Action":"sqs:SendMessage","Resource":"${queue_arn}"}]}"#;
/// The CDK writes a statement for each rule.
const BY_CDK: &str = r#"{"Version":"2012-10-17","Statement":[
    {"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},
     "Action":["sqs:SendMessage","sqs:GetQueueAttributes","sqs:GetQueueUrl"],"Resource":"${queue_arn}",
     "Condition":{"ArnEquals":{"aws:SourceArn":"${rule_arn}Clusters-KarpenterScheduledChangeRule0F3C-0J1K2L3M4N5O6"}}},
    {"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},
     "Action":["sqs:SendMessage","sqs:GetQueueAttributes","sqs:GetQueueUrl"],"Resource":"${queue_arn}",
     "Condition":{"ArnEquals":{"aws:SourceArn":"${rule_arn}Clusters-KarpenterSpotInterruptionRuleA1B2-1K2L3M4N5O6P7"}}},
    {"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},
     "Action":["sqs:SendMessage","sqs:GetQueueAttributes","sqs:GetQueueUrl"],"Resource":"${queue_arn}",
     "Condition":{"ArnEquals":{"aws:SourceArn":"${rule_arn}Clusters-KarpenterRebalanceRuleC3D4-2L3M4N5O6P7Q8"}}},
    {"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},
     "Action":["sqs:SendMessage","sqs:GetQueueAttributes","sqs:GetQueueUrl"],"Resource":"${queue_arn}",
     "Condition":{"ArnEquals":{"aws:SourceArn":"${rule_arn}Clusters-KarpenterStateChangeRuleE5F6-3M4N5O6P7Q8R9"}}}]}"#;
/// A construct that adds its own statement before those of the CDK.
const BY_BLUEPRINTS: &str = r#"{"Version":"2012-10-17","Statement":[
    {"Sid":"EC2InterruptionPolicy","Effect":"Allow",
     "Principal":{"Service":["sqs.amazonaws.com","events.amazonaws.com"]},
     "Action":"sqs:SendMessage","Resource":"${queue_arn}"},
    {"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},
     "Action":["sqs:SendMessage","sqs:GetQueueAttributes","sqs:GetQueueUrl"],"Resource":"${queue_arn}",
     "Condition":{"ArnEquals":{"aws:SourceArn":"${rule_arn}blueprints-spotinterruptionruleD5E0B1CA-9Q8W7E6R5T4Y"}}}]}"#;
const BY_HAND: &str = r#"{"Version":"2012-10-17","Statement":[
    {"Sid":"EventBridgeToSQS","Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sqs.amazonaws.com"]},
     "Action":"sqs:SendMessage","Resource":"${queue_arn}"}]}"#;

/// A Terraform module.
const MODULE: Setup = Setup {
    is_named: false,
    cluster: "",
    template: "karpenter-{cluster}",
    way: Way::NewQueue,
    queue: "",
    queue_tags: &[],
    queue_policy: BY_MODULE,
    rules: &[],
    rule_tags: &[],
    target_id: "KarpenterInterruptionQueueTarget",
    role: "",
    grant: Grant::Managed(""),
    is_read: true,
};

pub(crate) const SETUPS: &[Setup] = &[
    Setup {
        // cloud-formation
        is_named: true,
        cluster: "base",
        queue: "base",
        queue_policy: BY_TEMPLATE,
        rules: &[
            ("Karpenter-base-ScheduledChangeRule-1A2B3C4D5E6F7", HEALTH),
            ("Karpenter-base-SpotInterruptionRule-2B3C4D5E6F7G8", SPOT),
            ("Karpenter-base-RebalanceRule-3C4D5E6F7G8H9", REBALANCE),
            ("Karpenter-base-InstanceStateChangeRule-4D5E6F7G8H9I0", STATE),
            ("Karpenter-base-CapacityReservationInterruptionRule-5E6F7", RESERVATION),
        ],
        role: "base-karpenter",
        grant: Grant::Managed("KarpenterControllerPolicy-base"),
        ..MODULE
    },
    Setup {
        // eksctl
        is_named: true,
        cluster: "dev",
        queue: "dev",
        queue_tags: &[("alpha.eksctl.io/cluster-name", "dev")],
        queue_policy: BY_TEMPLATE,
        rules: &[
            ("eksctl-dev-karpenter-ScheduledChangeRule-6F7G8H9I0J1K2", HEALTH),
            ("eksctl-dev-karpenter-SpotInterruptionRule-7G8H9I0J1K2L3", SPOT),
            ("eksctl-dev-karpenter-RebalanceRule-8H9I0J1K2L3M4", REBALANCE),
            ("eksctl-dev-karpenter-InstanceStateChangeRule-9I0J1K2L3M4N5", STATE),
        ],
        role: "eksctl-dev-iamservice-role",
        grant: Grant::Managed("eksctl-KarpenterControllerPolicy-dev"),
        is_read: false,
        ..MODULE
    },
    Setup {
        // cdk-eks-karpenter
        cluster: "cdk",
        template: "{cluster}",
        way: Way::External,
        queue: "cdk",
        queue_policy: BY_CDK,
        rules: &[
            ("Clusters-KarpenterScheduledChangeRule0F3C-0J1K2L3M4N5O6", HEALTH),
            ("Clusters-KarpenterSpotInterruptionRuleA1B2-1K2L3M4N5O6P7", SPOT),
            ("Clusters-KarpenterRebalanceRuleC3D4-2L3M4N5O6P7Q8", REBALANCE),
            ("Clusters-KarpenterStateChangeRuleE5F6-3M4N5O6P7Q8R9", STATE),
        ],
        target_id: "Target0",
        role: "Clusters-KarpenterRole6E7D8C9B-4N5O6P7Q8R9S",
        grant: Grant::Inline("KarpenterControllerPolicy1A2B3C4D"),
        ..MODULE
    },
    Setup {
        // terraform-aws-eks
        cluster: "old",
        queue: "Karpenter-old",
        rules: &[
            ("KarpenterHealthEvent-old", HEALTH),
            ("KarpenterSpotInterrupt-old", SPOT),
            ("KarpenterInstanceRebalance-old", REBALANCE),
            ("KarpenterInstanceStateChange-old", STATE),
        ],
        role: "KarpenterIRSA-old-20230412070102030400000002",
        grant: Grant::Managed("KarpenterIRSA-old-20230412070102030400000001"),
        ..MODULE
    },
    Setup {
        // terraform-aws-eks
        is_named: true,
        cluster: "new",
        template: "Karpenter-{cluster}",
        way: Way::Adopt,
        queue: "Karpenter-new",
        queue_tags: &[("Environment", "production")],
        queue_policy: BY_MODULE_WITH_TLS,
        rules: &[
            ("KarpenterHealthEvent-20260310091011120000000003", HEALTH),
            ("KarpenterSpotInterrupt-20260310091011120000000004", SPOT),
            ("KarpenterInstanceRebalance-20260310091011120000000005", REBALANCE),
            ("KarpenterInstanceStateChange-20260310091011120000000006", STATE),
            ("KarpenterCRInterruption-20260310091011120000000007", RESERVATION),
        ],
        rule_tags: &[("ClusterName", "new"), ("Environment", "production")],
        role: "KarpenterController-20260310091011120000000002",
        grant: Grant::Managed("KarpenterController-20260310091011120000000001"),
        ..MODULE
    },
    Setup {
        // eks-blueprints-addons
        is_named: true,
        cluster: "addons",
        way: Way::Adopt,
        queue: "karpenter-addons",
        queue_policy: BY_ADDONS,
        rules: &[
            ("Karpenter-HealthEvent-20240611131415160000000003", HEALTH),
            ("Karpenter-SpotInterrupt-20240611131415160000000004", SPOT),
            ("Karpenter-InstanceRebalance-20240611131415160000000005", REBALANCE),
            ("Karpenter-InstanceStateChange-20240611131415160000000006", STATE),
        ],
        rule_tags: &[("ClusterName", "addons")],
        target_id: "KarpenterQueueTarget",
        role: "karpenter-20240611131415160000000002",
        grant: Grant::Managed("karpenter-20240611131415160000000001"),
        ..MODULE
    },
    Setup {
        // by-hand
        is_named: true,
        cluster: "guide",
        way: Way::Adopt,
        queue: "karpenter-guide",
        queue_policy: BY_HAND,
        rules: &[
            ("karpenter-spot-interruption", SPOT),
            ("karpenter-rebalance-recommendation", REBALANCE),
            ("karpenter-instance-state-change", STATE),
            ("karpenter-scheduled-change", HEALTH),
        ],
        target_id: "karpenter-sqs",
        role: "KarpenterServiceAccount-guide",
        grant: Grant::Inline("KarpenterSQSInterruptionPolicy"),
        ..MODULE
    },
    Setup {
        // cdk-eks-blueprints
        cluster: "stack-cluster",
        queue: "blueprints",
        queue_policy: BY_BLUEPRINTS,
        rules: &[
            ("blueprints-schedulechangerule3F2A9B1C-8P7O6I5U4Y3T", HEALTH),
            ("blueprints-spotinterruptionruleD5E0B1CA-9Q8W7E6R5T4Y", SPOT),
            ("blueprints-rebalanceruleB7C6A5D4-0A9S8D7F6G5H", REBALANCE),
            ("blueprints-inststatechangerule1E2F3A4B-1Z0X9C8V7B6N", MISSPELLED_STATE),
        ],
        target_id: "Target0",
        role: "blueprints-karpentersaRole8D7C6B5A-2M1N0B9V8C7X",
        grant: Grant::Inline("karpentersaDefaultPolicy0A1B2C3D"),
        ..MODULE
    },
    Setup {
        // cloud-posse
        cluster: "eg-core-ue2-auto-eks-cluster",
        queue: "eg-core-ue2-auto-karpenter",
        queue_tags: &[("Namespace", "eg"), ("Name", "eg-core-ue2-auto-karpenter")],
        rules: &[
            ("eg-core-ue2-auto-karpenter-HealthEvent", HEALTH),
            ("eg-core-ue2-auto-karpenter-SpotInterrupt", SPOT),
            ("eg-core-ue2-auto-karpenter-InstanceRebalance", REBALANCE),
            ("eg-core-ue2-auto-karpenter-InstanceStateChange", STATE),
        ],
        rule_tags: &[("Namespace", "eg"), ("Name", "eg-core-ue2-auto-karpenter")],
        role: "eg-core-ue2-auto-karpenter-karpenter@karpenter",
        grant: Grant::Managed("eg-core-ue2-auto-karpenter-karpenter@karpenter"),
        ..MODULE
    },
];
