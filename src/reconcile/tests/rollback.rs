//! A rollback: it is kept until it is ended, and no finding is against it.

use super::router_code::{codes, deployed, edit_alias, named, not_at_hand, ours, verified};
use super::*;
use crate::message::Fix;
use crate::model::{Alias, Fact, FunctionSettings, Parameter};
use crate::reconcile::OfferedRouter::{self, Named, Packaged};

#[test]
fn a_rollback_is_said_and_is_no_finding() {
    type Edit = fn(&mut Alias);
    let end = Fix::Command(scope().kibus("bootstrap-hub --router-latest"));
    let rows: [(&str, &str, Edit, &[&str], &Fix); 5] = [
        ("to other code of another size", "cc", |a| a.settings.memory = 128, &[], &Fix::bootstrap_hub(&scope())),
        (
            "the code that was rolled back is not on the function",
            "ee",
            |_| {},
            &["K220 kibus-router"],
            &Fix::bootstrap_hub(&scope()),
        ),
        ("with a layer", "cc", |a| a.settings.extras.extend(["x".to_owned()]), &["K206 kibus-router:live"], &end),
        (
            "with a share for another version",
            "cc",
            |a| a.shares.extend(["x".to_owned()]),
            &["K206 kibus-router:live"],
            &Fix::bootstrap_hub(&scope()),
        ),
        (
            "to code that kibus did not publish",
            "cc",
            |a| a.settings.code.version.clear(),
            &["K220 kibus-router:live"],
            &Fix::bootstrap_hub(&scope()),
        ),
    ];
    for (name, latest, edit, findings, fix) in rows {
        let survey = rolled_back(latest, edit);
        let verified = verified(&survey, not_at_hand());
        assert_eq!(found(&verified), findings, "{name}");
        assert!(verified.findings.iter().all(|finding| finding.fix == *fix), "{name}");
        assert!(warned(&verified).contains("rolled back from version 3"), "{name}");
    }
}

/// A hub whose function has this code, and whose router was rolled back from version 3.
fn rolled_back(latest: &str, edit: impl FnOnce(&mut Alias)) -> Survey {
    let mut survey = deployed(latest, Some(("0.1.0", "bb")));
    edit_alias(&mut survey, |alias| {
        (alias.version, alias.versions) = (Some(2), [1, 2, 3].into());
        edit(alias);
    });
    let parameter = survey.observed.parameter(scope().settings_parameter()).unwrap();
    let parameter = Resource::Parameter(Parameter {
        settings: parameter.settings.clone().map(|settings| Settings { pinned_version: Some(2), ..settings }),
        ..parameter.clone()
    });
    see(&mut survey, parameter);
    let function = survey.observed.function(scope().router_function()).unwrap();
    let settings = FunctionSettings { code: Code::of_archive("0.3.0", "cc"), ..function.settings.clone() };
    survey.known.versions.insert(3, Fact::Present(settings));
    survey
}

/// A name, the router of this kibus, options, whether the rollback ends, the hash of the function's code; the changes of
/// code, and the settings for which it is refused.
type Kept = (&'static str, OfferedRouter, HubOptions, bool, &'static str, &'static str, &'static [&'static str]);

#[test]
fn a_rollback_is_kept_until_it_is_ended() {
    let none = HubOptions::default;
    let live = || Named(Code::of_archive("0.1.0", "bb"), "--router-sha256 00".to_owned());
    let rows: [Kept; 7] = [
        ("nothing else", Packaged(ours()), none(), false, "cc", "", &[]),
        ("the live code is named", live(), none(), false, "bb", "", &[]),
        ("other code on the function", Packaged(ours()), none(), false, "ee", "function: sha256 ee → sha256 aa", &[]),
        (
            "an option of the queues",
            Packaged(ours()),
            HubOptions { retention: Some("7200".parse().unwrap()), ..none() },
            false,
            "cc",
            "",
            &[],
        ),
        ("more memory", Packaged(ours()), options(Some("1024")), false, "cc", "", &["memory"]),
        ("other code is named", named(), none(), false, "cc", "function: sha256 cc → sha256 aa", &["code"]),
        (
            "more memory, and it ends",
            Packaged(ours()),
            options(Some("1024")),
            true,
            "cc",
            "function: sha256 cc → sha256 aa; alias: 0.1.0 (sha256 bb) → 0.2.0 (sha256 aa)",
            &[],
        ),
    ];
    for (name, router, options, end_rollback, latest, planned, refused) in rows {
        let given = Bootstrap { end_rollback, ..setting(options) };
        let intent = reconcile(&rolled_back(latest, |_| {}), &bootstrap_with(given, router)).unwrap();
        assert_eq!(codes(&intent), planned, "{name}");
        let fields = intent.refusals.iter().flat_map(|refusal| {
            let (_, fields) = refusal.sentence.split_once("live, and a new version is needed to change: ").unwrap();
            fields.split(", ").map(|field| field.trim_matches('`'))
        });
        assert_eq!(fields.collect::<Vec<_>>(), refused, "{name}");
    }
}

#[test]
fn a_refusal_during_a_rollback_prints_the_command_that_ends_it() {
    let target = bootstrap_with(setting(options(Some("1024"))), named());
    let intent = reconcile(&rolled_back("cc", |_| {}), &target).unwrap();
    let steps = intent.refusals[0].fix.steps();
    let command = steps[0].command.as_deref().unwrap();
    assert_eq!(command, "kibus again --router-latest");
}
