//! Drift of tags.

use super::{Row, SPOT};
use crate::model::{Resource, ResourceId};
use crate::plan::plan;
use crate::plan::tests::{Bench, drawing};

pub(super) const ROWS: &[Row] = &[
    (
        "tags of others on everything",
        |b| {
            let tagged: Vec<Resource> = b.observed.resources().cloned().collect();
            for resource in tagged {
                b.see(with_tag(resource, "cost-center", "7"));
            }
        },
        "",
    ),
    (
        "a tag of ours with another value",
        |b| {
            b.queue("karpenter-base", |q| {
                q.tags.0.insert("kibus:cluster".to_owned(), "x".to_owned());
            });
        },
        "~queue(tags.kibus:cluster)",
    ),
    (
        "the mark of a delete that was not made",
        |b| {
            b.queue("karpenter-base", |q| {
                q.tags.0.insert("kibus:deleting".to_owned(), "1".to_owned());
            });
        },
        "~queue(tags.kibus:deleting)",
    ),
    (
        "a tag of ours that is gone",
        |b| {
            b.queue("kibus-probe", |q| {
                q.tags.0.remove("kibus:cluster");
            });
        },
        "~queue(tags.kibus:cluster)",
    ),
    (
        "a tag of ours that nobody wants",
        |b| {
            b.rule(SPOT, |r| {
                r.tags.0.insert("kibus:cluster".to_owned(), "x".to_owned());
            });
        },
        "~rule(tags.kibus:cluster)",
    ),
];

/// Kibus removes a tag of the user only by its key, and never one that is wanted.
#[test]
fn a_tag_of_the_user_is_removed_by_its_key() {
    let mut bench = Bench::new();
    bench.queue("karpenter-base", |q| {
        q.tags.0.insert("team".to_owned(), "a".to_owned());
        q.tags.0.insert("cost-center".to_owned(), "7".to_owned());
    });
    let mut wanted = bench.wanted();
    let id = ResourceId::Queue("karpenter-base".parse().unwrap());
    wanted.untag(id, ["team", "absent", "kibus:bus"].map(str::to_owned));
    let plan = plan(&bench.scope, &wanted, &bench.observed);
    assert_eq!(drawing(&plan), "~queue(tags.team)");
}

fn with_tag(mut resource: Resource, key: &str, value: &str) -> Resource {
    if let Some(tags) = resource.tags_mut() {
        tags.0.insert(key.to_owned(), value.to_owned());
    }
    resource
}
