//! Whether anything reads a queue.

use super::*;

#[test]
fn one_rule_about_auto_scaling_tells_who_reads_a_queue() {
    let mut survey = empty();
    add_template(&mut survey, "base");
    add_rule(&mut survey, "hooks", json!({"source": ["aws.autoscaling"]}), &[("1", arn("base"))]);
    let found = discovery(&survey, None).unwrap();
    assert_eq!(found.queues[0].made_by, Origin::NodeTerminationHandler);
    assert_eq!((usize::from(found.queues[0].is_replaced()), found.moves.len()), (0, 0));
}

#[test]
fn nobody_reads_is_said_only_on_evidence() {
    let activity = |receives| {
        Fact::Present(QueueActivity { sent: 5, receives, polled: receives / 15, ..QueueActivity::default() })
    };
    for (case, activity, expected) in [
        ("read", activity(4_320), None),
        (
            "not read",
            activity(0),
            Some("nothing has read `base` in the last day: its Karpenter receives no Spot warnings. "),
        ),
        ("seldom", activity(3), Some("`base` was received from 3 times in the last day, but ")),
        ("denied", Fact::Unreadable(Fault::denied("cloudwatch:GetMetricData")), None),
        ("no data", Fact::Absent, None),
    ] {
        let mut survey = empty();
        add_template(&mut survey, "base");
        survey.known.activity.insert("base".parse().unwrap(), activity);
        let found = discovery(&survey, None).unwrap();
        let warning = found.queues[0].warning.clone();
        match expected {
            None => assert_eq!(warning, None, "{case}"),
            Some(start) => assert!(warning.as_ref().unwrap().starts_with(start), "{case}: {warning:?}"),
        }
    }
}

#[test]
fn an_old_queue_of_a_cluster_on_the_bus_needs_no_reader() {
    let mut survey = with_hub();
    add_template(&mut survey, "base");
    let nothing = Fact::Present(QueueActivity::default());
    survey.known.activity.insert("base".parse().unwrap(), nothing);
    let found = discovery(&survey, None).unwrap();
    let warning = found.queues[0].warning.clone().unwrap();
    assert!(warning.ends_with("when its rules are removed, it can be deleted"), "{warning}");
}

#[test]
fn a_queue_that_does_not_exist_loses_its_events() {
    let mut survey = empty();
    add_template(&mut survey, "base");
    survey.observed.insert(ResourceId::Queue("base".parse().unwrap()), Fact::Absent);
    let found = discovery(&survey, None).unwrap();
    assert_eq!(found.queues[0].reader, Readership::NoQueue);
    assert_eq!(commands(&found)[1], "kibus add-cluster base");
}
