//! What a check says of recorded clusters that are damaged, and of what has the tags or the names of the bus and no record.

use super::*;
use crate::model::{
    BadDocument, Fault, FindingCode, Severity, Tags,
    policy::InlinePolicy,
    tags::{BUS, CLUSTER},
};

/// A case, what damages `base`, the findings of a check with their severities, and what `list` and `status` show.
type Row = (&'static str, fn(&mut Survey), &'static [&'static str], Option<&'static str>);

#[test]
fn what_damages_a_recorded_cluster_is_found_by_every_command_that_reads() {
    let rows: [Row; 13] = [
        ("nothing", |_| {}, &[], None),
        (
            "no queue",
            |survey| survey.observed.insert(id_of_queue(QUEUE), Fact::Absent),
            &["K110 critical"],
            Some("queue missing"),
        ),
        (
            "no policy",
            |survey| edit_queue(survey, QUEUE, |queue| queue.policy = None),
            &["K210 critical"],
            Some("queue policy changed"),
        ),
        (
            "a lost tag",
            |survey| edit_queue(survey, QUEUE, |queue| drop(queue.tags.0.remove(CLUSTER))),
            &["K210 critical"],
            Some("queue lacks tags"),
        ),
        (
            "a young mark",
            |survey| mark(survey, QUEUE, YOUNG),
            &["K329 critical"],
            Some("queue marked as being deleted"),
        ),
        ("an old mark", |survey| mark(survey, QUEUE, OLD), &["K329 critical"], Some("queue marked as being deleted")),
        (
            "another bus",
            |survey| edit_queue(survey, QUEUE, |queue| queue.tags = queue.tags.clone().with(BUS, "two")),
            &["K302 critical"],
            Some("queue not managed by kibus"),
        ),
        (
            "a prepared queue",
            |survey| edit_queue(survey, QUEUE, |queue| queue.created = SINCE - 6),
            &["K302 critical"],
            Some("queue not managed by kibus"),
        ),
        ("another field", |survey| edit_queue(survey, QUEUE, |queue| queue.retention = 60), &["K210 error"], None),
        (
            "another tag",
            |survey| edit_record(survey, |record| drop(record.tags.insert("team".to_owned(), "a".to_owned()))),
            &["K209 error"],
            None,
        ),
        (
            "no permission",
            |survey| {
                let id = scope().controller_policy_id(&base(), &ROLE.parse().unwrap());
                survey.observed.insert(id, Fact::Absent);
            },
            &["K111 critical"],
            None,
        ),
        (
            "a change of the role that was cut off",
            |survey| {
                survey.known.roles.insert("old".parse().unwrap(), Fact::Present(RolePolicies::default()));
                edit_record(survey, |record| record.former_roles = ["old".parse().unwrap()].into());
            },
            &["K214 error"],
            None,
        ),
        (
            "an external queue with the lock of kibus",
            |survey| {
                edit_record(survey, |record| (record.external, record.role) = (true, None));
                survey.known.activity.insert(QUEUE.parse().unwrap(), Fact::Absent);
            },
            &["K326 critical"],
            None,
        ),
    ];
    for (name, damage, expected, shown) in rows {
        let mut survey = survey();
        damage(&mut survey);
        let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
        let found: Vec<String> = intent
            .findings
            .iter()
            .map(|finding| format!("{} {}", finding.code.unwrap(), finding.severity.as_str()))
            .collect();
        assert_eq!(found, expected, "{name}");
        assert!(intent.findings.iter().all(|finding| finding.cluster == Some(base())), "{name}");
        let (_, clusters) = status::status(&survey, &BTreeSet::new()).unwrap();
        assert_eq!(clusters.iter().map(|one| one.damage.as_deref()).collect::<Vec<_>>(), [shown], "{name}");
    }
}

#[test]
fn a_record_that_cannot_be_used_is_critical_and_stops_every_command_about_its_cluster() {
    type Edit = fn(&mut crate::model::Record);
    let rows: [(&str, Edit); 4] = [
        ("damaged", |record| record.content = Err(BadDocument::Damaged("x".to_owned()))),
        ("of the future", |record| record.content = Err(BadDocument::Future(2))),
        ("of another cluster", |record| {
            let text = record.record().unwrap().document();
            record.content = ClusterRecord::from_document(&text, &"other".parse().unwrap());
        }),
        ("with another queue", |record| record.content.as_mut().unwrap().queue = "orders".parse().unwrap()),
    ];
    for (name, edit) in rows {
        let mut survey = survey();
        let id = survey.record_id(&base());
        let mut record = survey.observed.resource(&id).unwrap().as_record().unwrap().clone();
        edit(&mut record);
        see(&mut survey, Resource::Record(record));
        for target in [add(), add_with(adopting()), remove(), Target::teardown()] {
            let blocked = reconcile(&survey, &target).unwrap_err();
            let codes: Vec<_> = blocked.0.iter().map(|one| (one.code, one.cluster.clone())).collect();
            assert_eq!(codes, [(Some(FindingCode::RecordUnusable), Some(base()))], "{name}");
            let deletes = blocked.0[0].fix.steps().iter().any(|step| step.command.is_some());
            assert_eq!(deletes, name != "of the future", "{name}: a newer kibus can use it");
        }
        assert_eq!(found_in(&survey), ["K328 /kibus/kibus/clusters/base"], "{name}");
        let other = add_of("other");
        assert!(reconcile(&survey, &other).is_ok(), "{name}: another cluster");
        assert!(reconcile(&survey, &bootstrap(HubOptions::default())).is_ok(), "{name}: the hub");
    }
}

fn adopting() -> ClusterSetting {
    ClusterSetting { adopt: Some(true), ..with_role(ROLE) }
}

fn add_of(name: &str) -> Target {
    Target::add([name.parse().unwrap()], &with_role(ROLE))
}

/// A case, the name and the tags of a queue beside that of `base`, the answer about the record, and what is found.
type Other = (&'static str, &'static str, &'static [(&'static str, &'static str)], Option<bool>, bool);

const X: &[(&str, &str)] = &[(BUS, "kibus"), (CLUSTER, "x")];

fn tags_of(tags: &[(&str, &str)]) -> Tags {
    tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A survey with this queue, which the tagging API knows with the tags of cluster `x`.
fn with_queue(name: &str, tags: &[(&str, &str)]) -> Survey {
    let mut survey = survey();
    let queue = survey.observed.queue(QUEUE.parse().unwrap()).unwrap().clone();
    let all = [(QUEUE.parse().unwrap(), queue.tags.clone()), (name.parse().unwrap(), tags_of(X))];
    survey.known.tagged_queues = Fact::Present(all.into());
    see(&mut survey, Resource::Queue(Queue { name: name.parse().unwrap(), tags: tags_of(tags), ..queue }));
    survey
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
        if let Some(absent) = absent {
            survey.known.absent_records.insert("x".parse().unwrap(), Fact::Present(absent));
        }
        let expected: Vec<String> = is_found.then(|| format!("K327 {queue}")).into_iter().collect();
        assert_eq!(found_in(&survey), expected, "{name}");
        let asks = survey.take_open().absent_records;
        let expected: BTreeSet<ClusterName> =
            (tags == X && absent.is_none()).then(|| "x".parse().unwrap()).into_iter().collect();
        assert_eq!(asks, expected, "{name}");
    }
}

#[test]
fn a_policy_that_no_record_explains_is_found() {
    let usual = || usual_roles(&"x".parse().unwrap())[0].clone();
    for (role, policy, absent, is_found) in [
        (usual(), "kibus.us-west-2.x", true, true),
        (usual(), "kibus.us-west-2.x", false, false),
        // A cluster has a record, which names another role.
        (usual(), "kibus.us-west-2.base", false, true),
        (ROLE.parse().unwrap(), "kibus.us-west-2.base", false, false),
        (ROLE.parse().unwrap(), "kibus.us-west-2.x", true, true),
    ] {
        let mut survey = survey();
        let text = "{}".to_owned();
        let policies = [(policy.to_owned(), InlinePolicy { name: policy.to_owned(), text })];
        survey.known.roles.insert(role.clone(), Fact::Present(policies.into()));
        survey.known.listed_roles = Fact::Present([(role.clone(), ListedRole::default())].into());
        survey.known.absent_records.insert("x".parse().unwrap(), Fact::Present(absent));
        let expected: Vec<String> = is_found.then(|| format!("K327 {role}/{policy}")).into_iter().collect();
        assert_eq!(found_in(&survey), expected, "{role} {policy}");
    }
}

#[test]
fn a_check_of_named_clusters_finds_what_has_no_record_of_those() {
    for (names, expected) in [(&[][..], "K327 karpenter-x"), (&["x"], "K327 karpenter-x"), (&["base"], "")] {
        let mut survey = with_queue("karpenter-x", X);
        survey.known.absent_records.insert("x".parse().unwrap(), Fact::Present(true));
        let intent = reconcile(&survey, &verify_named(names, OfferedRouter::Packaged(code()))).unwrap();
        assert_eq!(found(&intent).join(" "), expected, "{names:?}");
    }
}

#[test]
fn a_named_cluster_without_a_record_is_found_with_the_name_that_may_be_meant() {
    for (name, sentence) in [("bas", "not recorded; did you mean `base`?"), ("elsewhere", "not recorded")] {
        let mut survey = survey();
        // A record that was just written may be read as absent.
        let intent = reconcile(&survey, &verify_named(&[name], OfferedRouter::Packaged(code()))).unwrap();
        assert_eq!(intent.findings, []);
        survey.known.absent_records.insert(name.parse().unwrap(), Fact::Present(true));
        let intent = reconcile(&survey, &verify_named(&[name], OfferedRouter::Packaged(code()))).unwrap();
        let found: Vec<_> = intent.findings.iter().map(|one| (one.code.unwrap(), one.sentence.as_str())).collect();
        assert_eq!(found, [(FindingCode::ClusterNotRecorded, sentence)]);
        assert_eq!(intent.findings[0].severity, Severity::Critical);
    }
}

#[test]
fn without_the_records_a_check_says_that_they_are_unknown_and_what_changes_clusters_is_refused() {
    let mut survey = with_queue("karpenter-x", X);
    let record = survey.record_id(&base());
    survey.observed.insert(record, Fact::Unreadable(Fault::denied("ssm:GetParameters")));
    survey.known.records = Fact::Unreadable(Fault::denied("ssm:GetParametersByPath"));
    let found = found_in(&survey);
    assert!(found.contains(&"K401 records of clusters".to_owned()), "{found:?}");
    assert!(found.iter().all(|one| one.starts_with("K401")), "{found:?}");
    for target in [add(), remove(), Target::teardown(), bootstrap(with_key(KEY))] {
        let blocked = reconcile(&survey, &target).unwrap_err();
        assert_eq!(blocked.0[0].sentence, "2 items could not be read");
        assert_eq!(blocked.0[0].notes, ["AWS denied ssm:GetParameters", "AWS denied ssm:GetParametersByPath"]);
    }
    assert!(reconcile(&survey, &bootstrap(HubOptions::default())).is_ok(), "no cluster is concerned");
}

#[test]
fn what_could_not_be_looked_for_is_said() {
    let mut survey = survey();
    survey.known.tagged_queues = Fact::Unreadable(Fault::denied("tag:GetResources"));
    survey.known.listed_roles = Fact::Unreadable(Fault::denied("iam:ListRoles"));
    let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
    for what in ["whether queues have the tags of this bus", "whether roles have policies of this bus"] {
        assert!(warned(&intent).contains(what), "{}", warned(&intent));
    }
}
