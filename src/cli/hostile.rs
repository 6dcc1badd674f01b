//! Hostile arguments are usage errors before any call. `tests/hostile` tests some of them in real processes, and the variables.

use std::ffi::OsString;

use super::{global, parse, usage_error};
use crate::model::table::rows;

#[path = "../../tests/hostile/shown.rs"]
mod shown;

/// The options and names that a command accepts; `{}` is replaced by the hostile text. `--untag` accepts any printable
/// key, since others may have set the tag.
const PLACES: &str = "
    add-cluster         | {} base·{} base·--controller-role={} base·--karpenter-version={} base·--tag={}
    remove-cluster      | {}
    verify              | {}
    status              | {}
    events              | {} --since={} --signal={} --node-pool={} --limit={}
    list                | --bus={} --region={} --endpoint-url={} --{}
    discover            | {}
    drill               | {} base·--instance={} base·--warning={}
    export              | {} cluster·{} cluster·base·--format={} cluster·base·--controller-role={} hub·--format={}
    rollback            | {}
    explain             | {}
    completions         | {}
    policy              | {} controller·{} operator·--tag=x={}
    policy operator     | --for·clusters·{} --for·clusters·--controller-role={}
    bootstrap-hub       | --tag=x={} --tag={}=x --kms-key={} --kms-key=arn:aws:kms:us-west-2:111122223333:key/{} --role-path={}
    bootstrap-hub       | --permissions-boundary=arn:aws:iam::111122223333:policy/{} --role-path=/{}/ --cluster-metrics={} --notify={}
    bootstrap-hub       | --queue-name={} --queue-name={}{cluster} --memory={} --arch={} --retention={} --log-retention={}
    bootstrap-hub       | --reserved-concurrency={} --router-sha256={} --alarms={}";

fn places() -> Vec<String> {
    let each = |[command, places]: [&str; 2]| {
        places.split(' ').map(|place| format!("{command} {}", place.replace('·', " "))).collect::<Vec<_>>()
    };
    rows(PLACES).into_iter().flat_map(each).chain(["{}".to_owned()]).collect()
}

fn refused(place: &str, hostile: &str) {
    let case = format!("{place} with {:?}", hostile.chars().take(20).collect::<String>());
    let line = place.split(' ').map(|word| word.replace("{}", hostile));
    let args: Vec<OsString> = std::iter::once("kibus".to_owned()).chain(line).map(OsString::from).collect();
    let message = match global::unprintable(&args) {
        Some(error) => error.message,
        None => usage_error(&parse::parse(&args).expect_err(&case)).unwrap(),
    };
    shown::check(&case, &message, &[]);
}

#[test]
fn a_hostile_argument_is_wrong_usage() {
    let (places, long) = (places(), "x".repeat(3_000));
    assert_eq!(places.len(), 53);
    for hostile in [
        "a\nerror: b",
        "\u{1b}[2J",
        "a\u{9b}2Jb",
        "a\u{7f}",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\u{200b}b",
        "$(id)",
        "a;b",
        "a b?",
        "b\u{430}se!",
        "%2e%2e%2f",
        &long,
    ] {
        for place in &places {
            refused(place, hostile);
        }
    }
    // Tags and the paths of roles and policies can contain dots and slashes, and are never used as a file path or in a URL.
    let may = |place: &str| ["tag", "role", "boundary"].iter().any(|kind| place.contains(kind));
    for hostile in ["../../etc", "a/../b", ".."] {
        for place in places.iter().filter(|place| !may(place)) {
            refused(place, hostile);
        }
    }
}

/// The parser rejects the same values in an option's variable, where nothing else checks the text.
#[test]
fn the_parser_alone_refuses_what_variables_may_have() {
    for option in ["bus", "region", "profile", "endpoint-url", "output", "color", "concurrency"] {
        for hostile in ["http://a\nb", "http://\u{1b}[2J", "http://\u{9b}", "http://\u{202e}"] {
            let case = format!("--{option} {hostile:?}");
            let args = ["kibus", "list", &format!("--{option}={hostile}")].map(OsString::from);
            let error = parse::parse(&args).expect_err(&case);
            shown::check(&case, &usage_error(&error).unwrap(), &[]);
        }
    }
}
