//! The law of reading and writing, for every kind of resource and every field: a written value is read back, a deleted
//! resource is absent, and deleting it again is not an error.

use std::collections::BTreeSet;

use futures_util::future::{join, join_all};
use kibus::cloud::{FaultKind, Probe, Read, Waiting, Write};
use kibus::drill::DrillCloud;
use kibus::model::{
    Architecture, ClusterName, ClusterRecord, Code, Desired, Document, Encryption, HubOptions, Moment, OrNone,
    Parameter, Redrive, Resource, Settings, Signal, resource::Record,
};
use kibus::plan::{Change, diff};
use serde_json::json;

use crate::support::emulator::Kind;
use crate::support::stage::Stage;
use crate::support::workbench::{ARCHIVES, sha256};

const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";
const BOUNDARY: &str = "arn:aws:iam::111122223333:policy/boundary";
/// The key of a tag that an option adds and removes.
const USER_TAG: &str = "team/1";

#[tokio::test]
async fn written_values_are_read_back_on_ministack() {
    law(Kind::Ministack).await;
}

#[tokio::test]
async fn written_values_are_read_back_on_moto() {
    law(Kind::Moto).await;
}

/// PutEvents succeeds, and has an error inside for a source that only AWS may use.
#[tokio::test]
async fn e11_an_event_that_is_refused_alone_is_a_fault() {
    let stage = Stage::new().await;
    let event = json!({"source": "aws.ec2", "detail-type": "x", "detail": {}});
    let fault = stage.cloud.put_event(&event).await.unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Rejected, "Not authorized for the source."));
}

#[tokio::test]
async fn a_template_of_fis_is_created_once_and_deleted_on_moto() {
    let stage = Stage::corrected(Kind::Moto, "us-west-2").await;
    let template = |token: &str| {
        Document::new(json!({
            "clientToken": token, "description": "kibus drill base", "actions": {}, "targets": {},
            "stopConditions": [{"source": "none"}], "roleArn": "arn:aws:iam::123456789012:role/kibus-drill-us-west-2",
            "tags": {"kibus:bus": "kibus"},
        }))
    };
    let id = stage.cloud.create_template(&template("one")).await.unwrap();
    assert_eq!(stage.cloud.create_template(&template("one")).await, Ok(id.clone()));
    let other = stage.cloud.create_template(&template("two")).await.unwrap();
    assert_ne!(other, id);
    let found = stage.cloud.template(&id).await.unwrap().unwrap();
    assert_eq!((&found.id, found.role.ends_with("role/kibus-drill-us-west-2")), (&id, true));
    for id in [&id, &other, &id] {
        stage.cloud.delete_template(id).await.unwrap();
    }
    assert_eq!(stage.cloud.template(&id).await, Ok(None));
}

async fn law(kind: Kind) {
    let stage = Stage::corrected(kind, "us-west-2").await;
    let hub =
        stage.hub(HubOptions { alarms: Some("true".parse().unwrap()), dashboard: Some(true), ..HubOptions::default() });
    stage.reach(&hub).await;
    // The other rules differ from this one only in their patterns, the other alarms in what they watch.
    let distinct = |resource: &&Resource| match resource {
        Resource::Rule(rule) => rule.name == stage.cloud.scope().rule(Signal::Probe),
        Resource::Alarm(alarm) => alarm.name.as_str() == "kibus-heartbeat",
        _ => true,
    };
    join_all(hub.resources().filter(distinct).map(|resource| stage.try_variants(resource))).await;
    let with_this_path = HubOptions { role_path: None, ..all_options() };
    stage.reach(&stage.hub(with_this_path)).await;
    stage.reach(&stage.hub(HubOptions::default())).await;
    stage.reach(&Desired::default()).await;
    // No parameter is deleted while a cluster is recorded.
    for parameter in hub.resources().filter(|one| matches!(one, Resource::Parameter(_))) {
        stage.create_and_delete_each(&variants(parameter)).await;
    }
    stage.reach(&stage.hub(all_options())).await;
}

impl Stage {
    async fn try_variants(&self, resource: &Resource) {
        let variants = variants(resource);
        let changed = async {
            for (field, variant) in &variants {
                self.update_and_back(resource, field, variant).await;
            }
        };
        let made = async {
            if !matches!(resource, Resource::Parameter(_)) {
                self.create_and_delete_each(&variants).await;
            }
        };
        join(changed, made).await;
    }

    async fn create_and_delete_each(&self, variants: &[(String, Resource)]) {
        // A new queue without the tags of the bus was created by another program in the meantime.
        let ours = |variant: &Resource| match variant {
            Resource::Queue(queue) => queue.tags.belong_to(&self.cloud.scope().bus),
            _ => true,
        };
        for (number, (field, variant)) in variants.iter().enumerate().filter(|(_, (_, variant))| ours(variant)) {
            if let Some(elsewhere) = elsewhere(variant, number) {
                self.create_and_delete(field, &elsewhere).await;
            }
        }
    }

    async fn update_and_back(&self, resource: &Resource, field: &str, variant: &Resource) {
        // IAM cannot change it, and a check refuses the plan.
        if field == "path" {
            return;
        }
        for (what, wanted) in [(format!("with another {field}"), variant), (format!("{field} as before"), resource)] {
            let from = self.cloud.read(&wanted.id()).await.unwrap().unwrap();
            let fields = diff(wanted, &from, &BTreeSet::from([USER_TAG.to_owned()]));
            self.write(&Change::update(None, from, wanted.clone(), fields)).await;
            self.assert_is(&what, wanted).await;
        }
    }

    async fn create_and_delete(&self, field: &str, resource: &Resource) {
        let id = resource.id();
        assert_eq!(self.cloud.read(&id).await, Ok(None), "{id} before");
        self.write(&Change::create(None, resource.clone())).await;
        self.assert_is(&format!("new with another {field}"), resource).await;
        if !matches!(resource, Resource::Queue(_)) {
            let again = Change::create(None, resource.clone());
            let again = self.archived(&again).write(&again, Waiting::unattended()).await;
            assert_eq!(again.unwrap_err().kind, FaultKind::Exists, "{id} created again");
        }
        for time in ["first", "second"] {
            self.write(&Change::delete(None, resource.clone())).await;
            assert_eq!(self.cloud.read(&id).await, Ok(None), "{id} after its {time} delete");
        }
    }
}

fn all_options() -> HubOptions {
    HubOptions {
        tag: Some(["team=a b", "x/y="].map(|tag| OrNone(Some(tag.parse().unwrap()))).into()),
        kms_key: Some(OrNone(Some(KEY.parse().unwrap()))),
        retention: Some("7200".parse().unwrap()),
        permissions_boundary: Some(OrNone(Some(BOUNDARY.parse().unwrap()))),
        role_path: Some("/team/x/".parse().unwrap()),
        memory: Some("512".parse().unwrap()),
        arch: Some(Architecture::Arm64),
        reserved_concurrency: Some(OrNone(Some("5".parse().unwrap()))),
        log_retention: Some("30".parse().unwrap()),
        rebalance: Some(true),
        heartbeat: Some(true),
        ..HubOptions::default()
    }
}

/// Variants of the resource, each with one field changed.
fn variants(resource: &Resource) -> Vec<(String, Resource)> {
    let mut variants = Variants(resource.clone(), Vec::new());
    match resource {
        Resource::Parameter(_) => {
            let of =
                |parameter: &mut Parameter, change: fn(&mut Settings)| change(parameter.settings.as_mut().unwrap());
            variants.parameter("options.memory", |p| of(p, |s| s.options.memory = Some("512".parse().unwrap())));
            variants.parameter("options.tag", |p| of(p, |s| s.options.tag = all_options().tag));
            variants.parameter("pinned_version", |p| of(p, |s| s.pinned_version = Some(1)));
            variants.parameter("old_keys", |p| {
                of(p, |s| s.old_keys = [(KEY.parse().unwrap(), Moment(1_800_000_000))].into());
            });
        }
        Resource::Record(_) => {
            let of = |record: &mut Record, change: fn(&mut ClusterRecord)| change(record.content.as_mut().unwrap());
            variants.record("role", |r| of(r, |r| r.role = Some("a,b".parse().unwrap())));
            variants
                .record("former_roles", |r| of(r, |r| r.former_roles = ["c", "d"].map(|r| r.parse().unwrap()).into()));
            variants.record("external", |r| of(r, |r| r.external = true));
            variants.record("queue_tags", |r| of(r, |r| drop(r.tags.insert("a/b".to_owned(), "ü x".to_owned()))));
        }
        Resource::Queue(_) => {
            variants.queue("retention", |q| q.retention -= 60);
            variants.queue("visibility", |q| q.visibility += 1);
            variants.queue("delay", |q| q.delay = 3);
            variants.queue("receive_wait", |q| q.receive_wait = 20);
            variants.queue("max_message_size", |q| q.max_message_size = 2_048);
            variants.queue("policy", |q| q.policy = None);
            variants.queue("policy", |q| q.policy = Some(policy("Other")));
            variants.queue("encryption", |q| q.encryption = Encryption::Kms(KEY.parse().unwrap()));
            variants.queue("encryption", |q| q.encryption = Encryption::OtherKms("alias/aws/sqs".to_owned()));
            variants.queue("redrive", |q| q.redrive = None);
            variants.queue("redrive.max_receives", |q| {
                q.redrive = q.redrive.take().map(|r| Redrive { max_receives: 3, ..r });
            });
            variants.queue("redrive_allow", |q| q.redrive_allow = None);
            variants.queue("redrive_allow", |q| {
                q.redrive_allow = Some(Document::new(json!({"redrivePermission": "allowAll"})));
            });
        }
        Resource::Role(_) => {
            variants.role("path", |r| r.path = "/a/b/".parse().unwrap());
            variants.role("trust", |r| r.trust = trust("ü%20+ec2.amazonaws.com"));
            variants.role("permissions_boundary", |r| r.permissions_boundary = Some(BOUNDARY.parse().unwrap()));
        }
        Resource::RolePolicy(_) => {
            variants.role_policy("document", |r| r.document = policy("100%25 + more"));
        }
        Resource::LogGroup(_) => {
            for days in [None, Some(1)] {
                variants.log_group("retention_days", |r| r.retention_days = days);
            }
        }
        Resource::Function(_) => {
            variants.function("runtime", |f| f.settings.runtime = "provided.al2".to_owned());
            variants.function("architecture", |f| f.settings.architecture = Architecture::Arm64);
            variants.function("handler", |f| f.settings.handler = "other".to_owned());
            variants.function("memory", |f| f.settings.memory = 512);
            variants.function("timeout", |f| f.settings.timeout = 20);
            variants.function("environment.X", |f| {
                f.settings.environment.insert("X".to_owned(), "y".to_owned());
            });
            variants.function("code", |f| f.settings.code = Code::of_archive("0.2.0", sha256(ARCHIVES[1])));
            variants.function("reserved_concurrency", |f| f.reserved_concurrency = Some(7));
        }
        // The version of an alias changes with the function; another test covers it.
        Resource::Alias(_) => {}
        Resource::EventSourceMapping(_) => {
            variants.mapping("batch_size", |m| m.batch_size = 50);
            variants.mapping("window", |m| m.window = 5);
            variants.mapping("maximum_concurrency", |m| m.maximum_concurrency = None);
            variants.mapping("maximum_concurrency", |m| m.maximum_concurrency = Some(20));
            variants.mapping("report_batch_item_failures", |m| m.report_batch_item_failures = false);
            variants.mapping("enabled", |m| m.enabled = false);
        }
        Resource::Alarm(_) => {
            for (field, changed) in
                [("Threshold", json!(5)), ("OKActions", json!(["arn:aws:sns:us-west-2:111122223333:x"]))]
            {
                variants.alarm("definition", |a| a.definition.value_mut()[field] = changed);
            }
        }
        Resource::Dashboard(_) => variants.dashboard("body", |d| d.body.value_mut()["start"] = json!("-P1D")),
        Resource::Rule(_) => {
            variants.rule("description", |r| r.description = "other".to_owned());
            variants.rule("pattern", |r| r.pattern = Document::new(json!({"source": ["other", "another"]})));
            variants.rule("schedule", |r| r.schedule = Some("rate(1 day)".to_owned()));
            variants.rule("enabled", |r| r.enabled = false);
            variants.rule("target", |r| r.target = None);
            variants.rule("target.retries", |r| r.target.as_mut().unwrap().retries = 0);
            variants.rule("target.retry_age", |r| r.target.as_mut().unwrap().retry_age = 60);
            variants.rule("target.dead_letters", |r| r.target.as_mut().unwrap().dead_letters = None);
            variants.rule("target.arn", |r| r.target.as_mut().unwrap().arn.push('x'));
            variants.rule("target.rewrite", |r| {
                r.target.as_mut().unwrap().rewrite = Some(Document::new(json!({
                    "InputPathsMap": {"id": "$.id"}, "InputTemplate": {"text": "<id>"},
                })));
            });
        }
    }
    if resource.tags().is_some() {
        variants.change("tag of the user", |r| {
            r.tags_mut().unwrap().0.insert(USER_TAG.to_owned(), "a b".to_owned());
        });
        variants.change("value of a tag", |r| {
            r.tags_mut().unwrap().0.insert("kibus:bus".to_owned(), "other".to_owned());
        });
        variants.change("tags than any", |r| r.tags_mut().unwrap().0.clear());
    }
    variants.1
}

struct Variants(Resource, Vec<(String, Resource)>);

macro_rules! of_kind {
    ($($name:ident: $kind:ident;)*) => {$(
        fn $name(&mut self, field: &str, change: impl FnOnce(&mut kibus::model::resource::$kind)) {
            self.change(field, |resource| match resource {
                Resource::$kind(resource) => change(resource),
                other => panic!("{} is of another kind", other.id()),
            });
        }
    )*};
}

impl Variants {
    of_kind! {
        parameter: Parameter; record: Record; queue: Queue; role: Role; role_policy: RolePolicy; log_group: LogGroup;
        function: Function; mapping: EventSourceMapping; rule: Rule; alarm: Alarm; dashboard: Dashboard;
    }

    fn change(&mut self, field: &str, change: impl FnOnce(&mut Resource)) {
        let mut variant = self.0.clone();
        change(&mut variant);
        if variant != self.0 {
            self.1.push((field.to_owned(), variant));
        }
    }
}

/// The resource under a unique name, if it can exist alone. Names are never reused, because a server may keep state of
/// deleted resources (moto keeps the tags of log groups).
fn elsewhere(resource: &Resource, number: usize) -> Option<Resource> {
    let mut copy = resource.clone();
    let name = format!("{}-{number}", resource.id().name());
    match &mut copy {
        Resource::Parameter(r) => r.name = name.parse().unwrap(),
        Resource::Record(r) => {
            let cluster: ClusterName = name.rsplit('/').next()?.parse().unwrap();
            r.name = name.parse().unwrap();
            r.content.as_mut().ok()?.cluster = cluster;
        }
        Resource::Queue(r) => r.name = name.parse().unwrap(),
        Resource::Role(r) => r.name = name.parse().unwrap(),
        Resource::RolePolicy(r) => r.name = name.parse().unwrap(),
        Resource::LogGroup(r) => r.name = name.parse().unwrap(),
        Resource::Function(r) => r.name = name.parse().unwrap(),
        Resource::Rule(r) => r.name = name.parse().unwrap(),
        Resource::Alarm(r) => r.name = name.parse().unwrap(),
        Resource::Dashboard(r) => r.name = name.parse().unwrap(),
        // Reads another queue, because the first already has a mapping.
        Resource::EventSourceMapping(r) => r.queue = "kibus-probe".parse().unwrap(),
        Resource::Alias(_) => return None,
    }
    Some(copy)
}

fn policy(sid: &str) -> Document {
    Document::new(json!({
        "Version": "2012-10-17",
        "Statement": [{"Sid": sid, "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}],
    }))
}

fn trust(service: &str) -> Document {
    Document::new(json!({
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
    }))
}
