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
    let depth = |waiting, in_flight| Depth { waiting, in_flight };
    let activity = |sent, empty_receives| {
        Fact::Present(QueueActivity {
            sent,
            empty_receives,
            polled_hours: empty_receives / 180,
            ..QueueActivity::default()
        })
    };
    for (case, activity, samples, expected) in [
        ("read", activity(5, 4_320), vec![], None),
        (
            "not read",
            activity(5, 0),
            vec![],
            Some("nothing has read `base` in the last day: its Karpenter receives no Spot warnings. "),
        ),
        ("seldom", activity(5, 3), vec![], Some("`base` was received from 3 times in the last day, but ")),
        ("denied", Fact::Unreadable(Fault::denied("cloudwatch:GetMetricData")), vec![], None),
        ("no data", Fact::Absent, vec![depth(0, 0)], None),
        (
            "no data, and a message that waits",
            Fact::Absent,
            vec![depth(1, 0); 6],
            Some("about 1 message waited in `base` for a minute"),
        ),
        (
            "no data, and messages that wait",
            Fact::Absent,
            vec![depth(2, 0); 6],
            Some("about 2 messages waited in `base` for a minute, and none was received: probably nothing reads it"),
        ),
    ] {
        let mut survey = empty();
        add_template(&mut survey, "base");
        let base: QueueName = "base".parse().unwrap();
        survey.known.queue_activity.insert(base.clone(), activity);
        if let Some((first, later)) = samples.split_first() {
            let depth = Status::Queue(*first);
            survey.status.insert(ResourceId::Queue(base.clone()), depth);
            survey.known.watch.insert(base, Fact::Present(later.to_vec()));
        }
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
    survey.known.queue_activity.insert("base".parse().unwrap(), nothing);
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
