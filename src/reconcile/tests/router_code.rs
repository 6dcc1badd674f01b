//! Which code is deployed, kept and reported, by the hashes of the function, of its live version, and of the router of this
//! kibus.

use super::*;
use crate::model::{Alias, FieldValue};
use crate::reconcile::OfferedRouter::{Named, OfVersion};

/// A name, the hash of the function's code, the live version, the router of this kibus with the changed memory, if any, the
/// plan of `bootstrap-hub`, the findings of `verify`, and part of the message of both.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    fn() -> OfferedRouter,
    &'static str,
    &'static [&'static str],
    &'static str,
);

pub(super) fn named() -> OfferedRouter {
    Named(code(), "--router-sha256 00".to_owned())
}

pub(super) fn not_at_hand() -> OfferedRouter {
    OfVersion("0.2.0".to_owned(), Some("cannot read it".to_owned()))
}

const FUNCTION: &[&str] = &["K220 kibus-router"];
const ALIAS: &[&str] = &["K220 kibus-router:live"];
const BOTH: &[&str] = &["K220 kibus-router", "K220 kibus-router:live"];
const NO_ALIAS: &[&str] = &["K106 kibus-router:live"];
const OTHER_BUILD: &str =
    "another build of router 0.2.0 is live: its code has SHA-256 bb, and the router of this kibus has aa";
const INTERRUPTED: &str = "the function has different code (SHA-256 aa): an update was interrupted";
const NOT_COMPARED: &str =
    "the code of the live router (SHA-256 bb) was not compared with the router of this kibus: cannot read it";

const ROWS: &[Row] = &[
    ("all the same", "aa", "0.2.0-aa", packaged, "", &[], ""),
    (
        "uploaded by someone else",
        "ee",
        "0.2.0-aa",
        packaged,
        "function ee→aa",
        FUNCTION,
        "has different code (SHA-256 ee)",
    ),
    ("live, and described", "ee", "0.2.0-ee", packaged, "", &[], "SHA-256 ee, and the router of this kibus has aa"),
    ("live, the genuine one is named", "ee", "0.2.0-ee", named, "function ee→aa, alias 0.2.0-ee→0.2.0-aa", BOTH, ""),
    ("not published so", "ee", "ee", packaged, "function ee→aa, alias ee→0.2.0-aa", BOTH, "kibus did not publish it"),
    ("another build", "bb", "0.2.0-bb", packaged, "", &[], OTHER_BUILD),
    ("another build is live, ours is uploaded", "aa", "0.2.0-bb", packaged, "", &[], INTERRUPTED),
    ("another build is live, neither uploaded", "ee", "0.2.0-bb", packaged, "function ee→aa", FUNCTION, OTHER_BUILD),
    ("the named one is uploaded", "aa", "0.2.0-bb", named, "alias 0.2.0-bb→0.2.0-aa", ALIAS, INTERRUPTED),
    ("an older router", "bb", "0.1.0-bb", packaged, "function bb→aa, alias 0.1.0-bb→0.2.0-aa", &[], ""),
    ("an older one is live, ours uploaded", "aa", "0.1.0-bb", packaged, "alias 0.1.0-bb→0.2.0-aa", &[], INTERRUPTED),
    ("nothing to compare with", "bb", "0.2.0-bb", not_at_hand, "", &[], NOT_COMPARED),
    ("no version is live, ours is uploaded", "aa", "", packaged, "alias new", NO_ALIAS, ""),
    (
        "no version is live, and other code is uploaded",
        "ee",
        "",
        packaged,
        "function ee→aa, alias new",
        &["K106 kibus-router:live", "K220 kibus-router"],
        "",
    ),
];

/// A hub with this code, and this live version: of a router, or only with a hash if kibus did not publish it.
pub(super) fn deployed(latest: &str, live: &str) -> Survey {
    let mut survey = survey();
    let name = scope().router_function();
    let mut function = survey.observed.function(name.clone()).unwrap().clone();
    function.settings.code = Code::of_unknown_version(latest);
    see(&mut survey, Resource::Function(function));
    let (version, sha256) = live.split_once('-').unwrap_or(("", live));
    match live {
        "" => lose(&mut survey, [ResourceId::Alias(name, "live".to_owned())]),
        _ => edit_alias(&mut survey, |alias| alias.settings.code = Code::of_archive(version, sha256)),
    }
    survey
}

pub(super) fn edit_alias(survey: &mut Survey, edit: impl FnOnce(&mut Alias)) {
    let mut alias = survey.observed.alias(scope().router_function(), "live".to_owned()).unwrap().clone();
    alias.version = Some(1);
    edit(&mut alias);
    see(survey, Resource::Alias(alias));
}

fn text(value: &FieldValue) -> String {
    match value {
        FieldValue::Code(Code { version, sha256 }) if version.is_empty() => sha256.clone(),
        FieldValue::Code(Code { version, sha256 }) => format!("{version}-{sha256}"),
        other => panic!("{other:?}"),
    }
}

/// The changes of code.
pub(super) fn codes(intent: &Intent) -> String {
    let code = |change: &Change| {
        let kind = change.id.kind();
        if change.before.is_none() {
            return Some(format!("{kind} new"));
        }
        let field = change.fields.iter().find(|field| field.path == "code")?;
        Some(format!("{kind} {}→{}", text(&field.from), text(&field.to)))
    };
    intent.plan.changes.iter().filter_map(code).collect::<Vec<_>>().join(", ")
}

pub(super) fn verified(survey: &Survey, router: OfferedRouter) -> Intent {
    planned(survey, &Target { router, ..verify() })
}

#[test]
fn hashes_decide_which_code_is_deployed_kept_and_reported() {
    for (name, latest, live, router, expected, findings, says) in ROWS {
        let survey = deployed(latest, live);
        let bootstrap = planned(&survey, &bootstrap_with(Bootstrap::default(), router()));
        assert_eq!((codes(&bootstrap).as_str(), &bootstrap.refusals), (*expected, &vec![]), "{name}");
        let verified = verified(&survey, router());
        assert_eq!(found(&verified), *findings, "{name}");
        for intent in [&bootstrap, &verified] {
            assert!(warned(intent).contains(says), "{name}: {:?}", intent.warnings);
        }
        assert_eq!(warned(&bootstrap).is_empty(), says.is_empty(), "{name}: {:?}", bootstrap.warnings);
    }
}

#[test]
fn a_version_that_is_published_for_another_reason_shows_its_code() {
    for (name, latest, live, expected) in [
        ("the live build stays", "bb", "0.2.0-bb", ""),
        ("the function has another", "aa", "0.2.0-bb", "alias 0.2.0-bb→0.2.0-aa"),
        ("the function has neither", "ee", "0.2.0-bb", "function ee→aa, alias 0.2.0-bb→0.2.0-aa"),
        ("an upload by someone else", "ee", "0.2.0-aa", "function ee→aa"),
    ] {
        let intent = planned(&deployed(latest, live), &bootstrap_to(options(Some("1024"))));
        let changes = &intent.plan.changes;
        assert!(changes.iter().any(|change| change.id.kind() == "alias"), "{name}: {changes:?}");
        assert_eq!(codes(&intent), expected, "{name}");
    }
}

#[test]
fn the_archive_is_needed_where_code_may_be_uploaded() {
    for (latest, live, need) in [
        ("aa", "0.2.0-aa", ArchiveNeed::Compare),
        ("bb", "0.2.0-bb", ArchiveNeed::Compare),
        ("ee", "0.2.0-aa", ArchiveNeed::Upload),
        ("aa", "0.1.0-aa", ArchiveNeed::Upload),
        ("aa", "aa", ArchiveNeed::Upload),
        ("aa", "", ArchiveNeed::Upload),
    ] {
        let survey = deployed(latest, live);
        let arm = HubOptions { arch: Some("arm64".parse().unwrap()), ..HubOptions::default() };
        for (options, need) in [(HubOptions::default(), need), (arm, ArchiveNeed::Upload)] {
            let target = bootstrap_with(setting(options), OfferedRouter::of_version("0.2.0"));
            assert_eq!(archive_need(&survey, &target), Some(need), "{latest} {live}");
        }
    }
}

#[test]
fn an_older_router_replaces_a_live_one_only_if_allowed() {
    let survey = deployed("cc", "0.3.0-cc");
    let mut with_foreign = survey.clone();
    edit_queue(&mut with_foreign, "kibus-hub", |queue| queue.tags.0.clear());
    let foreign = "queue `kibus-hub` exists and is not part of bus `kibus`";
    let older = "the live router 0.3.0 is newer than 0.2.0";
    for router in [packaged(), named()] {
        for (survey, allow_downgrade, refused) in [
            (&survey, false, &[older][..]),
            (&survey, true, &[]),
            (&with_foreign, false, &[foreign, older]),
            (&with_foreign, true, &[foreign]),
        ] {
            let given = Bootstrap { allow_downgrade, ..Bootstrap::default() };
            assert_eq!(sentences(&planned(survey, &bootstrap_with(given, router.clone())).refusals), refused);
        }
    }
    let verified = checked(&survey);
    assert_eq!(found(&verified), Vec::<String>::new());
    assert_warned(&verified, "router 0.3.0 is live, but this kibus has 0.2.0");
}
