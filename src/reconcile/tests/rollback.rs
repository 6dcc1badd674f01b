//! A rollback lasts until it is ended, and causes no finding.

use super::router_code::{codes, deployed, edit_alias, named, not_at_hand, verified};
use super::*;
use crate::message::Fix;
use crate::model::{Alias, FunctionSettings};

#[test]
fn a_rollback_is_said_and_is_no_finding() {
    type Edit = fn(&mut Alias);
    let end = Fix::Command(scope().kibus("bootstrap-hub --router-latest"));
    let again = Fix::bootstrap_hub(&scope());
    let rows: [(&str, &str, Edit, &[&str], &Fix); 5] = [
        ("to other code of another size", "cc", |alias| alias.settings.memory = 128, &[], &again),
        ("the code that was rolled back is not on the function", "ee", |_| {}, &["K220 kibus-router"], &again),
        ("with a layer", "cc", |a| a.settings.extras.extend(["x".to_owned()]), &["K206 kibus-router:live"], &end),
        ("with a share", "cc", |alias| alias.shares.extend(["x".to_owned()]), &["K206 kibus-router:live"], &again),
        ("not published by kibus", "cc", |a| a.settings.code.version.clear(), &["K220 kibus-router:live"], &again),
    ];
    for (name, latest, edit, findings, fix) in rows {
        let verified = verified(&rolled_back(latest, edit), not_at_hand());
        assert_eq!(found(&verified), findings, "{name}");
        assert!(verified.findings.iter().all(|finding| finding.fix == *fix), "{name}");
        assert_warned(&verified, "rolled back from version 3");
    }
}

#[test]
fn a_rollback_that_was_cut_short_is_said() {
    let verified = verified(&rolled_back("cc", |alias| alias.version = Some(3)), not_at_hand());
    let live = "version 3 of the function is live (router 0.1.0)";
    assert_warned(&verified, &format!("{live}: a rollback to version 2 is not finished"));
}

/// A hub whose function has this code, and whose router was rolled back from version 3.
fn rolled_back(latest: &str, edit: impl FnOnce(&mut Alias)) -> Survey {
    let mut survey = deployed(latest, "0.1.0-bb");
    edit_alias(&mut survey, |alias| {
        (alias.version, alias.versions) = (Some(2), [1, 2, 3].into());
        edit(alias);
    });
    let mut parameter = survey.observed.parameter(scope().settings_parameter()).unwrap().clone();
    parameter.settings.as_mut().unwrap().pinned_version = Some(2);
    see(&mut survey, Resource::Parameter(parameter));
    let function = survey.observed.function(scope().router_function()).unwrap();
    let settings = FunctionSettings { code: Code::of_archive("0.3.0", "cc"), ..function.settings.clone() };
    survey.known.versions.insert(3, Fact::Present(settings));
    survey
}

/// A name, the router of this kibus, options, whether the rollback ends, the hash of the function's code; the changes
/// of code, and the settings that cause a refusal.
type Kept = (&'static str, OfferedRouter, HubOptions, bool, &'static str, &'static str, &'static str);

#[test]
fn a_rollback_is_kept_until_it_is_ended() {
    let none = HubOptions::default;
    let live = || OfferedRouter::Named(Code::of_archive("0.1.0", "bb"), "--router-sha256 00".to_owned());
    let retention = HubOptions { retention: "7200".parse().ok(), ..none() };
    let more = || options(Some("1024"));
    let both = "function cc→aa, alias 0.1.0-bb→0.2.0-aa";
    let rows: [Kept; 7] = [
        ("nothing else", packaged(), none(), false, "cc", "", ""),
        ("the live code is named", live(), none(), false, "bb", "", ""),
        ("other code on the function", packaged(), none(), false, "ee", "function ee→aa", ""),
        ("an option of the queues", packaged(), retention, false, "cc", "", ""),
        ("more memory", packaged(), more(), false, "cc", "", "`memory`"),
        ("other code is named", named(), none(), false, "cc", "function cc→aa", "`code`"),
        ("more memory, and it ends", packaged(), more(), true, "cc", both, ""),
    ];
    for (name, router, options, end_rollback, latest, expected, refused) in rows {
        let given = Bootstrap { end_rollback, ..setting(options) };
        let intent = planned(&rolled_back(latest, |_| {}), &bootstrap_with(given, router));
        assert_eq!(codes(&intent), expected, "{name}");
        let why = "live, but these changes need a new version: ";
        let fields = intent.refusals.iter().map(|refusal| refusal.sentence.split_once(why).unwrap().1);
        assert_eq!(fields.collect::<Vec<_>>().join("; "), refused, "{name}");
        assert!(intent.refusals.iter().all(|one| commands(one)[0] == "kibus again --router-latest"), "{name}");
    }
}
