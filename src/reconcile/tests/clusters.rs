//! Clusters that are added, changed and removed: the changes in their order, and what is refused.

use super::*;
use crate::model::{
    Maker,
    tags::{BUS, CLUSTER},
};

/// The prefix of an outcome that is not a plan.
const REFUSED: &str = "refused: ";

/// Nothing of `base` exists.
fn lose_all(survey: &mut Survey) {
    lose_record(survey);
    lose(survey, [id_of_queue(QUEUE), policy_of(ROLE)]);
}

/// The queue of `base` belongs to another owner, and is older than the hub.
fn lose_to_owner(survey: &mut Survey) {
    lose_all(survey);
    let queue = queue_of(&super::survey(), QUEUE);
    see(survey, Resource::Queue(Queue { policy: None, tags: Default::default(), created: SINCE - 86_400, ..queue }));
}

/// The record of `base` is lost, and its queue has another tag.
fn lose_record_and_tag(survey: &mut Survey, key: &str, value: &str) {
    lose_record(survey);
    tag(survey, key, value);
}

/// The record of `base` says that its queue is external.
fn hand_over(survey: &mut Survey) {
    make_external(survey);
    lose(survey, [policy_of(ROLE)]);
}

/// A tool created the record of `base`.
fn made_by_tool(survey: &mut Survey) {
    hand_over(survey);
    edit_record(survey, |record| (record.made_by, record.since) = (Maker::Tool("terraform".to_owned()), None));
}

/// The role of `base` was being changed to `b`.
fn cut_off(survey: &mut Survey) {
    let former = BTreeSet::from([ROLE.parse().unwrap()]);
    edit_record(survey, |record| (record.role, record.former_roles) = ("b".parse().ok(), former));
}

/// `base` has a tag of the user.
fn tagged(survey: &mut Survey) {
    edit_record(survey, |record| record.tags.insert("team".to_owned(), "x".to_owned()));
    tag(survey, "team", "x");
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
fn outcome(survey: &Survey, target: &Target) -> String {
    let refused = match reconcile(survey, target) {
        Ok(intent) if intent.refusals.is_empty() => return steps(&intent.plan).join("; "),
        Ok(intent) => intent.refusals,
        Err(Blocked(messages)) => messages,
    };
    let code = |one: &Message| one.code.map_or_else(String::new, |code| format!("{code} "));
    let texts: Vec<String> = refused.iter().map(|one| format!("{}{}", code(one), one.sentence)).collect();
    format!("{REFUSED}{}", texts.join("; "))
}

/// Whether this is the outcome, or the start of the refusal.
#[track_caller]
fn assert_outcome(name: &str, survey: &Survey, target: &Target, expected: &str) {
    let found = outcome(survey, target);
    let is_so = if expected.starts_with(REFUSED) { found.starts_with(expected) } else { found == expected };
    assert!(is_so, "{name}: {found}");
}

fn external() -> ClusterSetting {
    ClusterSetting { external: Some(true), no_eks_check: Some(true), ..ClusterSetting::default() }
}

fn own() -> ClusterSetting {
    with_role(ROLE)
}

fn without_role() -> ClusterSetting {
    ClusterSetting { role: RoleOption::Unmanaged, ..own() }
}

fn tags(tags: &[&str], untag: &[&str]) -> ClusterSetting {
    let tags = tags.iter().map(|tag| tag.parse().unwrap()).collect();
    let removed = RemovedTags { untag: untag.iter().map(|key| (*key).to_owned()).collect() };
    ClusterSetting { tags, removed, ..own() }
}

/// A case, the difference from an up-to-date cluster, the setting, and the outcome.
type Row = (&'static str, fn(&mut Survey), ClusterSetting, &'static str);

#[test]
fn a_cluster_is_set_record_first_and_forgets_last() {
    let changed = "~record; +policy of b after 0; -policy of a after 0,1, once IAM applies them; ~record after 0,1,2";
    let continued = "+policy of b; -policy of a after 0, once IAM applies them; ~record after 0,1";
    let rows: [Row; 17] = [
        ("new", lose_all, own(), "+record; +karpenter-base after 0; +policy of a after 0"),
        ("up to date", |_| {}, own(), ""),
        ("up to date, with the recorded role", |_| {}, ClusterSetting::default(), ""),
        ("no queue", |survey| lose(survey, [id_of_queue(QUEUE)]), own(), "+karpenter-base"),
        ("no policy", |survey| lose(survey, [policy_of(ROLE)]), own(), "+policy of a"),
        ("an emptied policy", |it| edit_queue(it, QUEUE, |queue| queue.policy = None), own(), "~karpenter-base"),
        ("lost tags", |it| edit_queue(it, QUEUE, |queue| queue.tags.0.clear()), own(), "~karpenter-base"),
        ("an old mark", |survey| mark(survey, QUEUE, OLD), own(), "~karpenter-base"),
        ("another role", |_| {}, with_role("b"), changed),
        ("another role, after a kill", cut_off, with_role("b"), continued),
        ("another role, after a kill, and back", cut_off, own(), "~record; ~record after 0"),
        ("no role", |_| {}, without_role(), "~record; -policy of a after 0; ~record after 0,1"),
        ("a tag", |_| {}, tags(&["team=x"], &[]), "~record; ~karpenter-base after 0"),
        ("a tag less", tagged, tags(&[], &["team"]), "~karpenter-base; ~record after 0"),
        ("tag for tag", tagged, tags(&["owner=x"], &["team"]), "~record; ~karpenter-base after 0; ~record after 0,1"),
        ("a tag of someone else", |survey| tag(survey, "team", "x"), own(), ""),
        (
            "another bus",
            |survey| tag(survey, BUS, "two"),
            own(),
            "refused: K302 queue `karpenter-base` of cluster `base` is not managed by kibus: its tag names bus `two`",
        ),
    ];
    judge(rows);
}

#[test]
fn a_queue_that_exists_is_recorded_only_if_that_is_asked_for() {
    let unrecorded = "refused: K327 queue `karpenter-base` exists, but cluster `base` has no record on bus `kibus`";
    let lacks_tags = "refused: K302 queue `karpenter-base` does not have the tags of cluster `base`";
    let rows: [Row; 13] = [
        ("a lost record, adopted", lose_record, adopt(), "+record"),
        ("of its owner", lose_to_owner, own(), unrecorded),
        ("of its owner, adopted", lose_to_owner, adopt(), "+record; ~karpenter-base after 0; +policy of a after 0"),
        ("prepared, adopted", |it| edit_queue(it, QUEUE, |queue| queue.created = SINCE - 6), adopt(), "~record"),
        ("of another bus, adopted", |survey| tag(survey, BUS, "two"), adopt(), "~karpenter-base"),
        (
            "unrecorded, of another bus, adopted",
            |it| lose_record_and_tag(it, BUS, "two"),
            adopt(),
            "refused: K302 queue `karpenter-base` of cluster `base` belongs to bus `two`, by its tag",
        ),
        ("external, with the tags", lose_record, external(), "+record"),
        ("external again", hand_over, external(), ""),
        ("external, of another cluster", |it| lose_record_and_tag(it, CLUSTER, "other"), external(), lacks_tags),
        (
            "external, and unreadable",
            |survey| {
                lose_record(survey);
                let unreadable = Fact::Unreadable(Fault::denied("sqs:ListQueueTags"));
                survey.observed.insert(id_of_queue(QUEUE), unreadable);
            },
            external(),
            "refused: not allowed to read queue `karpenter-base`",
        ),
        ("own to external", |_| {}, external(), "~record; -policy of a after 0; ~record after 0,1"),
        ("external to own", hand_over, adopt(), "~record; +policy of a after 0"),
        (
            "external to own, and older",
            |survey| {
                hand_over(survey);
                edit_queue(survey, QUEUE, |queue| (queue.created, queue.policy) = (SINCE - 86_400, None));
            },
            adopt(),
            "~record; ~karpenter-base after 0; +policy of a after 0",
        ),
    ];
    judge(rows);
}

fn judge(rows: impl IntoIterator<Item = Row>) {
    for (name, edit, setting, expected) in rows {
        let mut survey = survey();
        survey.known.roles.insert("b".parse().unwrap(), Fact::Present(RolePolicies::default()));
        edit(&mut survey);
        assert_outcome(name, &survey, &add_with(setting), expected);
        assert!(survey.take_open().is_empty(), "{name}");
    }
}

/// The commands are whole: of several clusters, they name the one that is refused.
#[test]
fn the_refusal_of_a_queue_without_a_record_names_the_two_ways() {
    let mut survey = survey();
    lose_record(&mut survey);
    lose(&mut survey, [id_of_queue("karpenter-other")]);
    fill(&mut survey, &[QUEUE], [2, 1]);
    let refusal = only(planned(&survey, &Target::add([base(), "other".parse().unwrap()], &own())).refusals);
    assert!(refusal.sentence.ends_with("; about 3 messages are waiting in it"), "{refusal:?}");
    assert_eq!(commands(&refusal), ["kibus add-cluster base --external", "kibus add-cluster base --adopt"]);
}

/// A case, the difference from an up-to-date cluster, and the outcome.
type Changed = (&'static str, fn(&mut Survey), &'static str);

/// S9: kibus waits for a queue that is being deleted, and then judges it like any other queue.
#[test]
fn s9_a_marked_queue_that_stays_is_what_it_is() {
    let rows: [Changed; 4] = [
        ("recorded", |_| {}, "~karpenter-base"),
        ("without a record", lose_record, "refused: K327 queue `karpenter-base` exists"),
        ("of another bus", |it| tag(it, BUS, "two"), "refused: K302 queue `karpenter-base` of cluster `base`"),
        ("gone", |survey| lose(survey, [id_of_queue(QUEUE)]), "+karpenter-base"),
    ];
    for (name, edit, expected) in rows {
        let mut survey = survey();
        mark(&mut survey, QUEUE, YOUNG);
        edit(&mut survey);
        let is_gone = survey.queue(&QUEUE.parse().unwrap()).is_none();
        assert_eq!(asked(&survey, &add()).leaving_queues.is_empty(), is_gone, "{name}");
        survey.now += 180;
        assert_outcome(name, &survey, &add(), expected);
    }
}

#[test]
fn a_record_that_a_tool_made_is_never_written_or_deleted() {
    let mut survey = survey();
    made_by_tool(&mut survey);
    for (name, target) in
        [("adopt", add_with(adopt())), ("external", add_with(external())), ("tags", add_with(tags(&["team=x"], &[])))]
    {
        let of_tool =
            "refused: K302 terraform created record `/kibus/kibus/clusters/base`, and only it changes and deletes it";
        assert_outcome(name, &survey, &target, of_tool);
    }
}

/// A teardown does the same, but leaves a cluster without a record.
#[test]
fn a_cluster_is_removed_with_its_record_last() {
    let lost_tags = "refused: K302 queue `karpenter-base` has lost the tags of cluster `base`, and kibus deletes no queue without them";
    let rows: [Changed; 7] = [
        ("whole", |_| {}, "-karpenter-base; -policy of a; -record after 0,1"),
        ("the record alone", |survey| lose(survey, [id_of_queue(QUEUE), policy_of(ROLE)]), "-record"),
        ("of another bus", |survey| tag(survey, BUS, "two"), "-policy of a; -record after 0"),
        ("external", hand_over, "-record"),
        ("lost tags", |survey| edit_queue(survey, QUEUE, |queue| queue.tags.0.remove(CLUSTER)), lost_tags),
        ("a lost record", lose_record, "refused: K327 queue `karpenter-base` exists"),
        ("lost, another bus", |it| lose_record_and_tag(it, BUS, "two"), "refused: no cluster `base` on bus `kibus`"),
    ];
    for (name, edit, expected) in rows {
        let mut survey = survey();
        edit(&mut survey);
        assert_outcome(name, &survey, &remove(), expected);
        if expected == lost_tags {
            assert_outcome(name, &survey, &Target::teardown(), expected);
            continue;
        }
        let plan = planned(&survey, &Target::teardown()).plan;
        let ids = [id_of_queue(QUEUE), policy_of(ROLE), survey.record_id(&base())];
        let of_cluster = steps(&plan).into_iter().zip(&plan.changes).filter(|(_, change)| ids.contains(&change.id));
        let of_cluster: Vec<String> = of_cluster.map(|(step, _)| step).collect();
        let what = |step: &str| step.split(" after").next().unwrap().to_owned();
        let removed = expected.split("; ").filter(|step| step.starts_with('-'));
        assert_eq!(
            of_cluster.iter().map(|step| what(step)).collect::<Vec<_>>(),
            removed.map(what).collect::<Vec<_>>(),
            "{name}"
        );
    }
}

#[test]
fn what_a_removal_leaves_is_said() {
    let of_tool = "terraform created the record of cluster `base`, and queue `karpenter-base`: both stay";
    let rows: [Changed; 3] = [
        ("foreign", |survey| tag(survey, BUS, "two"), "of cluster `base` is not managed by kibus and stays"),
        ("external", hand_over, "of cluster `base` is external and stays"),
        ("of a tool", made_by_tool, of_tool),
    ];
    for (_, edit, said) in rows {
        let mut survey = survey();
        edit(&mut survey);
        assert_warned(&planned(&survey, &Target::teardown()), said);
    }
}

/// Writing a record by hand yields no queue at the next change of the key.
#[test]
fn clusters_follow_a_change_of_the_key_and_no_role_gets_a_policy_that_it_lacks() {
    let mut survey = survey();
    // Other differences stay.
    edit_queue(&mut survey, QUEUE, |queue| queue.retention = 60);
    lose(&mut survey, [policy_of(ROLE)]);
    let intent = planned(&survey, &bootstrap_to(with_key(KEY)));
    let of_cluster = intent.plan.changes.iter().filter(|change| change.cluster.is_some());
    let paths = |change: &Change| change.fields.iter().map(|field| field.path.clone()).collect::<Vec<_>>();
    let fields: Vec<_> = of_cluster.map(|change| (change.id.name(), paths(change))).collect();
    assert_eq!(fields, [(QUEUE.to_owned(), vec!["encryption".to_owned()])]);
    assert_eq!(intent.refusals, []);
}

#[test]
fn members_of_a_newer_kibus_stay_in_a_record() {
    let mut survey = survey();
    edit_record(&mut survey, |record| record.unknown.insert("later".to_owned(), 1.into()));
    let intent = planned(&survey, &add_with(without_role()));
    let written = intent.plan.changes.iter().filter_map(|change| change.after.as_ref()?.as_record()?.record());
    assert_eq!(written.map(|record| record.unknown.contains_key("later")).collect::<Vec<_>>(), [true; 2]);
    assert_warned(&intent, "has a member `later`");
}
