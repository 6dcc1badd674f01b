//! Rollbacks, and the versions that are kept for them.

use super::*;
use crate::model::hub::Hub;
use crate::model::options::HubOptions;
use crate::model::resource::{Code, Resource};
use crate::model::scope::tests::scope;

fn alias(version: u64, rolled_back_from: Option<u64>, before: &[u64]) -> Alias {
    let desired = Hub::new(&scope(), HubOptions::default(), Code::of_archive("0.1.0", "aa")).desired();
    let found = desired.resources().find_map(Resource::as_alias).cloned();
    Alias {
        version: Some(version),
        history: History {
            before: before.to_vec(),
            rolled_back_from,
        },
        versions: (1..=9).collect(),
        ..found.unwrap()
    }
}

#[test]
fn a_description_keeps_the_history_when_something_else_moves_the_alias() {
    for (rolled_back_from, before, text) in [
        (None, &[][..], "kibus: version 5"),
        (None, &[4, 2][..], "kibus: version 5, before 4 2"),
        (Some(6), &[][..], "kibus: version 5, back from 6"),
        (Some(6), &[4][..], "kibus: version 5, back from 6, before 4"),
    ] {
        let history = alias(5, rolled_back_from, before).history;
        assert_eq!(history.describe(5), text);
        assert_eq!(History::saved(text, Some(5)), history, "{text}");
        for moved_to in [Some(9), None] {
            let moved = History::saved(text, moved_to);
            assert_eq!((moved.before[0], &moved.before[1..]), (5, before), "{text}");
            assert_eq!(moved.rolled_back_from, None, "{text}");
        }
    }
    for text in [
        "",
        "mine",
        "kibus: version x",
        "kibus: version 5, before ",
        "kibus: version 5, before 4 x",
    ] {
        assert_eq!(History::saved(text, Some(5)), History::default(), "{text}");
    }
}

#[test]
fn the_last_good_versions_are_kept() {
    for (name, version, rolled_back_from, before, published, next, saved, kept) in [
        ("the first", 1, None, &[][..], &[1][..], 2, &[1][..], &[1][..]),
        (
            "the third",
            3,
            None,
            &[2, 1][..],
            &[1, 2, 3][..],
            4,
            &[3, 2][..],
            &[3, 2][..],
        ),
        (
            "after one that failed its self-test",
            3,
            None,
            &[2, 1][..],
            &[1, 2, 3, 4][..],
            5,
            &[3, 2][..],
            &[3, 2][..],
        ),
        (
            "after a rollback",
            2,
            Some(3),
            &[1][..],
            &[1, 2, 3][..],
            4,
            &[2, 1][..],
            &[2, 1][..],
        ),
        (
            "to the version that was rolled back",
            2,
            Some(3),
            &[1][..],
            &[1, 2, 3][..],
            3,
            &[2, 1][..],
            &[2, 1][..],
        ),
        (
            "from a foreign version",
            4,
            None,
            &[3, 2, 1][..],
            &[1, 2, 3][..],
            5,
            &[3, 2][..],
            &[3, 2][..],
        ),
        (
            "with one deleted by hand",
            3,
            None,
            &[2, 1][..],
            &[1, 3][..],
            4,
            &[3, 1][..],
            &[3, 1][..],
        ),
        (
            "moved to an older one by hand",
            2,
            None,
            &[3, 2, 1][..],
            &[1, 2, 3][..],
            4,
            &[2, 3][..],
            &[2, 3][..],
        ),
    ] {
        let mut alias = alias(version, rolled_back_from, before);
        alias.versions = published.iter().copied().collect();
        assert_eq!(alias.kept(true), kept, "{name}");
        let history = History {
            before: alias.kept(true),
            rolled_back_from: None,
        };
        assert_eq!(history.moved_to(next).before, saved, "{name}");
    }
    // The version stays: its number is the one to move to.
    let same = alias(3, None, &[2, 1]);
    assert_eq!(same.kept(false), [3, 2, 1]);
    let history = History {
        before: same.kept(false),
        rolled_back_from: None,
    };
    assert_eq!(history.moved_to(3).before, [2, 1]);
}

#[test]
fn a_second_rollback_needs_a_version_to_go_further() {
    let none = |requested, kept: &[u64], rolled_back_from| {
        Err(NoRollbackVersion {
            requested,
            kept: kept.to_vec(),
            rolled_back_from,
        })
    };
    for (name, alias, to, leads) in [
        ("to the one before", alias(3, None, &[2, 1]), None, Ok(Some(2))),
        ("again", alias(2, Some(3), &[1]), None, Ok(None)),
        ("on, by number", alias(2, Some(3), &[1]), Some(1), Ok(Some(1))),
        ("to where it is", alias(3, None, &[2, 1]), Some(3), Ok(None)),
        ("nothing before", alias(1, None, &[]), None, none(None, &[], None)),
        (
            "one that is not kept",
            alias(5, None, &[4, 3]),
            Some(1),
            none(Some(1), &[4, 3], None),
        ),
        (
            "forward",
            alias(2, Some(3), &[1]),
            Some(3),
            none(Some(3), &[1], Some(3)),
        ),
    ] {
        assert_eq!(alias.rollback_target(to), leads, "{name}");
    }
}

#[test]
fn a_rollback_saves_the_first_version_it_started_from() {
    let settings = alias(2, None, &[]).settings;
    let once = alias(3, None, &[2, 1]).rolled_back(2, settings.clone());
    assert_eq!(once, alias(2, Some(3), &[1]));
    assert_eq!(once.rolled_back(1, settings), alias(1, Some(3), &[]));
}
