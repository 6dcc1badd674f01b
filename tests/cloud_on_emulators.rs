//! The law of reading and writing, for every kind of resource and every field: what was written is what is read,
//! what was deleted is absent, and deleting it again is no error.

use std::collections::BTreeSet;

use kibus::aws::AwsCloud;
use kibus::cloud::{Cloud, FaultKind};
use kibus::model::choice::{ClusterChoices, HubChoices, OrNone, UserTags};
use kibus::model::cluster::Cluster;
use kibus::model::document::Document;
use kibus::model::hub::{Hub, default_queue_prefix};
use kibus::model::resource::{Architecture, Code, Encryption, Redrive, Resource, ResourceId, Role};
use kibus::model::scope::Scope;
use kibus::model::world::{Observed, Seen, World};
use kibus::plan::{Op, diff, plan};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::emulator::{Emulator, Kind};

/// Two archives; neither is ever run.
const ARCHIVES: [&[u8]; 2] = [
    b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0x",
];
const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";
const BOUNDARY: &str = "arn:aws:iam::111122223333:policy/boundary";

#[tokio::test]
async fn what_is_written_is_what_is_read_on_ministack() {
    law(Kind::Ministack).await;
}

#[tokio::test]
async fn what_is_written_is_what_is_read_on_moto() {
    law(Kind::Moto).await;
}

async fn law(kind: Kind) {
    let emulator = Emulator::start(kind).await;
    let bench = Bench::new(&emulator).await;
    let hub = bench.hub(HubChoices::default());
    bench.reach(&hub).await;
    for resource in hub.resources() {
        for (number, (field, variant)) in variants(resource).into_iter().enumerate() {
            bench.update_and_back(resource, &field, &variant).await;
            if let Some(elsewhere) = elsewhere(&variant, number) {
                bench.live_and_die(&field, &elsewhere).await;
            }
        }
    }
    bench.reach(&bench.hub(everything_chosen())).await;
    bench.reach(&bench.hub(HubChoices::default())).await;
    bench.reach(&World::default()).await;
    bench.reach(&bench.hub(everything_chosen())).await;
}

/// A cloud on an emulator, and what that emulator cannot do.
struct Bench {
    cloud: AwsCloud,
    scope: Scope,
    kind: Kind,
}

impl Bench {
    async fn new(emulator: &Emulator) -> Self {
        let session = emulator.session().await;
        let cloud = AwsCloud::new(&session, "kibus".parse().unwrap()).with_archive(ARCHIVES[0].to_vec());
        Self {
            scope: cloud.scope().clone(),
            cloud,
            kind: emulator.kind,
        }
    }

    /// The world of a hub and one cluster.
    fn hub(&self, choices: HubChoices) -> World {
        let hub = Hub::new(&self.scope, choices, Code::of_archive("0.1.0", sha256(ARCHIVES[0])));
        let mut world = hub.world();
        let cluster = Cluster::new(
            &self.scope,
            &hub.queue_prefix(),
            "base".parse().unwrap(),
            None,
            ClusterChoices::default(),
        );
        world.extend(cluster.world(&self.scope, hub.kms_key()));
        world
    }

    /// Turns what is there into this world, step by step; then there is nothing left to change.
    async fn reach(&self, world: &World) {
        let plan = plan(&self.scope, world, &self.observe(world).await);
        for step in &plan.steps {
            self.write(&step.op).await;
        }
        for resource in world.resources() {
            self.assert_is("reached", resource).await;
        }
        for change in plan.changes.iter().filter(|change| change.after.is_none()) {
            assert_eq!(self.cloud.read(&change.id).await, Ok(None), "{} is deleted", change.id);
        }
    }

    async fn observe(&self, world: &World) -> Observed {
        let mut ids: BTreeSet<ResourceId> = kibus::model::hub::ids(&self.scope).into_iter().collect();
        ids.extend(world.ids().cloned());
        ids.extend(
            self.cloud
                .cluster_queues(&default_queue_prefix())
                .await
                .unwrap()
                .into_iter()
                .map(ResourceId::Queue),
        );
        let mut observed = Observed::default();
        for id in ids {
            let seen = match self.cloud.read(&id).await.unwrap() {
                Some(resource) => Seen::Present(Box::new(resource)),
                None => Seen::Absent,
            };
            observed.insert(id, seen);
        }
        observed
    }

    async fn update_and_back(&self, resource: &Resource, field: &str, variant: &Resource) {
        if replaces(resource, variant) {
            return;
        }
        for (what, wanted) in [
            (format!("with another {field}"), variant),
            (format!("{field} as before"), resource),
        ] {
            let from = self.cloud.read(&wanted.id()).await.unwrap().unwrap();
            let fields = diff(wanted, &from);
            self.write(&Op::Update {
                from: Box::new(from),
                to: wanted.clone(),
                fields,
            })
            .await;
            self.assert_is(&what, wanted).await;
        }
    }

    async fn live_and_die(&self, field: &str, resource: &Resource) {
        let id = resource.id();
        assert_eq!(self.cloud.read(&id).await, Ok(None), "{id} before");
        self.write(&Op::Create(resource.clone())).await;
        self.assert_is(&format!("new with another {field}"), resource).await;
        if !matches!(resource, Resource::Queue(_)) {
            let again = Op::Create(resource.clone());
            let again = self.archived(&again).write(&again, &|_| {}).await;
            assert_eq!(again.unwrap_err().kind, FaultKind::Exists, "{id} created again");
        }
        for time in ["first", "second"] {
            self.write(&Op::Delete(resource.clone())).await;
            assert_eq!(self.cloud.read(&id).await, Ok(None), "{id} after its {time} delete");
        }
    }

    async fn write(&self, op: &Op) {
        if let Err(fault) = self.archived(op).write(op, &|_| {}).await {
            let fields = if let Op::Update { fields, .. } = op {
                fields.as_slice()
            } else {
                &[]
            };
            panic!("{} on {:?}: {fault:?} at {fields:?}", op.id(), self.kind);
        }
    }

    /// The cloud with the archive that this step wants.
    fn archived(&self, op: &Op) -> AwsCloud {
        let wanted = match op {
            Op::Create(Resource::Function(function)) => Some(&function.settings.code.sha256),
            Op::Update {
                to: Resource::Function(function),
                ..
            } => Some(&function.settings.code.sha256),
            _ => None,
        };
        let archive = ARCHIVES.into_iter().find(|archive| Some(&sha256(archive)) == wanted);
        self.cloud.clone().with_archive(archive.unwrap_or_default().to_vec())
    }

    async fn assert_is(&self, what: &str, wanted: &Resource) {
        let id = wanted.id();
        let read = self
            .cloud
            .read(&id)
            .await
            .unwrap()
            .unwrap_or_else(|| panic!("{id} {what} is absent"));
        let differences: Vec<_> = diff(wanted, &read)
            .into_iter()
            .filter(|field| !self.cannot_tell(&field.path))
            .collect();
        assert!(
            differences.is_empty(),
            "{id} {what} on {:?}: {differences:#?}",
            self.kind
        );
    }

    /// What this emulator forgets.
    fn cannot_tell(&self, path: &str) -> bool {
        self.kind == Kind::Moto && ["redrive_allow", "architecture"].contains(&path)
    }
}

fn everything_chosen() -> HubChoices {
    HubChoices {
        tags: Some(UserTags::parse(&["team=a b".to_owned(), "x/y=".to_owned()]).unwrap()),
        kms_key: Some(OrNone(Some(KEY.parse().unwrap()))),
        retention: Some("7200".parse().unwrap()),
        permissions_boundary: Some(OrNone(Some(BOUNDARY.parse().unwrap()))),
        role_path: Some("/team/x/".parse().unwrap()),
        queue_prefix: None,
        memory: Some("512".parse().unwrap()),
        architecture: Some(Architecture::Arm64),
        reserved_concurrency: Some(OrNone(Some("5".parse().unwrap()))),
        log_retention: Some("30".parse().unwrap()),
        rebalance: Some(true),
    }
}

/// The resource with one thing changed, for everything that it has.
fn variants(resource: &Resource) -> Vec<(String, Resource)> {
    let mut variants = Variants(resource.clone(), Vec::new());
    match resource {
        Resource::Queue(_) => {
            variants.queue("retention", |q| q.retention -= 60);
            variants.queue("visibility", |q| q.visibility += 1);
            variants.queue("delay", |q| q.delay = 3);
            variants.queue("receive_wait", |q| q.receive_wait = 20);
            variants.queue("max_message_size", |q| q.max_message_size = 2_048);
            variants.queue("policy", |q| q.policy = None);
            variants.queue("policy", |q| q.policy = Some(policy("Other")));
            variants.queue("encryption", |q| q.encryption = Encryption::Kms(KEY.parse().unwrap()));
            variants.queue("encryption", |q| {
                q.encryption = Encryption::OtherKms("alias/aws/sqs".to_owned())
            });
            variants.queue("redrive", |q| q.redrive = None);
            variants.queue("redrive.max_receives", |q| {
                q.redrive = q.redrive.take().map(|r| Redrive { max_receives: 3, ..r });
            });
            variants.queue("redrive_allow", |q| q.redrive_allow = None);
            variants.queue("redrive_allow", |q| {
                q.redrive_allow = Some(Document(json!({"redrivePermission": "denyAll"})));
            });
        }
        Resource::Role(_) => {
            variants.role("path", |r| r.path = "/a/b/".parse().unwrap());
            variants.role("trust", |r| r.trust = trust("ü%20+ec2.amazonaws.com"));
            variants.role("permissions_boundary", |r| {
                r.permissions_boundary = Some(BOUNDARY.parse().unwrap())
            });
        }
        Resource::RolePolicy(_) => {
            variants.change("document", |r| {
                if let Resource::RolePolicy(r) = r {
                    r.document = policy("100%25 + more");
                }
            });
        }
        Resource::LogGroup(_) => {
            for days in [None, Some(1)] {
                variants.change("retention_days", |r| {
                    if let Resource::LogGroup(r) = r {
                        r.retention_days = days;
                    }
                });
            }
        }
        Resource::Function(_) => {
            variants.function("runtime", |f| f.settings.runtime = "provided.al2".to_owned());
            variants.function("architecture", |f| f.settings.architecture = Architecture::Arm64);
            variants.function("handler", |f| f.settings.handler = "other".to_owned());
            variants.function("memory", |f| f.settings.memory = 512);
            variants.function("timeout", |f| f.settings.timeout = 20);
            variants.function("environment", |f| f.settings.environment.clear());
            variants.function("environment.X", |f| {
                f.settings.environment.insert("X".to_owned(), "y".to_owned());
            });
            variants.function("code", |f| {
                f.settings.code = Code::of_archive("0.2.0", sha256(ARCHIVES[1]))
            });
            variants.function("reserved_concurrency", |f| f.reserved_concurrency = Some(7));
        }
        // What an alias points to is changed with the function; that has a test of its own.
        Resource::Alias(_) => {}
        Resource::EventSourceMapping(_) => {
            variants.mapping("batch_size", |m| m.batch_size = 50);
            variants.mapping("window", |m| m.window = 5);
            variants.mapping("maximum_concurrency", |m| m.maximum_concurrency = None);
            variants.mapping("maximum_concurrency", |m| m.maximum_concurrency = Some(20));
            variants.mapping("report_batch_item_failures", |m| m.report_batch_item_failures = false);
            variants.mapping("enabled", |m| m.enabled = false);
        }
        Resource::Rule(_) => {
            variants.rule("description", |r| r.description = "other".to_owned());
            variants.rule("pattern", |r| {
                r.pattern = Document(json!({"source": ["other", "another"]}))
            });
            variants.rule("enabled", |r| r.enabled = false);
            variants.rule("target", |r| r.target = None);
            variants.rule("target.retries", |r| r.target.as_mut().unwrap().retries = 0);
            variants.rule("target.retry_age", |r| r.target.as_mut().unwrap().retry_age = 60);
            variants.rule("target.dead_letters", |r| {
                r.target.as_mut().unwrap().dead_letters = None
            });
            variants.rule("target.arn", |r| r.target.as_mut().unwrap().arn.push('x'));
        }
    }
    if resource.tags().is_some() {
        variants.change("tag of the user", |r| {
            tags(r).insert("team/1".to_owned(), "a b".to_owned());
        });
        variants.change("value of a tag", |r| {
            tags(r).insert("kibus:bus".to_owned(), "other".to_owned());
        });
        variants.change("tags than any", |r| tags(r).clear());
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
    of_kind! { queue: Queue; role: Role; function: Function; mapping: EventSourceMapping; rule: Rule; }

    fn change(&mut self, field: &str, change: impl FnOnce(&mut Resource)) {
        let mut variant = self.0.clone();
        change(&mut variant);
        if variant != self.0 {
            self.1.push((field.to_owned(), variant));
        }
    }
}

fn tags(resource: &mut Resource) -> &mut std::collections::BTreeMap<String, String> {
    match resource {
        Resource::Queue(r) => &mut r.tags.0,
        Resource::Role(r) => &mut r.tags.0,
        Resource::LogGroup(r) => &mut r.tags.0,
        Resource::Function(r) => &mut r.tags.0,
        Resource::Rule(r) => &mut r.tags.0,
        other => panic!("{} has no tags", other.id()),
    }
}

/// The same under a name of its own, if it can stand alone. No name comes twice: a server may remember what was
/// deleted (moto does, the tags of log groups).
fn elsewhere(resource: &Resource, number: usize) -> Option<Resource> {
    let mut copy = resource.clone();
    let name = format!("elsewhere-{number}");
    match &mut copy {
        Resource::Queue(r) => r.name = name.parse().unwrap(),
        Resource::Role(r) => r.name = name.parse().unwrap(),
        Resource::RolePolicy(r) => r.name = name.parse().unwrap(),
        Resource::LogGroup(r) => r.name = name.parse().unwrap(),
        Resource::Function(r) => r.name = name.parse().unwrap(),
        Resource::Rule(r) => r.name = name.parse().unwrap(),
        // Reads another queue than the one that is read already.
        Resource::EventSourceMapping(r) => r.queue = "kibus-probe".parse().unwrap(),
        Resource::Alias(_) => return None,
    }
    Some(copy)
}

/// Whether one can only become the other by being made again.
fn replaces(resource: &Resource, variant: &Resource) -> bool {
    diff(variant, resource).iter().any(|field| field.path == Role::PATH)
}

fn policy(sid: &str) -> Document {
    Document(json!({
        "Version": "2012-10-17",
        "Statement": [{"Sid": sid, "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}],
    }))
}

fn trust(service: &str) -> Document {
    Document(json!({
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
    }))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
