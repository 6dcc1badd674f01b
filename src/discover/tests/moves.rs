//! The commands that move clusters to the bus.

use super::*;
use crate::survey::ListedRole;

#[test]
fn the_commands_move_every_cluster_and_change_few_settings() {
    let none: &[&str] = &[];
    for (case, templates, terraform, roles, expected) in [
        ("nothing", none, none, none, &[][..]),
        (
            "the template of Karpenter",
            &["a", "b"],
            none,
            none,
            &[
                "kibus bootstrap-hub --queue-name '{cluster}'",
                "kibus add-cluster a b --adopt",
                "kibus export cluster a --format cloudformation\nkibus export cluster b --format cloudformation",
            ],
        ),
        (
            "Terraform, and one of the other",
            &["a"],
            &["b", "c"],
            none,
            &[
                "kibus bootstrap-hub --queue-name 'Karpenter-{cluster}'",
                "kibus add-cluster b c --adopt",
                "kibus add-cluster a",
                "kibus export cluster b --format terraform\nkibus export cluster c --format terraform",
                "kibus export cluster a --format cloudformation",
            ],
        ),
        (
            "a role with a generated suffix, and one with a usual name",
            &["a", "b", "c"],
            none,
            &[
                "KarpenterIRSA-a-1A2B3C4D5E6F",
                "b-karpenter",
                "KarpenterIRSA-c-1A2B3C4D5E6F",
                "c-karpenter-1A2B3C4D5E6F",
            ],
            &[
                "kibus bootstrap-hub --queue-name '{cluster}'",
                "kibus add-cluster b c --adopt",
                "kibus add-cluster a --controller-role KarpenterIRSA-a-1A2B3C4D5E6F --adopt",
                "kibus export cluster a --format cloudformation\nkibus export cluster b --format cloudformation\n\
                 kibus export cluster c --format cloudformation",
            ],
        ),
    ] {
        let mut survey = empty();
        for cluster in templates {
            add_template(&mut survey, cluster);
        }
        for cluster in terraform {
            let queue = format!("Karpenter-{cluster}");
            add_queue(&mut survey, &queue, &[]);
            add_rule(
                &mut survey,
                &format!("KarpenterSpotInterrupt-{cluster}-2024"),
                spot(),
                &[(TEMPLATE, arn(&queue))],
            );
        }
        let listed = roles.iter().map(|role| (role.parse().unwrap(), ListedRole::default()));
        survey.known.listed_roles = Fact::Present(listed.collect());
        assert_eq!(commands(&discovery(&survey, None).unwrap()), expected, "{case}");
    }
}

#[test]
fn with_a_hub_only_clusters_that_are_not_on_the_bus_move() {
    let mut survey = with_hub();
    add_template(&mut survey, "base");
    add_template(&mut survey, "other");
    add_queue(&mut survey, "karpenter-third", &[]);
    add_rule(&mut survey, "karpenter-spot-interruption", spot(), &[("karpenter-sqs", arn("karpenter-third"))]);
    let found = discovery(&survey, None).unwrap();
    assert_eq!(
        commands(&found),
        [
            "kibus add-cluster third --adopt",
            "kibus add-cluster other",
            "kibus export cluster other --format cloudformation"
        ]
    );
    // With a format, all clusters are exported in it, whatever their tools are.
    let found_for = discovery(&survey, Some(Format::Terraform)).unwrap();
    assert_eq!(
        commands(&found_for),
        ["kibus export cluster other --format terraform\nkibus export cluster third --format terraform"]
    );
    let registered = |name: &str| found.queues.iter().find(|queue| queue.name.as_str() == name).unwrap().registered;
    assert!(registered("base") && !registered("other"));
}

#[test]
fn the_queue_name_of_a_new_hub_says_how_many_clusters_use_it() {
    for (templates, terraform, said) in [
        (&["a"][..], &[][..], "this cluster uses"),
        (&["a", "b"], &[], "these clusters use"),
        (&["a"], &["b", "c"], "2 of these 3 clusters use"),
        (&["a"], &["b"], "1 of these 2 clusters use"),
    ] {
        let mut survey = empty();
        for cluster in templates {
            add_template(&mut survey, cluster);
        }
        for cluster in terraform {
            let queue = format!("Karpenter-{cluster}");
            let rule = format!("KarpenterSpotInterrupt-{cluster}-2024");
            add_queue(&mut survey, &queue, &[]);
            add_rule(&mut survey, &rule, spot(), &[(TEMPLATE, arn(&queue))]);
        }
        let found = discovery(&survey, None).unwrap();
        let text = &found.moves[0].text;
        assert!(text.contains(&format!("have the names that {said} already")), "{text}");
    }
}
