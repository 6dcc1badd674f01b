//! What a check reports about damaged recorded clusters, and about resources with the tags or names of the bus but without a record.

use super::*;
use crate::model::{
    BadDocument, FindingCode, Severity, Tags,
    policy::InlinePolicy,
    tags::{BUS, CLUSTER},
};

/// A case, what damages `base`, the finding of a check with its severity, and what `list` and `status` show.
type Row = (&'static str, fn(&mut Survey), &'static str, Option<&'static str>);

#[test]
fn what_damages_a_recorded_cluster_is_found_by_every_command_that_reads() {
    let foreign = Some("queue not managed by kibus");
    let rows: [Row; 7] = [
        ("nothing", |_| {}, "", None),
        ("another bus", |survey| tag(survey, BUS, "two"), "K302 critical", foreign),
        ("a prepared queue", |it| edit_queue(it, QUEUE, |q| q.created = SINCE - 6), "K302 critical", foreign),
        ("another field", |survey| edit_queue(survey, QUEUE, |queue| queue.retention = 60), "K210 error", None),
        ("another tag", |it| edit_record(it, |record| record.tags.insert("a".into(), "b".into())), "K209 error", None),
        ("no permission", |survey| lose(survey, [policy_of(ROLE)]), "K111 critical", None),
        (
            "a change of the role that was cut off",
            |survey| {
                survey.known.roles.insert("old".parse().unwrap(), Fact::Present(RolePolicies::default()));
                edit_record(survey, |record| record.former_roles = ["old".parse().unwrap()].into());
            },
            "K214 error",
            None,
        ),
    ];
    for (name, damage, expected, shown) in rows {
        let mut survey = survey();
        damage(&mut survey);
        let findings = checked(&survey).findings;
        assert_eq!(grades(&findings).join(" "), expected, "{name}");
        assert!(findings.iter().all(|finding| finding.cluster == Some(base())), "{name}");
        let clusters = status::listed(&survey).unwrap();
        assert_eq!(clusters.iter().map(|one| one.damage.as_deref()).collect::<Vec<_>>(), [shown], "{name}");
    }
}

/// `scenario::records` has the finding of each kind.
#[test]
fn a_record_that_cannot_be_used_stops_every_command_about_its_cluster_and_no_other() {
    for (bad, is_of_newer) in [(BadDocument::Damaged("x".to_owned()), false), (BadDocument::Future(2), true)] {
        let mut survey = survey();
        let mut record = survey.observed.resource(&survey.record_id(&base())).unwrap().as_record().unwrap().clone();
        record.content = Err(bad);
        see(&mut survey, Resource::Record(record));
        for target in [add(), add_with(adopt()), remove(), Target::teardown()] {
            let message = only(reconcile(&survey, &target).unwrap_err().0);
            assert_eq!((message.code, &message.cluster), (Some(FindingCode::RecordUnusable), &Some(base())));
            assert_eq!(commands(&message).is_empty(), is_of_newer, "a newer kibus can use it");
        }
        for other in [Target::add(["other".parse().unwrap()], &with_role(ROLE)), bootstrap()] {
            assert!(reconcile(&survey, &other).is_ok(), "{other:?}");
        }
    }
}

/// A case, the name and the tags of a queue in addition to that of `base`, the answer about the record, and what is found.
type Other = (&'static str, &'static str, &'static [(&'static str, &'static str)], Option<bool>, bool);

const X: &[(&str, &str)] = &[(BUS, "kibus"), (CLUSTER, "x")];

fn tags_of(tags: &[(&str, &str)]) -> Tags {
    tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A survey with this queue, which the tagging API lists with the tags of cluster `x`.
fn with_queue(name: &str, tags: &[(&str, &str)]) -> Survey {
    let mut survey = survey();
    let (queue, name) = (queue_of(&survey, QUEUE), name.parse::<QueueName>().unwrap());
    let all = [(queue.name.clone(), queue.tags.clone()), (name.clone(), tags_of(X))];
    survey.known.tagged_queues = Fact::Present(all.into());
    see(&mut survey, Resource::Queue(Queue { name, tags: tags_of(tags), ..queue }));
    survey
}

/// Whether there is certainly no record of this cluster.
fn has_no_record(survey: &mut Survey, cluster: &str, is_certain: bool) {
    survey.known.absent_records.insert(cluster.parse().unwrap(), Fact::Present(is_certain));
}

#[test]
fn a_queue_without_a_record_is_found_once_the_record_is_certainly_absent() {
    let rows: [Other; 8] = [
        ("not known yet", "karpenter-x", X, None, false),
        ("absent", "karpenter-x", X, Some(true), true),
        ("just written", "karpenter-x", X, Some(false), false),
        ("another queue of a cluster without a record", "mine", X, Some(true), true),
        ("another queue of a recorded cluster", "mine", &[(BUS, "kibus"), (CLUSTER, "base")], None, true),
        ("tags that are gone", "karpenter-x", &[], Some(true), false),
        ("another bus", "karpenter-x", &[(BUS, "two"), (CLUSTER, "x")], Some(true), false),
        ("the name alone", "karpenter-x", &[(CLUSTER, "x")], Some(true), false),
    ];
    for (name, queue, tags, absent, is_found) in rows {
        let mut survey = with_queue(queue, tags);
        absent.into_iter().for_each(|absent| has_no_record(&mut survey, "x", absent));
        let expected: Vec<String> = is_found.then(|| format!("K327 {queue}")).into_iter().collect();
        assert_eq!(found_in(&survey), expected, "{name}");
        let asks: Vec<String> = survey.take_open().absent_records.iter().map(ToString::to_string).collect();
        assert_eq!(asks == ["x"], tags == X && absent.is_none(), "{name}: {asks:?}");
    }
}

#[test]
fn a_policy_that_no_record_explains_is_found() {
    let usual = usual_roles(&"x".parse().unwrap())[0].to_string();
    for (role, policy, absent, is_found) in [
        (usual.as_str(), "kibus.us-west-2.x", true, true),
        (&usual, "kibus.us-west-2.x", false, false),
        // The cluster has a record, but it names another role.
        (&usual, "kibus.us-west-2.base", false, true),
        (ROLE, "kibus.us-west-2.base", false, false),
        (ROLE, "kibus.us-west-2.x", true, true),
    ] {
        let mut survey = survey();
        let inline = InlinePolicy { name: policy.to_owned(), text: "{}".to_owned() };
        survey.known.roles.insert(role.parse().unwrap(), Fact::Present([(policy.to_owned(), inline)].into()));
        survey.known.listed_roles = Fact::Present([(role.parse().unwrap(), ListedRole::default())].into());
        has_no_record(&mut survey, "x", absent);
        let expected: Vec<String> = is_found.then(|| format!("K327 {role}/{policy}")).into_iter().collect();
        assert_eq!(found_in(&survey), expected, "{role} {policy}");
    }
}

#[test]
fn a_check_of_named_clusters_finds_what_has_no_record_of_those() {
    for (names, expected) in [(&[][..], "K327 karpenter-x"), (&["x"], "K327 karpenter-x"), (&["base"], "")] {
        let mut survey = with_queue("karpenter-x", X);
        has_no_record(&mut survey, "x", true);
        assert_eq!(found(&planned(&survey, &verify_named(names))).join(" "), expected, "{names:?}");
    }
}

/// A read may miss a record that was just written.
#[test]
fn a_named_cluster_is_not_recorded_once_that_is_certain() {
    let mut survey = survey();
    assert_eq!(planned(&survey, &verify_named(&["bas"])).findings, []);
    has_no_record(&mut survey, "bas", true);
    let finding = only(planned(&survey, &verify_named(&["bas"])).findings);
    assert_eq!((finding.code, finding.severity), (Some(FindingCode::ClusterNotRecorded), Severity::Critical));
}

#[test]
fn without_the_records_a_check_says_that_they_are_unknown_and_what_changes_clusters_is_refused() {
    let mut survey = with_queue("karpenter-x", X);
    survey.observed.insert(survey.record_id(&base()), Fact::Unreadable(Fault::denied("ssm:GetParameters")));
    survey.known.records = Fact::Unreadable(Fault::denied("ssm:GetParametersByPath"));
    let found = found_in(&survey);
    assert!(found.contains(&"K401 records of clusters".to_owned()), "{found:?}");
    assert!(found.iter().all(|one| one.starts_with("K401")), "{found:?}");
    for target in [add(), remove(), Target::teardown(), bootstrap_to(with_key(KEY))] {
        let blocked = reconcile(&survey, &target).unwrap_err();
        assert_eq!(blocked.0[0].sentence, "2 items could not be read");
        assert_eq!(blocked.0[0].notes, ["AWS denied ssm:GetParameters", "AWS denied ssm:GetParametersByPath"]);
    }
    assert!(reconcile(&survey, &bootstrap()).is_ok(), "no cluster is concerned");
}

#[test]
fn what_could_not_be_looked_for_is_said() {
    let mut survey = survey();
    survey.known.tagged_queues = Fact::Unreadable(Fault::denied("tag:GetResources"));
    survey.known.listed_roles = Fact::Unreadable(Fault::denied("iam:ListRoles"));
    for what in ["whether queues have the tags of this bus", "whether roles have policies of this bus"] {
        assert_warned(&checked(&survey), what);
    }
}
