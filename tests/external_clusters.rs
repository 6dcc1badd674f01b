//! Clusters whose queues another tool owns: what is exported for them, and what becomes of it once it is applied.

mod applied;
mod languages;

use std::process::Command;

use kibus::export::{self, Contract, Format};
use kibus::model::{
    Cluster, ClusterName, Document, GlobalOptions, HubOptions, OrNone, Queue, Resource, Scope, Settings, UserTag,
    tags::EXTERNAL,
};
use serde_json::{Value, json};

use languages::Asked;

const ACCOUNT: &str = "111122223333";
const ROLE: &str = "controller,of@base";

fn scope(partition: &str, region: &str) -> Scope {
    Scope {
        bus: "kibus".parse().unwrap(),
        account: ACCOUNT.parse().unwrap(),
        region: region.parse().unwrap(),
        partition: partition.parse().unwrap(),
        options: GlobalOptions::default(),
    }
}

fn tag(key: &str, value: &str) -> OrNone<UserTag> {
    let (key, value) = (key.to_owned(), value.to_owned());
    OrNone(Some(UserTag { key, value }))
}

/// The options that matter to a cluster.
fn hubs() -> Vec<HubOptions> {
    let key = format!("arn:aws:kms:us-west-2:{ACCOUNT}:key/1234");
    let all = HubOptions {
        queue_prefix: Some("Team_".parse().unwrap()),
        kms_key: Some(OrNone(Some(key.parse().unwrap()))),
        lock_queues: Some(false),
        tag: Some(vec![tag("team", "a b"), tag("on", "yes")]),
        ..HubOptions::default()
    };
    let none = HubOptions { queue_prefix: Some("".parse().unwrap()), ..HubOptions::default() };
    vec![HubOptions::default(), all, none]
}

/// A policy without the names of its statements.
fn unnamed(policy: &Document) -> Document {
    let mut policy = policy.clone();
    for statement in policy.value_mut()["Statement"].as_array_mut().unwrap() {
        let sid = statement.as_object_mut().unwrap().remove("Sid");
        assert!(sid.is_some_and(|sid| sid != ""), "{statement}");
    }
    policy
}

fn without_names(mut asked: Asked) -> Asked {
    asked.queue.policy = asked.queue.policy.as_ref().map(unnamed);
    asked.controller = asked.controller.map(|(role, policy)| (role, unnamed(&policy)));
    asked
}

/// What kibus itself would create, with the tag of the owner.
fn wanted(scope: &Scope, settings: &Settings, cluster: &ClusterName, role: &str, format: Format) -> Asked {
    let options = &settings.options;
    let name = role.to_owned();
    let role = Some(role.parse().unwrap());
    let mut cluster = Cluster::new(scope, &options.queue_prefix(), cluster.clone(), role);
    cluster.tags = options.tags().with(EXTERNAL, format.word());
    let desired = cluster.desired(scope, settings);
    let queue: Vec<&Queue> = desired.resources().filter_map(Resource::as_queue).collect();
    let policy = desired.resources().find_map(Resource::as_role_policy).unwrap();
    without_names(Asked { queue: queue[0].clone(), controller: Some((name, policy.document.clone())) })
}

#[test]
fn every_language_asks_for_what_kibus_creates() {
    let names = ["base", "Base_1", &"c".repeat(70), &"c".repeat(71), &"c".repeat(100)];
    let (mut cut, mut checked) = (0, 0);
    for (partition, region) in [("aws", "us-west-2"), ("aws-cn", "cn-north-1")] {
        let scope = scope(partition, region);
        for options in hubs() {
            let settings: Settings = options.into();
            for name in names.map(|name| name.parse::<ClusterName>().unwrap()) {
                let role_arn = scope.roles_arn(&format!("teams/{ROLE}"));
                let queue = scope.cluster_queue(&settings.options.queue_prefix(), &name);
                let arn = scope.queue_arn(&queue);
                cut += usize::from(!queue.as_str().ends_with(name.as_str()));
                let export = |format, role| Contract::new(&scope, &settings, &name, role, format);
                let given = Some(role_arn.as_str());
                let named = json!({ "cluster": name, "controller_role": ROLE });
                let only_role = json!({ "controller_role": ROLE });

                let expected = wanted(&scope, &settings, &name, ROLE, Format::Terraform);
                for (any, role, variables) in [
                    (false, given, json!({})),
                    (false, None, only_role),
                    (true, given, named.clone()),
                    (true, None, named),
                ] {
                    let text = export(Format::Terraform, role).terraform(any);
                    let asked = languages::terraform(&text, &variables, &arn);
                    assert_eq!(without_names(asked), expected, "{text}");
                    assert!(
                        !text.contains(ACCOUNT) && (!any || !text.contains(name.as_str()) || name.as_str() == "base"),
                        "{text}"
                    );
                    checked += 1;
                }

                let expected = wanted(&scope, &settings, &name, ROLE, Format::CloudFormation);
                for (role, parameter) in [(given, None), (None, Some(ROLE))] {
                    let text = export(Format::CloudFormation, role).cloud_formation();
                    let asked = languages::cloud_formation(&text, parameter, &arn);
                    assert_eq!(without_names(asked), expected, "{text}");
                    assert!(!text.contains(ACCOUNT), "{text}");
                }

                let expected = wanted(&scope, &settings, &name, ROLE, Format::Ack);
                let asked = languages::ack(&export(Format::Ack, given).ack());
                assert_eq!(without_names(asked), granted(expected, &arn, &role_arn));
            }
        }
    }
    assert!(cut > 0 && cut < checked);
}

/// The same with the permission in the policy of the queue, which no policy for a key can be in.
fn granted(mut asked: Asked, queue_arn: &str, role_arn: &str) -> Asked {
    let (_, controller) = asked.controller.take().unwrap();
    let statements = controller.statements().into_iter().cloned();
    let mut grants: Vec<Value> = statements.filter(|one| one["Resource"] == queue_arn).collect();
    assert_eq!(grants.len(), 1);
    grants[0]["Principal"] = json!({ "AWS": role_arn });
    let policy = asked.queue.policy.as_mut().unwrap().value_mut();
    policy["Statement"].as_array_mut().unwrap().append(&mut grants);
    asked
}

#[test]
fn a_tag_is_never_an_expression() {
    let options = HubOptions { tag: Some(vec![tag("a", "${path.root}%{x}")]), ..HubOptions::default() };
    let settings: Settings = options.into();
    let (scope, name) = (scope("aws", "us-west-2"), "base".parse().unwrap());
    let role = Some("arn:aws:iam::111122223333:role/r");
    let contract = |format| Contract::new(&scope, &settings, &name, role, format);
    let arn = scope.queue_arn(&"karpenter-base".parse().unwrap());
    let asked = [
        languages::terraform(&contract(Format::Terraform).terraform(false), &json!({}), &arn),
        languages::cloud_formation(&contract(Format::CloudFormation).cloud_formation(), None, &arn),
    ];
    for asked in asked {
        assert_eq!(asked.queue.tags.get("a"), Some("${path.root}%{x}"));
    }
}

#[test]
fn a_hub_is_data() {
    let scope = scope("aws", "us-west-2");
    for options in hubs() {
        let prefix = options.queue_prefix();
        let text = export::hub(&scope, &options.into());
        let names = ["base", &"c".repeat(100)];
        let hub_queue = scope.queue_arn(&scope.hub_queue());
        let (locals, body) = languages::evaluated(&text, &json!({ "clusters": names }), &hub_queue);
        assert!(!body.blocks().any(|block| block.identifier() == "resource"), "{text}");
        for name in names {
            let queue = scope.cluster_queue(&prefix, &name.parse().unwrap());
            assert_eq!(locals["queue_names"][name], queue.as_str());
        }
        assert_eq!(locals["hub"]["hub_queue_arn"], hub_queue);
        assert!(!text.contains(ACCOUNT), "{text}");
    }
}

/// The texts are laid out as `terraform fmt` does, where that is found.
#[test]
fn terraform_would_not_lay_the_texts_out_otherwise() {
    let scope = scope("aws", "us-west-2");
    for options in hubs() {
        let settings = Settings::from(options);
        let name = "base".parse().unwrap();
        let contract = Contract::new(&scope, &settings, &name, None, Format::Terraform);
        for text in [contract.terraform(false), contract.terraform(true), export::hub(&scope, &settings)] {
            assert!(text.lines().all(|line| line.len() <= 140 && line.trim_end() == line), "{text}");
            assert!(text.ends_with("}\n") && !text.contains("\n\n\n"), "{text}");
            if applied::terraform_found() {
                let folder = tempfile::TempDir::new().unwrap();
                std::fs::write(folder.path().join("main.tf"), &text).unwrap();
                let mut command = Command::new("terraform");
                command.args(["fmt", "-check", "-diff"]).current_dir(folder.path());
                let output = command.output().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            }
        }
    }
}
