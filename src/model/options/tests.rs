use super::*;

/// An option of each type of value.
fn some_options() -> HubOptions {
    HubOptions {
        tag: Some(tags(&["env=x=y", "team=a b"])),
        kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
        retention: Some("7200".parse().unwrap()),
        permissions_boundary: Some(OrNone(None)),
        queue_name: Some("{cluster}".parse().unwrap()),
        memory: Some("512".parse().unwrap()),
        arch: Some(Architecture::Arm64),
        log_retention: Some("30".parse().unwrap()),
        rebalance: Some(false),
        ..HubOptions::default()
    }
}

fn tags(given: &[&str]) -> Vec<OrNone<UserTag>> {
    given.iter().map(|tag| tag.parse().unwrap()).collect()
}

#[test]
fn impossible_options_are_refused() {
    for (document, says) in [
        (r#"{"memory":"lots"}"#, "`lots` is not a whole number from 128 to 10240"),
        (r#"{"memory":512}"#, "invalid type: integer"),
        (r#"{"tag":{"aws:x":"y"}}"#, "is not a valid tag"),
        (r#"{"rebalance":"no"}"#, "invalid type: string"),
    ] {
        let error = serde_json::from_str::<HubOptions>(document).unwrap_err().to_string();
        assert!(error.contains(says), "{document}: {error}");
    }
}

#[test]
fn options_are_typed_as_they_are_read() {
    assert_eq!(
        some_options().typed().join(" "),
        "--arch arm64 --kms-key arn:aws:kms:us-west-2:111122223333:key/1 --log-retention 30d --memory 512 \
         --permissions-boundary none --queue-name '{cluster}' --rebalance=false --retention 2h --tag env=x=y --tag 'team=a b'"
    );
    let none = HubOptions { tag: Some(tags(&["none"])), ..HubOptions::default() };
    assert_eq!(none.typed(), ["--tag none"]);
}

#[test]
fn options_are_kept_by_their_flags() {
    let mut options = some_options();
    options.retain(|flag| flag == "kms-key");
    assert_eq!(options, HubOptions { kms_key: some_options().kms_key, ..HubOptions::default() });
}

#[test]
fn tags_are_added_to_the_saved_ones() {
    let with = |tag: &[&str]| HubOptions { tag: (!tag.is_empty()).then(|| tags(tag)), ..HubOptions::default() };
    for (given, saved, removed, expected) in [
        (with(&[]), with(&["a=1"]), "", with(&["a=1"])),
        (with(&["b=2", "a=3"]), with(&["a=1", "c=4"]), "", with(&["a=3", "b=2", "c=4"])),
        (with(&["none"]), with(&["a=1"]), "", with(&["none"])),
        (with(&["none", "b=2"]), with(&["a=1"]), "", with(&["b=2"])),
        (with(&["b=2"]), with(&["a=1"]), "a", with(&["b=2"])),
        (with(&[]), with(&["a=1"]), "a", with(&["none"])),
        (with(&[]), with(&[]), "a", with(&[])),
    ] {
        let mut options = given.clone().or(saved);
        options.untag(&[removed.to_owned()]);
        assert_eq!(options, expected, "{given:?}");
    }
}

#[cfg(feature = "cli")]
#[test]
fn help_names_every_default() {
    let command = <HubOptions as clap::Args>::augment_args(clap::Command::new("kibus"));
    let of = HubOptions::default();
    let defaults = format!(
        "retention={}, role-path={}, queue-name={}, memory={}, arch={}, log-retention={}, cluster-metrics={}, \
         rebalance=false, alarms=false, heartbeat=with alarms, dashboard=false, reader-alarms=false, \
         tag-conditions=depends on the Region",
        of.retention(),
        of.role_path(),
        of.queue_template(),
        of.memory(),
        of.architecture(),
        of.log_retention(),
        of.cluster_metrics()
    );
    let defaults: Vec<(&str, &str)> = defaults.split(", ").filter_map(|pair| pair.split_once('=')).collect();
    for arg in command.get_arguments() {
        let (flag, help) = (arg.get_long().unwrap(), arg.get_help().unwrap().to_string());
        let expected = defaults.iter().find(|(of, _)| *of == flag);
        let named = help.split_once("[default: ").map(|(_, rest)| rest.trim_end_matches(']'));
        assert_eq!(named, expected.map(|(_, default)| *default), "--{flag}: {help}");
        assert!(named.is_some() || help.contains("`none`"), "--{flag}: {help}");
        let variable = arg.get_env().unwrap().to_str().unwrap();
        assert_eq!(variable, format!("KIBUS_{}", flag.to_uppercase().replace('-', "_")));
    }
}

#[test]
fn metrics_of_clusters_are_read_as_they_are_written_and_as_a_boolean() {
    use ClusterMetrics::{Cluster, NodePool, None};
    for (text, metrics) in
        [("cluster", Cluster), ("true", Cluster), ("nodepool", NodePool), ("none", None), ("false", None)]
    {
        assert_eq!(text.parse(), Ok(metrics));
        assert_eq!(metrics.to_string().parse(), Ok(metrics));
    }
    assert!("pools".parse::<ClusterMetrics>().is_err());
}

#[test]
fn tags_of_users_are_checked() {
    for (tags, taken) in [("team=a, team=, a/b:c=d e", true), ("team, =a, kibus:bus=x, aws:x=y, a b=c, a=<b>", false)] {
        for tag in tags.split(", ") {
            assert_eq!(tag.parse::<UserTag>().is_ok(), taken, "{tag}");
        }
    }
}

/// The typed value, and its meaning; nothing if it is refused.
#[test]
fn numbers_have_bounds() {
    let check = |pairs: &str, read: fn(&str) -> Option<u32>| {
        for (text, number) in pairs.split(' ').map(|pair| pair.split_once("=>").unwrap()) {
            assert_eq!(read(text), number.parse().ok(), "{text}");
        }
    };
    check("128=>128 10240=>10240 127=> 10241=> -1=> x=>", |text| Some(text.parse::<Memory>().ok()?.get()));
    check("14=>14 14d=>14 24h=>1 3653=>3653 0=> 15=> 25h=> x=>", |text| {
        Some(text.parse::<LogRetention>().ok()?.days())
    });
    check("1d=>86400 60m=>3600 86401=>86401 1209600s=>1209600 59m=> 15d=> 90=> 1.5h=>", |text| {
        Some(text.parse::<Retention>().ok()?.get())
    });
}
