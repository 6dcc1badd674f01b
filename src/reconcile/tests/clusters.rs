//! Clusters that are added, changed and removed: the changes in their order, and what is refused.

use super::*;
use crate::model::{
    Maker, RoleName,
    tags::{BUS, CLUSTER},
};

fn policy_of(role: &str) -> ResourceId {
    scope().controller_policy_id(&base(), &role.parse().unwrap())
}

fn lose(survey: &mut Survey, ids: impl IntoIterator<Item = ResourceId>) {
    for id in ids {
        survey.observed.insert(id, Fact::Absent);
    }
}

/// Nothing of `base` exists.
fn lose_all(survey: &mut Survey) {
    lose_record(survey);
    lose(survey, [id_of_queue(QUEUE), policy_of(ROLE)]);
}

/// The queue of `base` is its owner's, and older than the hub.
fn lose_to_owner(survey: &mut Survey) {
    lose_all(survey);
    let queue = super::survey().observed.queue(QUEUE.parse().unwrap()).unwrap().clone();
    see(survey, Resource::Queue(Queue { policy: None, tags: Default::default(), created: SINCE - 86_400, ..queue }));
}

fn tag(survey: &mut Survey, key: &str, value: &str) {
    edit_queue(survey, QUEUE, |queue| queue.tags = queue.tags.clone().with(key, value));
}

/// The record of `base` says that its queue is external.
fn hand_over(survey: &mut Survey) {
    edit_record(survey, |record| (record.external, record.role) = (true, None));
    lose(survey, [policy_of(ROLE)]);
}

/// A tool made the record of `base`.
fn made_by_tool(survey: &mut Survey) {
    hand_over(survey);
    edit_record(survey, |record| (record.made_by, record.since) = (Maker::Tool("terraform".to_owned()), None));
}

/// The changes in their order, each with the places of those that it waits for.
fn steps(plan: &Plan) -> Vec<String> {
    let step = |change: &Change| {
        let sign = match change.action {
            Action::Create => '+',
            Action::Update => '~',
            Action::Delete => '-',
        };
        let what = match &change.id {
            ResourceId::RolePolicy(role, _) => format!("policy of {role}"),
            ResourceId::Queue(queue) => queue.to_string(),
            id => id.kind().to_owned(),
        };
        let waits: Vec<String> = change.waits_for.iter().map(ToString::to_string).collect();
        let late = if change.hands_over { ", once IAM applies them" } else { "" };
        if waits.is_empty() { format!("{sign}{what}") } else { format!("{sign}{what} after {}{late}", waits.join(",")) }
    };
    plan.changes.iter().map(step).collect()
}

/// The changes of a target, or what refuses them: the code, if it has one, and the sentence.
fn outcome(survey: &Survey, target: &Target) -> Result<Vec<String>, String> {
    let refused = |messages: &[Message]| {
        let texts = messages.iter().map(|one| match one.code {
            Some(code) => format!("{code} {}", one.sentence),
            None => one.sentence.clone(),
        });
        Err(texts.collect::<Vec<_>>().join("; "))
    };
    match reconcile(survey, target) {
        Ok(intent) if intent.refusals.is_empty() => Ok(steps(&intent.plan)),
        Ok(intent) => refused(&intent.refusals),
        Err(Blocked(messages)) => refused(&messages),
    }
}

fn check(name: &str, survey: &Survey, target: &Target, expected: Result<&[&str], &str>) {
    match (outcome(survey, target), expected) {
        (Ok(steps), Ok(expected)) => assert_eq!(steps, expected, "{name}"),
        (Err(found), Err(expected)) => assert!(found.starts_with(expected), "{name}: {found}"),
        (found, expected) => panic!("{name}: {found:?}, and not {expected:?}"),
    }
}

fn own() -> ClusterSetting {
    with_role(ROLE)
}

fn adopt() -> ClusterSetting {
    ClusterSetting { adopt: Some(true), ..own() }
}

fn external() -> ClusterSetting {
    ClusterSetting { external: Some(true), no_eks_check: Some(true), ..ClusterSetting::default() }
}

fn without_role() -> ClusterSetting {
    ClusterSetting { role: RoleOption::Unmanaged, ..own() }
}

fn tags(tags: &[&str], untag: &[&str]) -> ClusterSetting {
    let tags = tags.iter().map(|tag| tag.parse().unwrap()).collect();
    let removed = RemovedTags { untag: untag.iter().map(|key| (*key).to_owned()).collect() };
    ClusterSetting { tags, removed, ..own() }
}

/// A case, what differs from an up-to-date cluster, what is set, and the changes or what refuses them.
type Row = (&'static str, fn(&mut Survey), ClusterSetting, Result<&'static [&'static str], &'static str>);

#[test]
fn a_cluster_is_set_record_first_and_forgets_last() {
    let rows: [Row; 17] = [
        ("new", lose_all, own(), Ok(&["+record", "+karpenter-base after 0", "+policy of a after 0"])),
        ("up to date", |_| {}, own(), Ok(&[])),
        ("up to date, with the recorded role", |_| {}, ClusterSetting::default(), Ok(&[])),
        ("no queue", |survey| lose(survey, [id_of_queue(QUEUE)]), own(), Ok(&["+karpenter-base"])),
        ("no policy", |survey| lose(survey, [policy_of(ROLE)]), own(), Ok(&["+policy of a"])),
        (
            "an emptied policy",
            |survey| edit_queue(survey, QUEUE, |queue| queue.policy = None),
            own(),
            Ok(&["~karpenter-base"]),
        ),
        (
            "lost tags",
            |survey| edit_queue(survey, QUEUE, |queue| queue.tags = Default::default()),
            own(),
            Ok(&["~karpenter-base"]),
        ),
        ("an old mark", |survey| mark(survey, QUEUE, OLD), own(), Ok(&["~karpenter-base"])),
        (
            "another role",
            |_| {},
            with_role("b"),
            Ok(&[
                "~record",
                "+policy of b after 0",
                "-policy of a after 0,1, once IAM applies them",
                "~record after 0,1,2",
            ]),
        ),
        (
            "another role, after a kill",
            |survey| {
                edit_record(survey, |record| {
                    (record.role, record.former_roles) =
                        (Some("b".parse().unwrap()), BTreeSet::from([ROLE.parse().unwrap()]));
                });
            },
            with_role("b"),
            Ok(&["+policy of b", "-policy of a after 0, once IAM applies them", "~record after 0,1"]),
        ),
        (
            "another role, after a kill, and back",
            |survey| {
                edit_record(survey, |record| {
                    (record.role, record.former_roles) =
                        (Some("b".parse().unwrap()), BTreeSet::from([ROLE.parse().unwrap()]));
                });
            },
            own(),
            Ok(&["~record", "~record after 0"]),
        ),
        ("no role", |_| {}, without_role(), Ok(&["~record", "-policy of a after 0", "~record after 0,1"])),
        ("a tag", |_| {}, tags(&["team=x"], &[]), Ok(&["~record", "~karpenter-base after 0"])),
        (
            "a tag less",
            |survey| {
                edit_record(survey, |record| drop(record.tags.insert("team".to_owned(), "x".to_owned())));
                tag(survey, "team", "x");
            },
            tags(&[], &["team"]),
            Ok(&["~karpenter-base", "~record after 0"]),
        ),
        (
            "a tag for another",
            |survey| {
                edit_record(survey, |record| drop(record.tags.insert("team".to_owned(), "x".to_owned())));
                tag(survey, "team", "x");
            },
            tags(&["owner=x"], &["team"]),
            Ok(&["~record", "~karpenter-base after 0", "~record after 0,1"]),
        ),
        ("a tag of someone else", |survey| tag(survey, "team", "x"), own(), Ok(&[])),
        (
            "another bus",
            |survey| tag(survey, BUS, "two"),
            own(),
            Err("K302 queue `karpenter-base` of cluster `base` is not managed by kibus: its tag names bus `two`"),
        ),
    ];
    judge(rows);
}

#[test]
fn a_queue_that_exists_is_recorded_only_if_that_is_asked_for() {
    let unrecorded = "K327 queue `karpenter-base` exists, and cluster `base` has no record on bus `kibus`";
    let rows: [Row; 20] = [
        ("a lost record", lose_record, own(), Err(unrecorded)),
        ("a lost record, adopted", lose_record, adopt(), Ok(&["+record"])),
        ("of its owner", lose_to_owner, own(), Err(unrecorded)),
        (
            "of its owner, adopted",
            lose_to_owner,
            adopt(),
            Ok(&["+record", "~karpenter-base after 0", "+policy of a after 0"]),
        ),
        ("none, adopted", lose_all, adopt(), Err("no queue to adopt: `karpenter-base` does not exist")),
        ("up to date, adopted", |_| {}, adopt(), Ok(&[])),
        (
            "prepared before the record, adopted",
            |survey| edit_queue(survey, QUEUE, |queue| queue.created = SINCE - 6),
            adopt(),
            Ok(&["~record"]),
        ),
        ("of another bus, adopted", |survey| tag(survey, BUS, "two"), adopt(), Ok(&["~karpenter-base"])),
        (
            "unrecorded, of another bus, adopted",
            |survey| {
                lose_record(survey);
                tag(survey, BUS, "two");
            },
            adopt(),
            Err("K302 queue `karpenter-base` of cluster `base` belongs to bus `two`, by its tag"),
        ),
        ("external, with the tags", lose_record, external(), Ok(&["+record"])),
        ("external again", hand_over, external(), Ok(&[])),
        ("external, without an option", hand_over, own(), Ok(&[])),
        (
            "external, without the tags",
            lose_to_owner,
            external(),
            Err("K302 queue `karpenter-base` does not have the tags of cluster `base`"),
        ),
        (
            "external, of another bus",
            |survey| {
                lose_record(survey);
                tag(survey, BUS, "two");
            },
            external(),
            Err("K302 queue `karpenter-base` does not have the tags of cluster `base`: its tag `kibus:bus` is `two`"),
        ),
        (
            "external, of another cluster",
            |survey| {
                lose_record(survey);
                tag(survey, CLUSTER, "other");
            },
            external(),
            Err("K302 queue `karpenter-base` does not have the tags of cluster `base`"),
        ),
        (
            "external, and none",
            lose_all,
            external(),
            Err("K302 queue `karpenter-base` of cluster `base` does not exist"),
        ),
        (
            "external, and unreadable",
            |survey| {
                lose_record(survey);
                let unreadable = Fact::Unreadable(Fault::denied("sqs:ListQueueTags"));
                survey.observed.insert(ResourceId::Queue(QUEUE.parse().unwrap()), unreadable);
            },
            external(),
            Err("not allowed to read queue `karpenter-base`"),
        ),
        ("own to external", |_| {}, external(), Ok(&["~record", "-policy of a after 0", "~record after 0,1"])),
        ("external to own", hand_over, adopt(), Ok(&["~record", "+policy of a after 0"])),
        (
            "external to own, and older",
            |survey| {
                hand_over(survey);
                edit_queue(survey, QUEUE, |queue| (queue.created, queue.policy) = (SINCE - 86_400, None));
            },
            adopt(),
            Ok(&["~record", "~karpenter-base after 0", "+policy of a after 0"]),
        ),
    ];
    judge(rows);
}

fn judge(rows: impl IntoIterator<Item = Row>) {
    for (name, edit, setting, expected) in rows {
        let mut survey = survey();
        survey.known.roles.insert("b".parse().unwrap(), Fact::Present(RolePolicies::default()));
        edit(&mut survey);
        let target = add_with(setting);
        check(name, &survey, &target, expected);
        assert!(survey.take_open().is_empty(), "{name}");
    }
}

/// Both commands are whole. The first is not the given one, whose options do not go with it.
#[test]
fn the_refusal_of_a_queue_without_a_record_names_the_two_ways() {
    for (target, commands) in [
        (add(), ["kibus add-cluster base --external", "kibus again --adopt"]),
        (
            Target::add([base(), "other".parse().unwrap()], &own()),
            ["kibus add-cluster base --external", "kibus add-cluster base --adopt"],
        ),
        (remove(), ["kibus add-cluster base --external", "kibus add-cluster base --adopt"]),
    ] {
        let mut survey = survey();
        lose_record(&mut survey);
        survey.observed.insert(id_of_queue("karpenter-other"), Fact::Absent);
        survey.status.insert(id_of_queue(QUEUE), Status::Queue(Depth { waiting: 2, in_flight: 1 }));
        let [refusal] = <[Message; 1]>::try_from(reconcile(&survey, &target).unwrap().refusals).unwrap();
        assert!(refusal.sentence.ends_with("; about 3 messages wait in it"), "{refusal:?}");
        let printed: Vec<String> = refusal.fix.steps().into_iter().filter_map(|step| step.command).collect();
        assert_eq!(printed, commands);
    }
}

#[test]
fn an_adopted_queue_is_as_old_as_it_is_and_its_owner_is_warned() {
    let mut survey = survey();
    lose_to_owner(&mut survey);
    tag(&mut survey, "team", "x");
    survey.status.insert(id_of_queue(QUEUE), Status::Queue(Depth { waiting: 2, in_flight: 1 }));
    let intent = reconcile(&survey, &add_with(adopt())).unwrap();
    let written = intent.plan.changes.iter().find_map(|change| change.after.as_ref()?.as_record()).unwrap();
    let record = written.record().unwrap();
    assert_eq!(record.since, Some(Moment(SINCE - 86_400)));
    let queue = intent.plan.changes.iter().find_map(|change| change.after.as_ref()?.as_queue()).unwrap();
    let adopted = Queue { created: SINCE - 86_400, ..queue.clone() };
    assert_eq!(adopted.standing(&scope(), record), Standing::Ours);
    assert_eq!(adopted.policy, Some(policy::cluster_queue_policy(&scope(), &record.queue)));
    for said in [
        "exists since 2027-01-14T07:43:20Z, with the tags `team=x`; it holds about 2 messages, and 1 in flight",
        "undoes these changes: release the queue there first. From now on, `remove-cluster` deletes the queue",
    ] {
        assert!(warned(&intent).contains(said), "{}", warned(&intent));
    }
}

#[test]
fn external_queues_need_the_tags_in_their_tool_or_by_one_command() {
    let mut survey = survey();
    lose_to_owner(&mut survey);
    let refusal = reconcile(&survey, &add_with(external())).unwrap().refusals.remove(0);
    let [in_the_tool, by_command] = <[Hint; 2]>::try_from(refusal.fix.steps()).unwrap();
    assert!(in_the_tool.text.contains(r#"ignore_tags { key_prefixes = ["kibus:"] }"#), "{in_the_tool:?}");
    let command = "aws sqs tag-queue --queue-url https://sqs.us-west-2.amazonaws.com/111122223333/karpenter-base --tags \
                   kibus:bus=kibus,kibus:cluster=base --region us-west-2";
    assert_eq!(by_command.command.as_deref(), Some(command));
}

/// A case, what differs from an up-to-date cluster, and the changes or what refuses them.
type Changed = (&'static str, fn(&mut Survey), Result<&'static [&'static str], &'static str>);

/// S9: what waits for a delete is waited for, and then judged like any other queue.
#[test]
fn s9_a_marked_queue_that_stays_is_what_it_is() {
    let rows: [Changed; 4] = [
        ("recorded", |_| {}, Ok(&["~karpenter-base"])),
        ("without a record", lose_record, Err("K327 queue `karpenter-base` exists")),
        ("of another bus", |survey| tag(survey, BUS, "two"), Err("K302 queue `karpenter-base` of cluster `base`")),
        ("gone", |survey| lose(survey, [id_of_queue(QUEUE)]), Ok(&["+karpenter-base"])),
    ];
    for (name, edit, expected) in rows {
        let mut survey = survey();
        mark(&mut survey, QUEUE, YOUNG);
        edit(&mut survey);
        let _ = reconcile(&survey, &add());
        let is_gone = survey.queue(&QUEUE.parse().unwrap()).is_none();
        assert_eq!(survey.take_open().leaving_queues.is_empty(), is_gone, "{name}");
        survey.now += 180;
        check(name, &survey, &add(), expected);
    }
}

#[test]
fn a_record_that_a_tool_made_is_never_written_or_deleted() {
    let of_tool = "K302 terraform made record `/kibus/kibus/clusters/base`, and alone changes and deletes it";
    for (name, target, expected) in [
        ("add", add(), Err(of_tool)),
        ("adopt", add_with(adopt()), Err(of_tool)),
        ("external", add_with(external()), Err(of_tool)),
        ("tags", add_with(tags(&["team=x"], &[])), Err(of_tool)),
        ("remove", remove(), Err(of_tool)),
    ] {
        let mut survey = survey();
        made_by_tool(&mut survey);
        check(name, &survey, &target, expected);
    }
    // The role has the policy of kibus too, which is the tool's.
    let mut survey = survey();
    made_by_tool(&mut survey);
    edit_record(&mut survey, |record| record.role = Some(ROLE.parse().unwrap()));
    see(&mut survey, super::survey().observed.resource(&policy_of(ROLE)).unwrap().clone());
    for (name, target) in [("teardown", Target::teardown()), ("another key", bootstrap(with_key(KEY)))] {
        let intent = reconcile(&survey, &target).unwrap();
        let of_cluster = intent.plan.changes.iter().filter(|change| change.cluster.is_some());
        assert_eq!((of_cluster.count(), intent.refusals), (0, Vec::new()), "{name}");
        assert!(intent.warnings.iter().any(|hint| hint.text.contains("`base`")), "{name}: {:?}", intent.warnings);
    }
}

/// A teardown does the same, and leaves a cluster without a record.
#[test]
fn a_cluster_is_removed_with_its_record_last() {
    let lost_tags =
        "K302 queue `karpenter-base` has lost the tags of cluster `base`, and kibus deletes no queue without them";
    let rows: [Changed; 7] = [
        ("whole", |_| {}, Ok(&["-karpenter-base", "-policy of a", "-record after 0,1"])),
        ("the record alone", |survey| lose(survey, [id_of_queue(QUEUE), policy_of(ROLE)]), Ok(&["-record"])),
        ("of another bus", |survey| tag(survey, BUS, "two"), Ok(&["-policy of a", "-record after 0"])),
        ("external", hand_over, Ok(&["-record"])),
        ("lost tags", |survey| edit_queue(survey, QUEUE, |queue| drop(queue.tags.0.remove(CLUSTER))), Err(lost_tags)),
        ("a lost record", lose_record, Err("K327 queue `karpenter-base` exists")),
        (
            "a lost record, and another bus",
            |survey| {
                lose_record(survey);
                tag(survey, BUS, "two");
            },
            Err("no cluster `base` on bus `kibus`"),
        ),
    ];
    for (name, edit, expected) in rows {
        let mut survey = survey();
        edit(&mut survey);
        check(name, &survey, &remove(), expected);
        if expected == Err(lost_tags) {
            check(name, &survey, &Target::teardown(), expected);
            continue;
        }
        let plan = reconcile(&survey, &Target::teardown()).unwrap().plan;
        let ids = [id_of_queue(QUEUE), policy_of(ROLE), survey.record_id(&base())];
        let of_cluster = steps(&plan).into_iter().zip(&plan.changes).filter(|(_, change)| ids.contains(&change.id));
        let of_cluster: Vec<String> =
            of_cluster.map(|(step, _)| step.split(" after").next().unwrap().to_owned()).collect();
        let all: Vec<&str> = expected.into_iter().flatten().map(|step| step.split(" after").next().unwrap()).collect();
        assert_eq!(of_cluster, all, "{name}");
    }
}

/// Clusters go before the hub, and the settings of the hub last.
#[test]
fn a_teardown_ends_with_the_settings() {
    let intent = reconcile(&survey(), &Target::teardown()).unwrap();
    let all = steps(&intent.plan);
    let place = |start: &str| all.iter().position(|step| step.starts_with(start)).unwrap();
    assert!(place("-record") > place("-karpenter-base") && place("-parameter") == all.len() - 1, "{all:?}");
}

#[test]
fn what_a_removal_leaves_is_said() {
    let unrecorded = |survey: &mut Survey| {
        lose_record(survey);
        let queue = survey.observed.queue(QUEUE.parse().unwrap()).unwrap();
        survey.known.tagged_queues = Fact::Present([(queue.name.clone(), queue.tags.clone())].into());
    };
    type Left = (&'static str, fn(&mut Survey), &'static str);
    let rows: [Left; 4] = [
        ("foreign", |survey| tag(survey, BUS, "two"), "of cluster `base` is not managed by kibus and stays"),
        ("external", hand_over, "of cluster `base` is external and stays"),
        (
            "of a tool",
            made_by_tool,
            "terraform made the record of cluster `base`, and queue `karpenter-base`: both stay",
        ),
        ("without a record", unrecorded, "has the tags of this bus and no record, and stays"),
    ];
    for (name, edit, said) in rows {
        let mut survey = survey();
        edit(&mut survey);
        let intent = reconcile(&survey, &Target::teardown()).unwrap();
        assert!(warned(&intent).contains(said), "{name}: {}", warned(&intent));
    }
}

#[test]
fn a_name_without_a_record_fails_with_the_name_that_may_be_meant() {
    let mut survey = survey();
    for name in ["bsae", "elsewhere"] {
        survey.observed.insert(id_of_queue(&format!("karpenter-{name}")), Fact::Absent);
    }
    let removed = |name: &str, ignores| reconcile(&survey, &Target::remove([name.parse().unwrap()], ignores));
    for (name, note) in [("bsae", "did you mean `base` instead of `bsae`?"), ("elsewhere", "")] {
        let [message] = <[Message; 1]>::try_from(removed(name, false).unwrap_err().0).unwrap();
        assert_eq!(
            (message.sentence, message.notes.concat()),
            (format!("no cluster `{name}` on bus `kibus`"), note.to_owned())
        );
        assert!(removed(name, true).unwrap().plan.is_empty(), "{name}, ignored");
    }
}

/// Who writes a record gets no queue at the next change of the key.
#[test]
fn clusters_follow_a_change_of_the_key_and_no_role_gets_a_policy_that_it_lacks() {
    let mut survey = survey();
    let lone: ClusterName = "lone".parse().unwrap();
    let role: RoleName = "b".parse().unwrap();
    let record = ClusterRecord {
        role: Some(role.clone()),
        ..ClusterRecord::new(&scope(), &HubOptions::default(), lone.clone(), Moment(SINCE))
    };
    let desired = record.desired(&scope(), &HubOptions::default().into());
    for resource in desired.resources().filter(|one| one.as_role_policy().is_none()) {
        let mut resource = resource.clone();
        if let Resource::Queue(queue) = &mut resource {
            // Other differences stay.
            (queue.created, queue.retention) = (SINCE, 60);
        }
        see(&mut survey, resource);
    }
    survey.known.roles.insert(role, Fact::Present(RolePolicies::default()));
    survey.known.records = Fact::Present([base(), lone].iter().map(|name| scope().record_parameter(name)).collect());
    let intent = reconcile(&survey, &bootstrap(with_key(KEY))).unwrap();
    let of_clusters: BTreeSet<String> = intent
        .plan
        .changes
        .iter()
        .filter(|change| change.cluster.is_some())
        .flat_map(|change| change.fields.iter().map(|field| format!("{} {}", change.id.name(), field.path)))
        .collect();
    let expected = ["a/kibus.us-west-2.base document", "karpenter-base encryption", "karpenter-lone encryption"];
    assert_eq!(of_clusters.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    assert_eq!(intent.refusals, []);
}

#[test]
fn members_of_a_newer_kibus_stay_in_a_record() {
    let mut survey = survey();
    edit_record(&mut survey, |record| drop(record.unknown.insert("later".to_owned(), 1.into())));
    let intent = reconcile(&survey, &add_with(without_role())).unwrap();
    let written: Vec<&ClusterRecord> =
        intent.plan.changes.iter().filter_map(|change| change.after.as_ref()?.as_record()?.record()).collect();
    assert!(written.len() == 2 && written.iter().all(|record| record.unknown.contains_key("later")), "{written:?}");
    assert!(warned(&intent).contains("has a member `later`"), "{}", warned(&intent));
}
