//! Hostile arguments are wrong usage before anything is called. `tests/hostile` has some of them as processes, and the variables.

use std::ffi::OsString;

use super::{global, parse, usage_error};

#[path = "../../tests/hostile/shown.rs"]
mod shown;

/// The options and names that a command takes; `{}` is the place of the hostile text.
const PLACES: &[&str] = &[
    "add-cluster {}",
    "add-cluster base {}",
    "remove-cluster {}",
    "verify {}",
    "status {}",
    "events {}",
    "events --since={}",
    "events --signal={}",
    "events --node-pool={}",
    "events --limit={}",
    "list --bus={}",
    "list --region={}",
    "list --endpoint-url={}",
    "discover {}",
    "export {}",
    "export cluster {}",
    "export cluster base --format={}",
    "export cluster base --controller-role={}",
    "export hub --format={}",
    "rollback {}",
    "explain {}",
    "completions {}",
    "policy {}",
    "policy controller {}",
    "policy operator --for clusters {}",
    "policy operator --for clusters --controller-role={}",
    "policy operator --tag=x={}",
    "add-cluster base --controller-role={}",
    "add-cluster base --karpenter-version={}",
    "add-cluster base --tag={}",
    "bootstrap-hub --tag=x={}",
    "bootstrap-hub --tag={}=x",
    "bootstrap-hub --kms-key={}",
    "bootstrap-hub --cluster-metrics={}",
    "bootstrap-hub --notify={}",
    "bootstrap-hub --kms-key=arn:aws:kms:us-west-2:111122223333:key/{}",
    "bootstrap-hub --permissions-boundary=arn:aws:iam::111122223333:policy/{}",
    "bootstrap-hub --role-path={}",
    "bootstrap-hub --role-path=/{}/",
    "bootstrap-hub --queue-name={}",
    "bootstrap-hub --queue-name={}{cluster}",
    "bootstrap-hub --memory={}",
    "bootstrap-hub --arch={}",
    "bootstrap-hub --retention={}",
    "bootstrap-hub --log-retention={}",
    "bootstrap-hub --reserved-concurrency={}",
    "bootstrap-hub --router-sha256={}",
    "{}",
    "list --{}",
];

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
    let long = "x".repeat(3_000);
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
        for place in PLACES {
            refused(place, hostile);
        }
    }
    // Tags and the paths of roles and policies may have dots and slashes, and are never a path of a file or of a URL.
    let may = |place: &str| ["tag", "role", "boundary"].iter().any(|kind| place.contains(kind));
    for hostile in ["../../etc", "a/../b", ".."] {
        for place in PLACES.iter().filter(|place| !may(place)) {
            refused(place, hostile);
        }
    }
}

/// What the parser refuses in an option, it refuses in the variable of the option, for which nothing else looks at the text.
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
