//! Drift: changes by others are found and fixed, and resources of others are not changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_eventbridge::types::SqsParameters;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{
    AliasRoutingConfiguration, ApplicationLogLevel, FileSystemConfig, Filter, FilterCriteria, LayerVersionContentInput,
    LogFormat, LoggingConfig, VpcConfig,
};
use futures_util::future::BoxFuture;
use kibus::aws::AwsCloud;
use kibus::cloud::{FaultKind, Questions, Read, Waiting, Write};
use kibus::model::{Code, Desired, Document, HubOptions, Resource, ResourceId, Rule, Scope, Signal, scope::LIVE};
use kibus::plan::{Change, diff};

use crate::aws_like::Proxy;
use crate::support::emulator::{Emulator, Kind};
use crate::support::proxy::{Port, forward};
use crate::support::workbench::{ARCHIVES, Bench, sha256};

async fn hub_on_ministack() -> (Emulator, Bench, Desired) {
    let emulator = Emulator::start(Kind::Ministack).await;
    let bench = Bench::new(&emulator).await;
    let hub = bench.hub(HubOptions::default());
    bench.reach(&hub).await;
    (emulator, bench, hub)
}

/// That hub with this code.
fn with_code(hub: &Desired, code: &Code) -> Desired {
    let mut desired = hub.clone();
    for mut resource in hub.resources().cloned() {
        match &mut resource {
            Resource::Function(function) => function.settings.code = code.clone(),
            Resource::Alias(alias) => alias.settings.code = code.clone(),
            _ => continue,
        }
        desired.insert(resource);
    }
    desired
}

#[tokio::test]
async fn two_versions_before_the_live_one_are_kept() {
    let (emulator, bench, hub) = hub_on_ministack().await;
    for turn in 1..=4 {
        let code = Code::of_archive(format!("0.{turn}.1"), sha256(ARCHIVES[turn % 2]));
        bench.reach(&with_code(&hub, &code)).await;
    }
    let lambda = aws_sdk_lambda::Client::new(&emulator.sdk());
    let answer = lambda.list_versions_by_function().function_name("kibus-router").send().await.unwrap();
    let versions: Vec<_> = answer.versions().iter().filter_map(|version| version.version()).collect();
    assert_eq!(versions, ["$LATEST", "3", "4", "5"]);
}

#[tokio::test]
async fn a_foreign_version_is_replaced_by_a_new_one() {
    let (emulator, bench, hub) = hub_on_ministack().await;
    let lambda = aws_sdk_lambda::Client::new(&emulator.sdk());
    let changed = with_code(&hub, &Code::of_archive("0.2.0", sha256(ARCHIVES[1])));
    let id = ResourceId::Function(bench.scope.router_function());
    let from = bench.cloud.read(&id).await.unwrap().unwrap();
    let to = changed.get(&id).unwrap().clone();
    let fields = diff(&to, &from, &BTreeSet::new());
    bench.write(&Change::update(None, from, to, fields)).await;
    let theirs = lambda.publish_version().function_name("kibus-router").description("mine").send().await.unwrap();
    assert_eq!(theirs.version(), Some("2"));
    bench.reach(&changed).await;
}

#[tokio::test]
async fn an_alias_without_its_version_is_fixed() {
    let (emulator, bench, hub) = hub_on_ministack().await;
    let lambda = aws_sdk_lambda::Client::new(&emulator.sdk());
    let call = lambda.update_alias().function_name("kibus-router").name(LIVE).function_version("77");
    call.send().await.unwrap();
    let id = ResourceId::Alias(bench.scope.router_function(), LIVE.to_owned());
    let read = bench.cloud.read(&id).await.unwrap().unwrap();
    assert!(!diff(hub.get(&id).unwrap(), &read, &BTreeSet::new()).is_empty(), "{read:?}");
    bench.reach(&hub).await;
}

#[tokio::test]
async fn a_second_mapping_is_found_and_removed() {
    let (emulator, bench, hub) = hub_on_ministack().await;
    let lambda = aws_sdk_lambda::Client::new(&emulator.sdk());
    let scope = &bench.scope;
    let id = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
    for alias in [LIVE, "other"] {
        if alias != LIVE {
            let call = lambda.create_alias().function_name("kibus-router").name(alias).function_version("1");
            call.send().await.unwrap();
        }
        let call = lambda.create_event_source_mapping().event_source_arn(scope.queue_arn(&scope.hub_queue()));
        call.function_name(scope.alias_arn(&scope.router_function(), alias)).send().await.unwrap();
    }
    match bench.cloud.read(&id).await {
        Ok(Some(Resource::EventSourceMapping(mapping))) => assert_eq!(mapping.duplicates.len(), 1),
        other => panic!("{other:?}"),
    }
    bench.reach(&hub).await;
    let left = lambda.list_event_source_mappings().send().await.unwrap();
    assert_eq!(left.event_source_mappings().len(), 2, "ours, and that of the other alias");
}

#[tokio::test]
async fn a_foreign_target_is_kept() {
    let (emulator, bench, hub) = hub_on_ministack().await;
    let events = aws_sdk_eventbridge::Client::new(&emulator.sdk());
    let name = bench.scope.rule(Signal::Probe);
    let theirs = aws_sdk_eventbridge::types::Target::builder().id("theirs").arn("arn:aws:sqs:us-west-2:1:x");
    let call = events.put_targets().rule(name.as_str()).targets(theirs.build().unwrap());
    call.send().await.unwrap();
    let call = events.put_rule().name(name.as_str()).schedule_expression("rate(1 day)");
    call.send().await.unwrap();
    bench.reach(&hub).await;
    match bench.cloud.read(&ResourceId::Rule(name)).await {
        Ok(Some(Resource::Rule(Rule { foreign_targets, .. }))) => {
            assert_eq!(foreign_targets.into_iter().collect::<Vec<_>>(), ["theirs"]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_policy_that_is_not_json_is_read_and_fixed() {
    let (emulator, bench, hub) = hub_on_ministack().await;
    let sqs = aws_sdk_sqs::Client::new(&emulator.sdk());
    let queue = bench.scope.hub_queue();
    let call = sqs.set_queue_attributes().queue_url(bench.scope.queue_url(Some(&emulator.endpoint), &queue));
    let call = call.attributes(aws_sdk_sqs::types::QueueAttributeName::Policy, "{");
    call.send().await.unwrap();
    match bench.cloud.read(&ResourceId::Queue(queue)).await {
        Ok(Some(Resource::Queue(queue))) => assert_eq!(queue.policy, Some(Document::new("{".into()))),
        other => panic!("{other:?}"),
    }
    bench.reach(&hub).await;
}

#[tokio::test]
async fn only_the_planned_archive_is_uploaded() {
    let (_emulator, bench, hub) = hub_on_ministack().await;
    let id = ResourceId::Function(bench.scope.router_function());
    let before = bench.cloud.read(&id).await.unwrap().unwrap();
    let changed = with_code(&hub, &Code::of_archive("0.2.0", sha256(ARCHIVES[1])));
    let to = changed.get(&id).unwrap().clone();
    let fields = diff(&to, &before, &BTreeSet::new());
    let update = Change::update(None, before.clone(), to, fields);
    let fault = bench.cloud.write(&update, Waiting::unattended()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Rejected);
    assert_eq!(bench.cloud.read(&id).await, Ok(Some(before)));
}

/// L10: someone uploads other code after the plan is made.
#[tokio::test]
async fn l10_only_the_planned_code_is_published() {
    let (emulator, bench, _) = hub_on_ministack().await;
    let lambda = aws_sdk_lambda::Client::new(&emulator.sdk());
    let id = ResourceId::Alias(bench.scope.router_function(), LIVE.to_owned());
    let before = bench.cloud.read(&id).await.unwrap().unwrap();
    let mut alias = before.as_alias().unwrap().clone();
    alias.settings.memory = 512;
    let to = Resource::Alias(alias);
    let fields = diff(&to, &before, &BTreeSet::new());
    let update = Change::update(None, before.clone(), to, fields);
    let call = lambda.update_function_code().function_name("kibus-router");
    call.zip_file(Blob::new(ARCHIVES[1])).send().await.unwrap();
    // The emulator publishes it all the same. Then the answer tells.
    let (_, port) = emulator.endpoint.rsplit_once(':').unwrap();
    for (ids, says, versions) in [
        ("L10", "is different from current CodeSHA256", &["$LATEST", "1"][..]),
        ("none", "is not router 0.1.0 with SHA-256", &["$LATEST", "1", "2"]),
    ] {
        let proxy = Proxy::start(port.parse().unwrap(), ids).await;
        let connect = emulator.connect_to(proxy.url);
        let cloud = AwsCloud::new(&connect.connect().await.unwrap(), bench.scope.bus.clone());
        let fault = cloud.write(&update, Waiting::unattended()).await.unwrap_err();
        assert!(fault.message.contains(says), "{ids}: {fault:?}");
        assert_eq!(bench.cloud.read(&id).await, Ok(Some(before.clone())), "{ids}");
        let listed = lambda.list_versions_by_function().function_name("kibus-router");
        let listed = listed.send().await.unwrap();
        let numbers: Vec<_> = listed.versions().iter().filter_map(|one| one.version()).collect();
        assert_eq!(numbers, versions, "{ids}");
    }
}

/// The alias and the permissions to invoke the function are two questions of one survey.
#[tokio::test]
async fn versions_are_listed_once_for_the_alias_and_the_permissions() {
    let (emulator, bench, _) = hub_on_ministack().await;
    let (_, port) = emulator.endpoint.rsplit_once(':').unwrap();
    let port: u16 = port.parse().unwrap();
    let lists = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lists);
    let url = Port::open().await.serve(move |request| {
        let is_list = request.method() == "GET" && request.uri().path().ends_with("/versions");
        counted.fetch_add(usize::from(is_list), Ordering::Relaxed);
        forward(port, request)
    });
    let connect = emulator.connect_to(url);
    let cloud = AwsCloud::new(&connect.connect().await.unwrap(), bench.scope.bus.clone());
    let function = bench.scope.router_function();
    let id = ResourceId::Alias(function.clone(), LIVE.to_owned());
    let (alias, permissions) = tokio::join!(cloud.read(&id), cloud.function_permissions());
    assert_eq!(alias.unwrap().unwrap().as_alias().unwrap().versions, BTreeSet::from([1]));
    assert_eq!(permissions, Ok(Some(BTreeSet::new())));
    assert_eq!(lists.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn records_are_found_by_name_and_by_path_and_queues_by_their_tags() {
    let (emulator, bench, _) = hub_on_ministack().await;
    let sqs = aws_sdk_sqs::Client::new(&emulator.sdk());
    for (name, tags) in [("karpenter-untagged", &[][..]), ("theirs", &[("kibus:bus", "kibus"), ("kibus:cluster", "x")])]
    {
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        sqs.create_queue().queue_name(name).set_tags(Some(tags)).send().await.unwrap();
    }
    let tagged = bench.cloud.tagged_queues().await.unwrap().unwrap();
    let tagged: Vec<&str> = tagged.keys().map(|name| name.as_str()).collect();
    assert_eq!(tagged, ["karpenter-base", "kibus-probe", "theirs"]);
    let [base, missing] = ["base", "missing"].map(|name| bench.scope.record_parameter(&name.parse().unwrap()));
    let (all, next) = bench.cloud.records_page(None).await.unwrap();
    assert_eq!((all.iter().map(|one| &one.name).collect::<Vec<_>>(), next), (vec![&base], None));
    assert!(all[0].record().is_some(), "{all:?}");
    assert_eq!(bench.cloud.records(&[missing, base]).await, Ok(all));
    assert_eq!(
        bench.cloud.listed_roles().await.unwrap().unwrap().into_keys().collect::<Vec<_>>(),
        [bench.scope.router_role()]
    );
}

/// A change by someone else to the hub, with Lambda or EventBridge.
type Meddle = fn(&aws_sdk_lambda::Client, &aws_sdk_eventbridge::Client, &Scope) -> BoxFuture<'static, ()>;

/// Settings that kibus only ever removes, and the fields that show them.
fn foreign_settings() -> Vec<(&'static str, Meddle, &'static str, &'static [&'static str])> {
    vec![
        (
            "a mapping that lets only some messages through",
            |lambda, _, _| {
                let lambda = lambda.clone();
                Box::pin(async move {
                    let filter = Filter::builder().pattern(r#"{"body":{"source":["nobody"]}}"#).build();
                    let criteria = FilterCriteria::builder().filters(filter).build();
                    let call = lambda.update_event_source_mapping().uuid(mapping(&lambda).await);
                    call.filter_criteria(criteria).send().await.unwrap();
                })
            },
            "event-source-mapping",
            &["filters"],
        ),
        (
            "a share of the invocations routed to another version",
            |lambda, _, _| {
                let call = lambda.update_alias().function_name("kibus-router").name(LIVE);
                let shares = AliasRoutingConfiguration::builder().additional_version_weights("7", 0.5);
                let call = call.routing_config(shares.build());
                Box::pin(async move { drop(call.send().await.unwrap()) })
            },
            "alias",
            &["shares"],
        ),
        (
            "a function in a network, under a key, with its log elsewhere",
            |lambda, _, _| {
                let network = VpcConfig::builder().subnet_ids("subnet-1").security_group_ids("sg-1");
                let log = LoggingConfig::builder()
                    .log_group("/elsewhere")
                    .log_format(LogFormat::Json)
                    .application_log_level(ApplicationLogLevel::Fatal);
                let call = lambda
                    .update_function_configuration()
                    .function_name("kibus-router")
                    .vpc_config(network.build())
                    .kms_key_arn("arn:aws:kms:us-west-2:111122223333:key/1")
                    .logging_config(log.build());
                Box::pin(async move { drop(call.send().await.unwrap()) })
            },
            "function",
            &["logging.group", "logging.format", "extras"],
        ),
        (
            "a function with layers and a file system",
            |lambda, _, scope| {
                let (lambda, account) = (lambda.clone(), scope.account.clone());
                let system = FileSystemConfig::builder()
                    .arn(format!("arn:aws:elasticfilesystem:us-west-2:{account}:access-point/fsap-1"))
                    .local_mount_path("/mnt/x");
                Box::pin(async move {
                    let content = LayerVersionContentInput::builder().zip_file(Blob::new(ARCHIVES[0]));
                    let call = lambda.publish_layer_version().layer_name("theirs").content(content.build());
                    let layer = call.send().await.unwrap().layer_version_arn.unwrap();
                    let call = lambda.update_function_configuration().function_name("kibus-router");
                    let call = call.layers(layer).file_system_configs(system.build().unwrap());
                    call.send().await.unwrap();
                })
            },
            "function",
            &["extras"],
        ),
        (
            "a target with a role, a message group and an input transformer",
            |_, events, scope| {
                let target = aws_sdk_eventbridge::types::Target::builder()
                    .id(Rule::TARGET_ID)
                    .arn(scope.queue_arn(&scope.hub_queue()))
                    .role_arn(scope.role_arn(&"/".parse().unwrap(), &"theirs".parse().unwrap()))
                    .input_path("$.detail")
                    .sqs_parameters(SqsParameters::builder().message_group_id("one").build());
                let call = events.put_targets().rule(scope.rule(Signal::Probe).as_str());
                let call = call.targets(target.build().unwrap());
                Box::pin(async move { drop(call.send().await.unwrap()) })
            },
            "rule",
            &["target.rewrite", "target.role", "target.message_group"],
        ),
    ]
}

/// The UUID of the only mapping.
async fn mapping(lambda: &aws_sdk_lambda::Client) -> String {
    let answer = lambda.list_event_source_mappings().send().await.unwrap();
    let [mapping] = answer.event_source_mappings() else { panic!("{answer:?}") };
    mapping.uuid().unwrap().to_owned()
}

#[tokio::test]
async fn foreign_settings_on_the_hub_are_found_and_removed() {
    let (emulator, bench, hub) = hub_on_ministack().await;
    let lambda = aws_sdk_lambda::Client::new(&emulator.sdk());
    let events = aws_sdk_eventbridge::Client::new(&emulator.sdk());
    for (name, meddle, kind, expected) in foreign_settings() {
        meddle(&lambda, &events, &bench.scope).await;
        let mut seen = Vec::new();
        for resource in hub.resources().filter(|resource| resource.id().kind() == kind) {
            let read = bench.cloud.read(&resource.id()).await.unwrap().unwrap();
            seen.extend(diff(resource, &read, &BTreeSet::new()).into_iter().map(|field| field.path));
        }
        for path in expected {
            assert!(seen.iter().any(|found| found == path), "{name}: {path} among {seen:?}");
        }
        bench.reach(&hub).await;
    }
}
