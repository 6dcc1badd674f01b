//! The versions available for rollback.

use super::*;
use crate::model::{Code, Hub, HubOptions, Resource, scope::tests::scope};

fn alias(version: u64, versions: &[u64]) -> Alias {
    let desired = Hub::new(&scope(), HubOptions::default(), Code::of_archive("0.1.0", "aa")).desired();
    let found = desired.resources().find_map(Resource::as_alias).cloned();
    Alias { version: Some(version), versions: versions.iter().copied().collect(), ..found.unwrap() }
}

#[test]
fn a_rollback_goes_to_an_earlier_version_that_kibus_published() {
    for (name, alias, to, goal) in [
        ("to the one before", alias(3, &[1, 2, 3]), None, Some(2)),
        ("by number", alias(3, &[1, 2, 3]), Some(1), Some(1)),
        ("further", alias(2, &[1, 2, 3]), None, Some(1)),
        ("past a foreign one", alias(3, &[1, 3]), None, Some(1)),
        ("from a foreign one", alias(4, &[1, 2, 3]), None, Some(3)),
        ("to where it is", alias(3, &[1, 2, 3]), Some(3), None),
        ("to a later one", alias(2, &[1, 2, 3]), Some(3), None),
        ("to one that is not kept", alias(5, &[3, 4, 5]), Some(1), None),
        ("with nothing before", alias(1, &[1]), None, None),
    ] {
        let found = alias.rollback_target(to);
        assert_eq!(found.clone().ok(), goal, "{name}");
        if let Err(none) = found {
            assert_eq!((none.requested, none.kept), (to, alias.before()), "{name}");
        }
    }
    assert_eq!(alias(2, &[1, 2, 3]).later(), Some(3));
    assert_eq!(alias(3, &[1, 2, 3]).later(), None);
}
