//! Partitions: every ARN that kibus writes, prints or sends is in the caller's partition.

use std::collections::BTreeSet;

use aws_sdk_sqs::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use kibus::iam::operator_policy;
use kibus::model::{
    ClusterRecord, Code, Desired, Document, Fact, GlobalOptions, Hub, HubOptions, KmsKey, Moment, Observed, OrNone,
    Partition, Region, Scope, policy,
};
use kibus::plan::{Plan, plan};
use kibus::reconcile::ClusterSummary;
use kibus::ui::{HubReport, Report, text};

/// One Region of every partition with a public endpoint.
const PLACES: [(&str, &str); 8] = [
    ("aws", "us-west-2"),
    ("aws", "ap-southeast-3"),
    // Its policies name queues without tag conditions.
    ("aws", "eu-south-2"),
    ("aws-cn", "cn-north-1"),
    ("aws-cn", "cn-northwest-1"),
    ("aws-us-gov", "us-gov-west-1"),
    ("aws-us-gov", "us-gov-east-1"),
    ("aws-eusc", "eusc-de-east-1"),
];

fn scope(partition: &str, region: &str) -> Scope {
    Scope {
        bus: "kibus".parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: region.parse::<Region>().unwrap(),
        partition: partition.parse::<Partition>().unwrap(),
        options: GlobalOptions::default(),
    }
}

/// Hub options with every option that contains an ARN.
fn options(scope: &Scope) -> HubOptions {
    let Scope { partition, region, .. } = scope;
    let key: KmsKey = format!("arn:{partition}:kms:{region}:111122223333:key/1").parse().unwrap();
    let boundary = format!("arn:{partition}:iam::111122223333:policy/boundary");
    HubOptions {
        kms_key: Some(OrNone(Some(key))),
        permissions_boundary: Some(OrNone(Some(boundary.parse().unwrap()))),
        rebalance: Some(true),
        ..HubOptions::default()
    }
}

fn cluster(scope: &Scope, options: &HubOptions) -> Desired {
    let mut record = ClusterRecord::new(scope, options, "base".parse().unwrap(), Moment(1));
    record.role = Some("r".parse().unwrap());
    record.desired(scope, &options.clone().into())
}

fn key(options: &HubOptions) -> Option<&KmsKey> {
    options.kms_key.as_ref()?.0.as_ref()
}

/// The partitions of all ARNs in a text, and the number of ARNs.
fn arns(text: &str) -> (BTreeSet<&str>, usize) {
    let mut found = (BTreeSet::new(), 0);
    for (at, _) in text.match_indices("arn:") {
        // A field is also named `arn`.
        let rest = &text[at + "arn:".len()..];
        if !rest.starts_with(' ') {
            found.0.insert(rest.split(':').next().unwrap());
            found.1 += 1;
        }
    }
    found
}

fn first_plan(scope: &Scope, desired: &Desired) -> Plan {
    let absent: Observed = desired.ids().map(|id| (id.clone(), Fact::Absent)).collect();
    plan(scope, desired, &absent)
}

#[test]
fn every_arn_is_in_the_callers_partition() {
    for (partition, region) in PLACES {
        let scope = scope(partition, region);
        let options = options(&scope);
        let mut desired = Hub::new(&scope, options.clone(), Code::of_archive("0.1.0", "aa")).desired();
        desired.extend(cluster(&scope, &options));
        let plan = first_plan(&scope, &desired);
        let report = Report::from(HubReport {
            changes: plan.changes.clone(),
            clusters: vec![ClusterSummary {
                found_by: Default::default(),
                name: "base".parse().unwrap(),
                queue: "karpenter-base".parse().unwrap(),
                queue_arn: scope.queue_arn(&"karpenter-base".parse().unwrap()),
                controller_role: None,
                external: false,
                damage: None,
            }],
            ..HubReport::of(&scope)
        });
        let shown = text::plan(&scope, &plan, &[], true, text::Style { verbose: 1, ..text::Style::default() });
        let queue = scope.hub_queue();
        let boundary = format!("arn:{partition}:iam::{}:policy/b", scope.account).parse().ok();
        let bounded = HubOptions { permissions_boundary: Some(OrNone(boundary)), ..options.clone() };
        let roles = BTreeSet::from([scope.roles_arn("r")]);
        let document = |document: Document| document.compact();
        for (what, text) in [
            ("the resources", format!("{desired:?}")),
            ("the changes", format!("{:?}", plan.changes)),
            ("the plan as text", shown),
            ("the plan as JSON", report.to_json().to_string()),
            ("the operator's policy", document(operator_policy::operator(&scope, &bounded))),
            ("the operator's policy, for clusters", document(operator_policy::clusters(&scope, &options, &roles))),
            ("the router's policy", document(policy::router_policy(&scope, &options))),
            ("a controller's policy", document(policy::controller_policy(&scope, &queue, key(&options)))),
        ] {
            let (partitions, count) = arns(&text);
            assert!(count > 0, "no ARN in {what}: {text}");
            assert_eq!(partitions, BTreeSet::from([partition]), "{what} in {region}: {text}");
            assert!(!text.contains("us-west-2") || region == "us-west-2", "{what} in {region}: {text}");
            let text = scope.sqs_services().iter().fold(text, |text, name| text.replace(name, ""));
            // A service has the same name in every partition (aws/aws-cdk#2198, terraform-aws-modules/terraform-aws-eks#2932).
            for (at, domain) in text.match_indices(".amazonaws.com") {
                let (before, after) = (&text[..at], &text[at + domain.len()..]);
                let known = before.ends_with("events") || before.ends_with("lambda");
                assert!(known && !after.starts_with('.'), "{what} in {region}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn queue_urls_match_the_endpoints_of_the_sdk() {
    for (partition, region) in PLACES {
        let params = Params::builder().region(region).build().unwrap();
        let endpoint = DefaultResolver::new().resolve_endpoint(&params).await.unwrap();
        let scope = scope(partition, region);
        assert_eq!(scope.queue_url(None, &scope.hub_queue()), format!("{}/111122223333/kibus-hub", endpoint.url()));
    }
}
