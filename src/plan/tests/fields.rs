//! Every field of every kind: drift is found and fixed, and nothing else changes. What all resources of a bus have a part in is
//! here too.

mod alias;
mod event_source_mapping;
mod function;
mod options;
mod queue;
mod role;
mod rule;
mod tags;

use std::collections::BTreeSet;

use serde_json::json;

use super::{Bench, CONTROLLER, DASHBOARD, DLQ, HUB, LIVE, MAPPING, RECORD, ROLE, Row, SPOT, assert_drawn, drawing};
use crate::model::{
    Alias, Dashboard, Document, EventSourceMapping, Fact, Function, LogGroup, Maker, Moment, Parameter, Queue, Record,
    Resource, Role, RolePolicy, Rule, Settings,
};

fn other() -> Document {
    Document::new(json!({"Statement": [{"Sid": "KibusOther", "Effect": "Deny"}]}))
}

/// The kinds with few fields, and a change of every resource that has tags.
const ROWS: &[Row] = &[
    (
        "log retention",
        |b| b.log_group("/aws/lambda/kibus-router", |l| l.retention_days = None),
        "~log-group(retention_days)",
    ),
    (
        "tags of the user",
        |b| b.options.tag = Some(vec!["team=a".parse().unwrap()]),
        "~parameter(options.tag.team) ~queue(tags.team) ~queue(tags.team) ~queue(tags.team) ~role(tags.team) \
         ~log-group(tags.team) ~function(tags.team) ~rule(tags.team) ~rule(tags.team) ~rule(tags.team) ~rule(tags.team) \
         ~rule(tags.team)",
    ),
    (
        "a pinned version and an old key",
        |b| {
            b.parameter("/kibus/kibus", |p| {
                let settings = p.settings.as_mut().unwrap();
                settings.pinned_version = Some(2);
                let key = "arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap();
                settings.old_keys.insert(key, Moment(0));
            });
        },
        "~parameter(pinned_version,old_keys.arn:aws:kms:us-west-2:111122223333:key/1)",
    ),
    (
        "a record of other facts",
        |b| {
            b.record(RECORD, |r| {
                let record = r.content.as_mut().unwrap();
                record.queue = "other".parse().unwrap();
                record.role = None;
                record.former_roles = ["former".parse().unwrap()].into();
                record.tags = [("team".to_owned(), "a".to_owned())].into();
                record.external = true;
                record.made_by = Maker::Tool("terraform".to_owned());
                record.since = None;
            });
        },
        "~record(queue,made_by,since,external,role) ~record(former_roles,queue_tags.team)",
    ),
    (
        "settings that cannot be read",
        |b| b.parameter("/kibus/kibus", |p| p.settings = Settings::from_document("")),
        "~parameter(content)",
    ),
    ("a dashboard on request", |b| b.options.dashboard = Some(true), "~parameter(options.dashboard) +dashboard"),
    (
        "a dashboard that someone edited",
        |b| {
            b.with_dashboard();
            b.dashboard(DASHBOARD, |d| d.body.value_mut()["start"] = json!("-P1D"));
        },
        "~dashboard(body)",
    ),
];

/// The tables.
const TABLES: [&[Row]; 9] = [
    ROWS,
    queue::ROWS,
    role::ROWS,
    function::ROWS,
    alias::ROWS,
    event_source_mapping::ROWS,
    rule::ROWS,
    tags::ROWS,
    options::ROWS,
];

macro_rules! edits {
    ($($method:ident: $kind:ident;)*) => {$(
        pub(super) fn $method(&mut self, name: &str, edit: impl FnOnce(&mut $kind)) {
            let found = self.observed.resources().find_map(|resource| match resource {
                Resource::$kind(inner) if resource.id().name() == name => Some(inner.clone()),
                _ => None,
            });
            let mut resource = found.unwrap_or_else(|| panic!("no {} `{name}` was read", stringify!($method)));
            edit(&mut resource);
            self.see(Resource::$kind(resource));
        }
    )*};
}

impl Bench {
    edits! {
        queue: Queue;
        role: Role;
        role_policy: RolePolicy;
        log_group: LogGroup;
        function: Function;
        alias: Alias;
        mapping: EventSourceMapping;
        rule: Rule;
        dashboard: Dashboard;
        parameter: Parameter;
        record: Record;
    }
}

#[test]
fn a_plan_is_what_differs_and_nothing_else() {
    assert_drawn(&[("nothing", |_| {}, "")]);
    for rows in TABLES {
        assert_drawn(rows);
    }
}

#[test]
fn nothing_becomes_everything_and_the_other_way() {
    let mut bench = Bench::new();
    let torn_down = drawing(&bench.teardown());
    let ids: Vec<_> = bench.observed.iter().map(|(id, _)| id.clone()).collect();
    bench.observed = ids.into_iter().map(|id| (id, Fact::Absent)).collect();
    assert_eq!(
        drawing(&bench.plan()),
        "+parameter +record +queue +queue +queue +queue +role +role-policy +role-policy +log-group +function +alias \
         +event-source-mapping +rule +rule +rule +rule +rule"
    );
    assert_eq!(
        torn_down,
        "-queue -queue -role-policy -record -event-source-mapping -alias -function -role-policy -role -log-group \
         -rule -rule -rule -rule -rule -queue -queue -parameter"
    );
    assert_eq!(drawing(&bench.teardown()), "");
}

/// The tables are complete: each field that a healthy resource of a kind has, some row changes.
#[test]
fn every_field_has_a_row() {
    let mut changed = BTreeSet::new();
    for (_, edit, _) in TABLES.into_iter().flatten() {
        let mut bench = Bench::new();
        edit(&mut bench);
        for change in bench.plan().changes {
            let kind = change.id.kind();
            changed.extend(change.fields.into_iter().map(|field| (kind, field.path)));
        }
    }
    for resource in Bench::new().wanted().resources() {
        for field in resource.fields() {
            let kind = resource.id().kind();
            assert!(changed.contains(&(kind, field.path.clone())), "no row changes {kind} {}", field.path);
        }
    }
}
