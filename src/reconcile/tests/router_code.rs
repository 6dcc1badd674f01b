//! Which code is deployed, kept and reported, by the hashes of the function, of its live version, and of the router of this
//! kibus.

use super::*;
use crate::message::Fix;
use crate::model::{Alias, FieldValue};
use crate::reconcile::OfferedRouter::{self, Named, OfVersion, Packaged};

/// The live version: its router and its hash; no version if kibus did not publish it.
pub(super) type Live = Option<(&'static str, &'static str)>;

/// A name, the hash of the function's code, the live version, the router of this kibus with the changed memory, if any, the
/// plan of `bootstrap-hub`, the findings of `verify`, and a part of what both say.
type Row = (&'static str, &'static str, Live, OfferedRouter, &'static str, &'static [&'static str], &'static str);

pub(super) fn ours() -> Code {
    Code::of_archive("0.2.0", "aa")
}

pub(super) fn named() -> OfferedRouter {
    Named(ours(), "--router-sha256 00".to_owned())
}

pub(super) fn not_at_hand() -> OfferedRouter {
    OfVersion("0.2.0".to_owned(), Some("cannot read it".to_owned()))
}

fn rows() -> Vec<Row> {
    let function: &[&str] = &["K220 kibus-router"];
    let alias: &[&str] = &["K220 kibus-router:live"];
    let both: &[&str] = &["K220 kibus-router", "K220 kibus-router:live"];
    let other_build =
        "another build of router 0.2.0 is live: its code has SHA-256 bb, and the router of this kibus has aa";
    let interrupted = "the function has other code (SHA-256 aa): an update was interrupted";
    vec![
        ("all the same", "aa", Some(("0.2.0", "aa")), Packaged(ours()), "", &[], ""),
        (
            "uploaded by someone else, whatever the tags say",
            "ee",
            Some(("0.2.0", "aa")),
            Packaged(ours()),
            "function: sha256 ee → sha256 aa",
            function,
            "the function has other code (SHA-256 ee)",
        ),
        (
            "live, and described as kibus does",
            "ee",
            Some(("0.2.0", "ee")),
            Packaged(ours()),
            "",
            &[],
            "SHA-256 ee, and the router of this kibus has aa",
        ),
        (
            "live, and the genuine router is named",
            "ee",
            Some(("0.2.0", "ee")),
            named(),
            "function: sha256 ee → sha256 aa; alias: 0.2.0 (sha256 ee) → 0.2.0 (sha256 aa)",
            both,
            "",
        ),
        (
            "live, and not published by kibus",
            "ee",
            Some(("", "ee")),
            Packaged(ours()),
            "function: sha256 ee → sha256 aa; alias: sha256 ee → 0.2.0 (sha256 aa)",
            both,
            "kibus did not publish it",
        ),
        ("another build", "bb", Some(("0.2.0", "bb")), Packaged(ours()), "", &[], other_build),
        (
            "another build is live, and ours is uploaded",
            "aa",
            Some(("0.2.0", "bb")),
            Packaged(ours()),
            "",
            &[],
            interrupted,
        ),
        (
            "another build is live, and the function has neither",
            "ee",
            Some(("0.2.0", "bb")),
            Packaged(ours()),
            "function: sha256 ee → sha256 aa",
            function,
            other_build,
        ),
        (
            "the named router is uploaded, not live",
            "aa",
            Some(("0.2.0", "bb")),
            named(),
            "alias: 0.2.0 (sha256 bb) → 0.2.0 (sha256 aa)",
            alias,
            interrupted,
        ),
        (
            "an older router",
            "bb",
            Some(("0.1.0", "bb")),
            Packaged(ours()),
            "function: sha256 bb → sha256 aa; alias: 0.1.0 (sha256 bb) → 0.2.0 (sha256 aa)",
            &[],
            "",
        ),
        (
            "an older router is live, and ours is uploaded",
            "aa",
            Some(("0.1.0", "bb")),
            Packaged(ours()),
            "alias: 0.1.0 (sha256 bb) → 0.2.0 (sha256 aa)",
            &[],
            interrupted,
        ),
        (
            "nothing to compare with",
            "bb",
            Some(("0.2.0", "bb")),
            not_at_hand(),
            "",
            &[],
            "the code of the live router (SHA-256 bb) was not compared with the router of this kibus: cannot read it",
        ),
        (
            "no version is live, and ours is uploaded",
            "aa",
            None,
            Packaged(ours()),
            "alias: new",
            &["K106 kibus-router:live"],
            "",
        ),
        (
            "no version is live, and other code is uploaded",
            "ee",
            None,
            Packaged(ours()),
            "function: sha256 ee → sha256 aa; alias: new",
            &["K106 kibus-router:live", "K220 kibus-router"],
            "",
        ),
    ]
}

/// A hub with this code.
pub(super) fn deployed(latest: &str, live: Live) -> Survey {
    let mut survey = survey();
    let name = scope().router_function();
    let mut function = survey.observed.function(name.clone()).unwrap().clone();
    function.settings.code = Code::of_unknown_version(latest);
    see(&mut survey, Resource::Function(function));
    let id = ResourceId::Alias(name, "live".to_owned());
    match live {
        Some((version, sha256)) => edit_alias(&mut survey, |alias| {
            alias.settings.code = Code::of_archive(version, sha256);
        }),
        None => survey.observed.insert(id, Fact::Absent),
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
        FieldValue::Code(Code { version, sha256 }) if version.is_empty() => format!("sha256 {sha256}"),
        FieldValue::Code(Code { version, sha256 }) => format!("{version} (sha256 {sha256})"),
        other => panic!("{other:?}"),
    }
}

/// The changes of code, in words.
pub(super) fn codes(intent: &Intent) -> String {
    let code = |change: &crate::plan::Change| {
        let kind = change.id.kind();
        if change.before.is_none() {
            return Some(format!("{kind}: new"));
        }
        let field = change.fields.iter().find(|field| field.path == "code")?;
        Some(format!("{kind}: {} → {}", text(&field.from), text(&field.to)))
    };
    let codes: Vec<String> = intent.plan.changes.iter().filter_map(code).collect();
    codes.join("; ")
}

pub(super) fn verified(survey: &Survey, router: OfferedRouter) -> Intent {
    reconcile(survey, &verify(router)).unwrap()
}

#[test]
fn hashes_decide_which_code_is_deployed_kept_and_reported() {
    for (name, latest, live, router, planned, findings, says) in rows() {
        let survey = deployed(latest, live);
        let target = bootstrap_with(setting(HubOptions::default()), router.clone());
        let bootstrap = reconcile(&survey, &target).unwrap();
        assert_eq!(codes(&bootstrap), planned, "{name}");
        assert_eq!(bootstrap.refusals, [], "{name}");
        let verified = verified(&survey, router);
        assert_eq!(found(&verified), findings, "{name}");
        for intent in [&bootstrap, &verified] {
            assert!(warned(intent).contains(says), "{name}: {:?}", intent.warnings);
        }
        assert_eq!(warned(&bootstrap).is_empty(), says.is_empty(), "{name}: {:?}", bootstrap.warnings);
    }
}

#[test]
fn other_code_than_the_named_one_is_fixed_by_naming_it() {
    let survey = deployed("bb", Some(("0.2.0", "bb")));
    for finding in verified(&survey, named()).findings {
        let command = scope().kibus("bootstrap-hub --router-sha256 00");
        assert_eq!(finding.fix, Fix::Command(command), "{finding:?}");
    }
    let survey = deployed("ee", Some(("0.2.0", "bb")));
    for finding in verified(&survey, Packaged(ours())).findings {
        assert_eq!(finding.fix, Fix::bootstrap_hub(&scope()), "{finding:?}");
    }
}

#[test]
fn a_version_that_is_published_for_another_reason_shows_its_code() {
    for (name, latest, live, planned) in [
        ("the live build stays", "bb", "bb", ""),
        ("the function has another", "aa", "bb", "alias: 0.2.0 (sha256 bb) → 0.2.0 (sha256 aa)"),
        (
            "the function has neither",
            "ee",
            "bb",
            "function: sha256 ee → sha256 aa; alias: 0.2.0 (sha256 bb) → 0.2.0 (sha256 aa)",
        ),
        ("an upload by someone else", "ee", "aa", "function: sha256 ee → sha256 aa"),
    ] {
        let intent = reconcile(&deployed(latest, Some(("0.2.0", live))), &bootstrap(options(Some("1024")))).unwrap();
        let changed: Vec<&str> = intent.plan.changes.iter().map(|change| change.id.kind()).collect();
        assert!(changed.contains(&"alias"), "{name}: {changed:?}");
        assert_eq!(codes(&intent), planned, "{name}");
    }
}

#[test]
fn the_archive_is_needed_where_code_may_be_uploaded() {
    for (latest, live, need) in [
        ("aa", Some(("0.2.0", "aa")), ArchiveNeed::Compare),
        ("bb", Some(("0.2.0", "bb")), ArchiveNeed::Compare),
        ("ee", Some(("0.2.0", "aa")), ArchiveNeed::Upload),
        ("aa", Some(("0.1.0", "aa")), ArchiveNeed::Upload),
        ("aa", Some(("", "aa")), ArchiveNeed::Upload),
        ("aa", None, ArchiveNeed::Upload),
    ] {
        let survey = deployed(latest, live);
        let target = bootstrap_with(setting(HubOptions::default()), OfferedRouter::of_version("0.2.0"));
        assert_eq!(archive_need(&survey, &target), Some(need), "{latest} {live:?}");
        let arm = HubOptions { arch: Some("arm64".parse().unwrap()), ..HubOptions::default() };
        let target = bootstrap_with(setting(arm), OfferedRouter::of_version("0.2.0"));
        assert_eq!(archive_need(&survey, &target), Some(ArchiveNeed::Upload));
    }
}

#[test]
fn an_older_router_replaces_a_live_one_only_if_allowed() {
    let survey = deployed("cc", Some(("0.3.0", "cc")));
    for router in [Packaged(ours()), named()] {
        for allow_downgrade in [false, true] {
            let given = Bootstrap { allow_downgrade, ..setting(HubOptions::default()) };
            let refusals = reconcile(&survey, &bootstrap_with(given, router.clone())).unwrap().refusals;
            assert_eq!(refusals.is_empty(), allow_downgrade, "{refusals:?}");
        }
    }
    assert_eq!(found(&verified(&survey, Packaged(ours()))), Vec::<String>::new());
    assert!(warned(&verified(&survey, Packaged(ours()))).contains("router 0.3.0 is live, and this kibus has 0.2.0"));
}
