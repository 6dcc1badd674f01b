//! Clusters whose queues another tool owns: the exported code, and the result of applying it.

mod applied;
pub(crate) mod languages;

use kibus::export::{self, Contract, Format};
use kibus::model::{ClusterName, ClusterRecord, Document, HubOptions, Maker, Moment, Resource, Scope, Settings};
use serde_json::json;

use languages::Asked;

use crate::permissions::{self, typed};
use crate::support::emulator::ACCOUNT;

const ROLE: &str = "controller,of@base";

fn scope(partition: &str, region: &str) -> Scope {
    Scope { region: region.parse().unwrap(), partition: partition.parse().unwrap(), ..permissions::scope() }
}

/// The options that matter to a cluster.
fn hubs() -> Vec<HubOptions> {
    let key = format!("arn:aws:kms:us-west-2:{ACCOUNT}:key/1234");
    let all = typed(&format!("--queue-name Team_{{cluster}}-events --kms-key {key}"));
    let tags = Some(["team=a b", "on=yes"].map(|tag| tag.parse().unwrap()).to_vec());
    let longest = format!("{}{{cluster}}{}", "a".repeat(20), "z".repeat(30));
    let naming = ["{cluster}", "{cluster}-karpenter", &longest].map(|name| typed(&format!("--queue-name {name}")));
    [HubOptions::default(), HubOptions { tag: tags, ..all }].into_iter().chain(naming).collect()
}

/// A policy without the Sids of its statements.
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
    asked.controller.1 = unnamed(&asked.controller.1);
    asked
}

/// What kibus itself would create, and the record of its owner.
fn wanted(scope: &Scope, settings: &Settings, cluster: &ClusterName, role: &str, format: Format) -> Asked {
    let options = &settings.options;
    let record = ClusterRecord::new(scope, options, cluster.clone(), Moment::default());
    let own = ClusterRecord { role: Some(role.parse().unwrap()), ..record.clone() };
    let desired = own.desired(scope, settings);
    let queue = desired.resources().find_map(Resource::as_queue).unwrap();
    let policy = desired.resources().find_map(Resource::as_role_policy).unwrap();
    let made_by = Maker::Tool(format.word());
    without_names(Asked {
        record: (scope.record_parameter(cluster), ClusterRecord { made_by, external: true, since: None, ..record }),
        queue: queue.clone(),
        controller: (role.to_owned(), policy.document.clone()),
    })
}

#[test]
fn every_language_asks_for_what_kibus_creates() {
    let names =
        ["base", "Base_1", &"c".repeat(30), &"c".repeat(31), &"c".repeat(70), &"c".repeat(71), &"c".repeat(100)];
    let (mut cut, mut checked) = (0, 0);
    for (partition, region) in [("aws", "us-west-2"), ("aws-cn", "cn-north-1")] {
        let scope = scope(partition, region);
        for options in hubs() {
            let settings: Settings = options.into();
            for name in names.map(|name| name.parse::<ClusterName>().unwrap()) {
                let queue = scope.cluster_queue(&settings.options.queue_template(), &name);
                let arn = scope.queue_arn(&queue);
                cut += usize::from(!queue.as_str().contains(name.as_str()));
                let export = |format, role| Contract::new(&scope, &settings, &name, role, format);
                let role = ROLE.parse().unwrap();
                let given = Some(&role);
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
            }
        }
    }
    assert!(cut > 0 && cut < checked);
}

#[test]
fn a_hub_is_data() {
    let scope = scope("aws", "us-west-2");
    for options in hubs() {
        let template = options.queue_template();
        let text = export::hub(&scope, &options.into());
        let names = ["base", &"c".repeat(100)];
        let hub_queue = scope.queue_arn(&scope.hub_queue());
        let (locals, body) = languages::evaluated(&text, &json!({ "clusters": names }), &hub_queue);
        assert!(!body.blocks().any(|block| block.identifier() == "resource"), "{text}");
        for name in names {
            let queue = scope.cluster_queue(&template, &name.parse().unwrap());
            assert_eq!(locals["queue_names"][name], queue.as_str());
        }
        assert_eq!(locals["hub"]["hub_queue_arn"], hub_queue);
        assert!(!text.contains(ACCOUNT), "{text}");
    }
}

/// The Terraform export with each of these options.
fn texts() -> Vec<String> {
    let (scope, name) = (scope("aws", "us-west-2"), "base".parse().unwrap());
    let of_hub = |options: HubOptions| {
        let settings = Settings::from(options);
        let contract = Contract::new(&scope, &settings, &name, None, Format::Terraform);
        [contract.terraform(false), contract.terraform(true), export::hub(&scope, &settings)]
    };
    hubs().into_iter().flat_map(of_hub).collect()
}

#[test]
fn no_text_for_terraform_has_long_lines_or_odd_ends() {
    for text in texts() {
        assert!(text.lines().all(|line| line.len() <= 140 && line.trim_end() == line), "{text}");
        assert!(text.ends_with("}\n") && !text.contains("\n\n\n"), "{text}");
    }
}
