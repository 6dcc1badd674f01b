//! Every field of every kind: drift is found and fixed, and nothing else changes.

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

use super::{Bench, CONTROLLER, DLQ, HUB, LIVE, MAPPING, ROLE, Row, SPOT, assert_drawn};
use crate::model::document::Document;
use crate::model::resource::{Alias, EventSourceMapping, Function, LogGroup, Queue, Resource, Role, RolePolicy, Rule};

fn other() -> Document {
    Document::new(json!({"Statement": [{"Sid": "KibusOther", "Effect": "Deny"}]}))
}

/// The tables.
const TABLES: [&[Row]; 8] = [
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
    }
}

#[test]
fn a_plan_is_what_differs_and_nothing_else() {
    assert_drawn(&[("nothing", |_| {}, "")]);
    for rows in TABLES {
        assert_drawn(rows);
    }
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
            assert!(
                changed.contains(&(kind, field.path.clone())),
                "no row changes {kind} {}",
                field.path
            );
        }
    }
}
