//! External queues: what a check finds, and that no command writes to them.

use super::*;
use crate::model::{
    Encryption, FindingCode, Maker, QueueActivity, Severity,
    tags::{BUS, CLUSTER},
};

/// A survey in which `base` is external and has no finding.
pub(super) fn external_cluster() -> Survey {
    let mut survey = survey();
    make_external(&mut survey);
    lose(&mut survey, [policy_of(ROLE)]);
    // With Sids chosen by its owner.
    let mut policy = policy::cluster_queue_policy(&scope(), &QUEUE.parse().unwrap());
    for statement in policy.value_mut()["Statement"].as_array_mut().unwrap() {
        statement.as_object_mut().unwrap().remove("Sid");
    }
    edit_queue(&mut survey, QUEUE, |queue| queue.policy = Some(policy));
    let reads = QueueActivity { deleted: 1, receives_of_last_hour: Some(180), ..QueueActivity::default() };
    survey.known.activity.insert(QUEUE.parse().unwrap(), Fact::Present(reads));
    survey.known.event_rules = Fact::Present(Vec::new());
    survey
}

/// The findings about the queue, as `code severity`.
fn graded(survey: &Survey) -> Vec<String> {
    grades(checked(survey).findings.iter().filter(|finding| finding.name() == QUEUE))
}

/// Whatever state its queue is in, no command writes to it.
#[test]
fn a_check_grades_what_it_finds_of_an_external_queue() {
    type Edit = fn(&mut Queue);
    let rows: [(&str, Edit, &[&str]); 9] = [
        ("nothing", |_| {}, &[]),
        ("lost tags", |queue| drop(queue.tags.0.remove(CLUSTER)), &["K320 critical"]),
        ("another bus", |queue| drop(queue.tags.0.insert(BUS.to_owned(), "two".to_owned())), &["K320 critical"]),
        ("another setting", |queue| queue.retention = 60, &["K320 error"]),
        ("its own key", |queue| queue.encryption = Encryption::Kms(KEY.parse().unwrap()), &["K320 critical"]),
        ("a tag of its own", |queue| drop(queue.tags.0.insert("team".to_owned(), "x".to_owned())), &[]),
        ("an older queue", |queue| queue.created = SINCE - 86_400, &[]),
        ("no policy", |queue| queue.policy = None, &["K320 critical", "K320 critical"]),
        ("kibus's policy", |q| q.policy = Some(policy::cluster_queue_policy(&scope(), &q.name)), &["K326 critical"]),
    ];
    let external = ClusterSetting { external: Some(true), ..ClusterSetting::default() };
    let rekey = bootstrap_to(with_key(KEY));
    let targets = [add(), add_with(external), remove(), Target::teardown(), rekey, verify()];
    for (name, edit, expected) in rows {
        let mut survey = external_cluster();
        edit_queue(&mut survey, QUEUE, edit);
        assert_eq!(graded(&survey), expected, "{name}");
        for target in &targets {
            let changes = planned(&survey, target).plan.changes;
            assert!(changes.iter().all(|change| change.id != id_of_queue(QUEUE)), "{name}: {target:?}");
        }
    }
}

#[test]
fn a_missing_external_queue_is_created_by_its_owner_with_its_tool() {
    let mut survey = external_cluster();
    lose(&mut survey, [id_of_queue(QUEUE)]);
    edit_record(&mut survey, |record| record.made_by = Maker::Tool("cloudformation".to_owned()));
    let finding = only(checked(&survey).findings);
    assert_eq!((finding.code, finding.severity), (Some(FindingCode::ClusterQueueMissing), Severity::Critical));
    assert_eq!(commands(&finding), ["kibus export cluster base --format cloudformation"]);
}

#[test]
fn external_queues_are_named_when_the_key_changes() {
    let said = "the queues of external clusters do not follow; the owner of each must change its encryption: `base`";
    assert_warned(&planned(&external_cluster(), &bootstrap_to(with_key(KEY))), said);
}
