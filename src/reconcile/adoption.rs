//! The queues of clusters: which are of the bus, what taking one over needs, whose statements stay in its policy, and how it
//! is handed back.

use std::collections::{BTreeMap, BTreeSet};

use super::target::{Adopt, ClusterSetting, Target, Wish};
use super::{Blocked, Case, Say, external, roles};
use crate::discover;
use crate::error::{Hint, listed, quoted};
use crate::iam::grants::{other_permissions, other_senders, queues_received_from};
use crate::message::{Fix, Message, MessageKind};
use crate::model::{
    BusName, Cluster, ClusterName, Depth, Desired, Document, Fact, FindingCode, KmsKey, Observed, Queue, QueueName,
    QueuePrefix, Resource, ResourceId, RoleName, Scope, Severity, counted, duration_text,
    policy::{QueueOrigin, bus_of_queue_policy},
    tags::{BUS, CLUSTER},
    usual_queues,
};
use crate::plan;
use crate::survey::Survey;

/// Fails if a queue that is to be taken over does not exist.
pub(super) fn check_queues(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let is_absent = |queue: &QueueName| *survey.observed.get(&ResourceId::Queue(queue.clone())) == Fact::Absent;
    let clusters = target.adopting().map(|name| (name, survey.cluster_queue(name)));
    let absent: Vec<_> = clusters.filter(|(_, queue)| is_absent(queue)).collect();
    let names: Vec<&str> = absent.iter().map(|(cluster, _)| cluster.as_str()).collect();
    let new = survey.scope.kibus(format!("add-cluster {}", names.join(" ")));
    let message = |(cluster, queue): &(&ClusterName, QueueName)| {
        let sentence = format!("no queue to take over: `{queue}` does not exist");
        let mut message = Message::new(MessageKind::Blocked, (*cluster).clone(), sentence)
            .note("kibus takes over only a standard queue of the name that the hub gives it, never a FIFO queue");
        // Queues with usual names that exist, each with the prefix that the hub would need.
        for other in usual_queues(cluster).into_iter().filter(|other| exists(survey, other)) {
            let prefix = other.as_str().strip_suffix(cluster.as_str()).map(str::parse::<QueuePrefix>);
            if let Some(Ok(prefix)) = prefix {
                message = message.then(
                    format!("queue `{other}` may be the one of `{cluster}`; for a hub whose queues have such names:"),
                    survey.scope.kibus(format!("bootstrap-hub --queue-prefix {}", quoted(prefix.as_str()))),
                );
            }
        }
        message.then("to create new queues instead:", &new)
    };
    if absent.is_empty() { Ok(()) } else { Err(Blocked(absent.iter().map(message).collect())) }
}

impl Adopt {
    /// The option for it, after other words.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::No => "",
            Self::IfUsed => " --adopt",
            Self::Unproven => " --adopt=unproven",
        }
    }
}

fn exists(survey: &Survey, queue: &QueueName) -> bool {
    let listed = survey.queues(&queue.to_string()).present();
    listed.is_some_and(|queues| queues.contains(queue))
}

/// What the queue of a cluster is to the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// Its policy says that kibus manages it, for this bus as far as is known. It may have lost its tags.
    Ours,
    /// Another bus of kibus serves it.
    OfBus(BusName),
    /// Its tags say that kibus manages it, and its policy does not.
    OnlyTagged,
    /// Another tool manages it for this bus. It may have lost the other tags.
    External,
    /// It has nothing of kibus.
    OfOthers,
}

impl Standing {
    fn of(scope: &Scope, queue: &Queue) -> Self {
        // The policy says it where it does: a tag is easier to write.
        let policy = queue.policy.as_ref();
        let named = policy.and_then(|policy| bus_of_queue_policy(scope, policy));
        let bus = named.or_else(|| queue.tags.get(BUS)?.parse().ok());
        match (bus.filter(|bus| *bus != scope.bus), queue.origin(scope)) {
            (Some(bus), _) => Self::OfBus(bus),
            (None, Some(_)) => Self::Ours,
            (None, None) if queue.is_external(&scope.bus) => Self::External,
            (None, None) if queue.tags.has_any_of_kibus() => Self::OnlyTagged,
            (None, None) => Self::OfOthers,
        }
    }
}

/// Whether something shows that a Karpenter uses the queue of a cluster: a rule sends Karpenter's events to it, or an inline
/// policy of the controller role names it.
fn is_used(survey: &Survey, cluster: &Cluster) -> bool {
    let arn = survey.scope.queue_arn(&cluster.queue);
    let names_it = |policy: Option<Document>| policy.is_some_and(|policy| queues_received_from(&policy).contains(&arn));
    let role = cluster.controller_role.as_ref();
    let mut policies = role.and_then(|role| survey.all_policies(role).present()).into_iter().flat_map(BTreeMap::values);
    let has_sender = discover::sends_to_karpenter(survey, &cluster.queue);
    policies.any(|policy| names_it(policy.document())) || has_sender
}

/// Queues of clusters that are set and are not of this bus, or would keep more than their old rules need; and those of
/// clusters that are removed and have lost their tags.
pub(super) fn queues_of_others(case: &Case<'_>, say: &mut Say) {
    let set = case.set.iter().filter_map(|cluster| {
        let setting = case.target.setting(&cluster.name)?;
        not_of_bus(case.survey, cluster, Some(setting))
            .or_else(|| with_permissions(&case.survey.scope, cluster, setting))
    });
    say.refusals.extend(set.chain(without_tags(case)));
}

/// Why the queue of a cluster is not one that the command may change, with this setting if it sets the cluster.
pub(super) fn not_of_bus(survey: &Survey, cluster: &Cluster, setting: Option<&ClusterSetting>) -> Option<Message> {
    let adopt = setting.and_then(|setting| setting.adopt).unwrap_or_default();
    let take_over = |adopt: Adopt| {
        let given = setting.map_or_else(String::new, |setting| setting.role.typed() + &setting.typed());
        survey.scope.kibus(format!("add-cluster {}{}{given}", cluster.name, adopt.option()))
    };
    let live = survey.observed.queue(cluster.queue.clone())?;
    let (scope, queue, name) = (&survey.scope, &cluster.queue, &cluster.name);
    let foreign = |sentence| Message::refusal(FindingCode::NotManaged, queue.clone(), sentence);
    Some(match (Standing::of(scope, live), adopt) {
        (Standing::OfBus(bus), _) => foreign(format!("queue `{queue}` of cluster `{name}` belongs to bus `{bus}`")).then(
            format!(
                "a cluster is served by one bus. To move it, remove it from bus `{bus}` first; to keep both, give this bus \
                 its own queue names with `bootstrap-hub --queue-prefix`"
            ),
            scope.kibus_on(Some(&bus), format!("remove-cluster {name}")),
        ),
        (Standing::External, _) => return external::refusal(survey, name),
        (Standing::Ours, _) => {
            live.tags.get(BUS).filter(|bus| *bus != scope.bus.as_str())?;
            tags_lost(queue, restore(survey, live, Some(name), None))
        }
        (_, Adopt::No) => {
            let what = if live.tags.has_any_of_kibus() {
                "has tags of kibus, but no statement of kibus in its policy"
            } else {
                "kibus did not create it"
            };
            let waiting = match survey.depth(queue).map_or(0, Depth::messages) {
                0 => String::new(),
                1 => "; about 1 message waits in it".to_owned(),
                count => format!("; about {} wait in it", counted(count, "message")),
            };
            foreign(format!("queue `{queue}` exists, and {what}{waiting}")).then(
                format!(
                    "if it is the interruption queue of cluster `{name}`, take it over, with the messages in it; otherwise \
                     give the bus its own queue names with `bootstrap-hub --queue-prefix`:"
                ),
                take_over(Adopt::IfUsed),
            )
        }
        (_, Adopt::IfUsed) if !is_used(survey, cluster) => {
            let mut targets = survey.known.rule_targets.values();
            let unread = survey.event_rules().fault().or_else(|| targets.find_map(Fact::fault));
            let start = format!("nothing shows that a Karpenter uses queue `{queue}`");
            let (sentence, text) = match unread {
                None => (
                    start,
                    format!(
                        "no rule with Karpenter's events sends to it, and no inline policy of the controller role names it. \
                         If the Karpenter of `{name}` reads it all the same:"
                    ),
                ),
                Some(why) => (
                    format!("{start}; its rules could not be read: {why}"),
                    format!(
                        "`policy operator --for discover` prints the permission to read them. If the Karpenter of `{name}` \
                         reads this queue:"
                    ),
                ),
            };
            foreign(sentence).then(text, take_over(Adopt::Unproven))
        }
        (_, Adopt::IfUsed | Adopt::Unproven) => return None,
    })
}

/// The policy of a queue says that it is of this bus, and its tags do not.
fn tags_lost(queue: &QueueName, fix: Fix) -> Message {
    let sentence = format!("queue `{queue}` lacks the tags of its bus, or has those of another");
    let mut steps = fix.steps();
    steps.truncate(1);
    for step in steps.iter_mut().filter(|step| step.text.is_empty()) {
        step.text = "restore its tags first:".to_owned();
    }
    Message::refusal(FindingCode::FellOffTheBus, queue.clone(), sentence).fixed_by(Fix::Advice(steps))
}

/// What the policy of an adopted queue would allow besides what its old rules need.
fn with_permissions(scope: &Scope, cluster: &Cluster, setting: &ClusterSetting) -> Option<Message> {
    let owner = cluster.owner_policy.as_ref();
    let permissions = owner.filter(|_| cluster.origin == QueueOrigin::Adopted).map(other_permissions)?;
    let (queue, name) = (&cluster.queue, &cluster.name);
    (!permissions.is_empty()).then(|| {
        let sentence = format!(
            "the policy of queue `{queue}` allows more than EventBridge needs: {}",
            listed(&permissions)
        );
        Message::refusal(FindingCode::OldSenders, queue.clone(), sentence).then(
            "remove these statements from the policy of the queue. To remove all statements that are not of kibus and allow \
             something, also those by which its old rules send:",
            scope.kibus(format!(
                "add-cluster {name}{} --drop-old-senders{}{}",
                setting.adopt.unwrap_or_default().option(),
                setting.role.typed(),
                setting.typed()
            )),
        )
    })
}

/// The queues of removed clusters that are of this bus by their policies, and not by their tags.
fn without_tags(case: &Case<'_>) -> Vec<Message> {
    let (survey, roles) = (case.survey, roles::named_by_policy(case.survey));
    let lost = case.target.removed().filter_map(|name| {
        let queue = survey.observed.queue(survey.cluster_queue(name))?;
        let is_ours = Standing::of(&survey.scope, queue) == Standing::Ours;
        (is_ours && !queue.tags.belong_to(&survey.scope.bus)).then(|| {
            let fix = match (restore(survey, queue, Some(name), roles.get(name)), roles.get(name)) {
                (Fix::Command(_), None) => Fix::add_cluster(&survey.scope, name.clone()),
                (fix, _) => fix,
            };
            tags_lost(&queue.name, fix)
        })
    });
    lost.collect()
}

/// The queues about which [`queues_of_others`] says whether a plan may change them.
pub(super) fn judged(case: &Case<'_>) -> BTreeSet<ResourceId> {
    let set = case.set.iter().map(|cluster| ResourceId::Queue(cluster.queue.clone()));
    let removed = case.target.removed().filter_map(|name| {
        let queue = case.survey.observed.queue(case.survey.cluster_queue(name))?;
        queue.origin(&case.survey.scope)?;
        (queue.tags.get(BUS).is_none()).then(|| ResourceId::Queue(queue.name.clone()))
    });
    set.chain(removed).collect()
}

/// The queues among these that leave the bus and are not deleted, without what kibus has added: those whose policies do not
/// say that kibus created them.
pub(super) fn handed_back(survey: &Survey, observed: &Observed) -> Desired {
    let queues = observed.resources().filter_map(Resource::as_queue);
    let stays = |queue: &&Queue| {
        let leaves = queue.tags.belong_to(&survey.scope.bus) && !queue.tags.being_deleted(survey.now);
        leaves && !queue.is_external(&survey.scope.bus) && queue.origin(&survey.scope) != Some(QueueOrigin::Created)
    };
    queues.filter(stays).map(|queue| Resource::Queue(queue.handed_back(&survey.scope))).collect()
}

/// Takes from the readings what stays as it is, and gives it. Of a bus that is removed: what it does not manage, and the queues of
/// the hub whose policies do not say that kibus created them. Else the queues of removed clusters that have nothing of kibus: they
/// were handed back before, or were never taken over.
pub(super) fn take_what_stays(survey: &Survey, target: &Target, observed: &mut Observed) -> [Vec<ResourceId>; 2] {
    let scope = &survey.scope;
    let mut take = |stays: &dyn Fn(&Resource, &Observed) -> bool| {
        let found = observed.resources().filter(|resource| stays(resource, observed));
        let found: Vec<ResourceId> = found.map(Resource::id).collect();
        for id in &found {
            observed.remove(id);
        }
        found
    };
    if matches!(target.hub, Wish::Remove) {
        let not_created = |queue: &Queue| {
            let is_of_hub = scope.hub_queues().contains(&queue.name) && !queue.tags.being_deleted(survey.now);
            is_of_hub && queue.origin(scope) != Some(QueueOrigin::Created)
        };
        return [
            take(&|resource, all| !plan::is_ours(scope, resource, all)),
            take(&|resource, _| resource.as_queue().is_some_and(not_created)),
        ];
    }
    let removed: BTreeSet<QueueName> = target.removed().map(|name| survey.cluster_queue(name)).collect();
    let left = |queue: &Queue| removed.contains(&queue.name) && !queue.has_anything_of_kibus();
    [take(&|resource, _| resource.as_queue().is_some_and(left)), Vec::new()]
}

/// The queues that are taken over, before and after.
fn taken_over<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (&'a Queue, &'a Queue)> {
    let survey = case.survey;
    let adopting: BTreeSet<QueueName> = case.target.adopting().map(|name| survey.cluster_queue(name)).collect();
    case.updated_queues().filter(move |(before, after)| {
        let becomes_ours = before.origin(&survey.scope).is_none() && after.origin(&survey.scope).is_some();
        becomes_ours && adopting.contains(&after.name)
    })
}

/// Queues whose messages would be lost, or that would receive messages past the router. Applies to queues that are taken over.
pub(super) fn unfit_queues(case: &Case<'_>, say: &mut Say) {
    let refusal = |(before, after): (&Queue, &Queue)| {
        let (scope, queue) = (&case.survey.scope, &before.name);
        let foreign = |sentence| Message::refusal(FindingCode::NotManaged, queue.clone(), sentence);
        if let Some(key) = before.encryption.key().filter(|key| after.encryption.key() != Some(key)) {
            let sentence = format!("queue `{queue}` is encrypted with KMS key `{key}`, which the hub does not use");
            let set = format!("set SSE-SQS on queue `{queue}` first");
            // Only a key by its ARN can be the hub's.
            return Some(match key.parse::<KmsKey>() {
                Ok(key) => foreign(sentence).then(
                    format!("{set}, or use this key for the whole hub"),
                    scope.kibus(format!("bootstrap-hub --kms-key {}", quoted(key.as_str()))),
                ),
                Err(_) => foreign(sentence)
                    .advise(format!("{set}; its messages stay readable under the old key until they are received")),
            });
        }
        let sources = case.survey.dead_letter_sources(queue).present()?;
        (!sources.is_empty()).then(|| {
            let sources = listed(sources);
            foreign(format!("queue `{queue}` is the dead-letter queue of other queues: {sources}")).advise(
                "remove the redrive policies of those queues first: SQS moves their messages past the queue policy, and \
                 Karpenter deletes them",
            )
        })
    };
    say.refusals.extend(taken_over(case).filter_map(refusal));
}

/// What else may manage a queue that is taken over, what it keeps, and what could not be read of it; and what stays of one that
/// is handed back.
pub(super) fn warnings(case: &Case<'_>, say: &mut Say) {
    let mut texts = Vec::new();
    for (before, after) in taken_over(case) {
        texts.push(other_owner(before));
        let name = &after.name;
        let is_unused = |cluster: &&Cluster| cluster.queue == *name && !is_used(case.survey, cluster);
        if case.set.iter().any(|cluster| is_unused(&cluster)) {
            texts.push(format!("nothing shows that a Karpenter uses queue `{name}`"));
        }
        let messages = case.survey.depth(name).map_or(0, Depth::messages);
        if messages > 0 && before.retention <= after.retention {
            texts.push(format!("messages wait in queue `{name}` (about {messages}): whatever reads it receives them"));
        }
        let senders = after.policy.as_ref().map(other_senders).unwrap_or_default();
        if !senders.is_empty() {
            texts.push(format!(
                "queue `{name}` keeps its senders ({}): events arrive from its old rules and from the router. When the old \
                 rules are removed, pass --drop-old-senders",
                listed(&senders)
            ));
        }
        if let Fact::Unreadable(fault) = case.survey.dead_letter_sources(name) {
            texts.push(format!("unknown whether other queues redrive into queue `{name}`: {fault}"));
        }
    }
    let left = case.updated_queues().filter(|(_, after)| !after.tags.has_any_of_kibus());
    texts.extend(left.flat_map(|(before, after)| handing_back(&case.survey.scope, before, after)));
    texts.extend(case.not_created.iter().map(|id| {
        format!(
            "the policy of {id} does not say that kibus created it, so it is not deleted: run bootstrap-hub first, which \
             restores the policy, or delete the queue by hand"
        )
    }));
    say.warn_all(texts.into_iter().map(Hint::text));
}

/// What a person should know about a queue that is handed back.
fn handing_back(scope: &Scope, before: &Queue, after: &Queue) -> Vec<String> {
    let name = &after.name;
    if before.origin(scope).is_none() {
        return vec![format!(
            "the policy of queue `{name}` does not say that kibus created it, so it is not deleted: only the tags of kibus are \
             removed, and the router stops delivering to it"
        )];
    }
    let encryption = after.encryption.key().unwrap_or("SSE-SQS");
    let mut texts = vec![format!(
        "queue `{name}` was adopted, and is handed back, not deleted: the router stops delivering to it. It keeps the settings of \
         kibus: its retention is {}, its encryption {encryption}, and no queue may redrive into it",
        duration_text(after.retention.into())
    )];
    let senders = after.policy.as_ref().map(other_senders).unwrap_or_default();
    texts.push(if senders.is_empty() {
        format!(
            "no rule may send to queue `{name}` any more. If Karpenter still reads it, first restore the policy that lets \
             `events.amazonaws.com` send, its old rules, and the old permission of the controller role"
        )
    } else {
        "if Karpenter still reads it, first restore its old rules and the old permission of the controller role".to_owned()
    });
    texts
}

/// The adopted queues whose owners' policies let others send, or allow more.
pub(super) fn findings(case: &Case<'_>) -> Vec<Message> {
    let scope = &case.survey.scope;
    let queues = case.desired.resources().filter_map(Resource::as_queue).filter(|queue| !queue.is_external(&scope.bus));
    let findings = queues.filter_map(|queue| {
        let policy = queue.policy.as_ref()?;
        let (senders, permissions) = (other_senders(policy), other_permissions(policy));
        let cluster = queue.tags.cluster_of(&scope.bus)?;
        let has_some = !senders.is_empty() || !permissions.is_empty();
        let (message, advice, severity) = if permissions.is_empty() {
            (
                format!("also accepts messages from {}", listed(&senders)),
                "when the old rules are removed, drop these senders:",
                Severity::Warning,
            )
        } else {
            (
                format!("its policy allows more than EventBridge needs: {}", listed(&permissions)),
                "remove these statements from its policy; or, to drop all senders that are not of the bus:",
                Severity::Critical,
            )
        };
        let drop = scope.kibus(format!("add-cluster {cluster} --drop-old-senders"));
        has_some.then(|| {
            Message::finding(scope, FindingCode::OldSenders, queue.name.clone(), message)
                .of(Some(cluster))
                .instead(advice, drop)
                .at_most(severity)
        })
    });
    findings.collect()
}

/// The clusters whose queues have tags of the bus and no statement of kibus, and those that fell off the bus: a policy of kibus,
/// on the queue or on a role, says that the queue is of it, and the tags do not.
pub(super) fn lost_queues(survey: &Survey, target: &Target) -> Vec<Message> {
    let mut findings = Vec::new();
    let left = roles::named_by_policy(survey);
    for (cluster, queue) in survey.only_tagged().into_iter().filter(|(name, _)| target.checks(name)) {
        let fix = match Standing::of(&survey.scope, queue) {
            Standing::OfBus(bus) => Fix::advice(Hint::command(
                format!("its policy says that it is of bus `{bus}`; to remove the tags of this bus:"),
                survey.scope.kibus(format!("remove-cluster {cluster}")),
            )),
            _ => restore(survey, queue, Some(&cluster), left.get(&cluster)),
        };
        let message = "has tags of the bus, and no statement of it in its policy";
        let finding = Message::finding(&survey.scope, FindingCode::OnlyTagged, queue.name.clone(), message);
        findings.push(finding.of(Some(cluster)).fixed_by(fix));
    }
    let named = known_queues(survey);
    let mut fallen: BTreeMap<QueueName, (&Queue, Option<ClusterName>)> = BTreeMap::new();
    for queue in survey.observed.resources().filter_map(Resource::as_queue) {
        let is_of_bus = match Standing::of(&survey.scope, queue) {
            Standing::Ours => true,
            Standing::External => queue.tags.cluster_of(&survey.scope.bus).is_none(),
            Standing::OfBus(_) | Standing::OnlyTagged | Standing::OfOthers => false,
        };
        if is_of_bus && !survey.scope.hub_queues().contains(&queue.name) {
            let cluster = survey.scope.cluster_of_queue(&survey.queue_prefix(), &queue.name);
            fallen.insert(queue.name.clone(), (queue, cluster));
        }
    }
    for cluster in left.keys() {
        if let Some(queue) = survey.observed.queue(survey.cluster_queue(cluster)) {
            fallen.insert(queue.name.clone(), (queue, Some(cluster.clone())));
        }
    }
    fallen.retain(|name, (queue, _)| !named.contains(name) && !queue.tags.being_deleted(survey.now));
    for (name, (queue, cluster)) in fallen {
        if target.checks_queue(cluster.as_ref()) {
            let role = cluster.as_ref().and_then(|cluster| left.get(cluster));
            let fix = match (Standing::of(&survey.scope, queue), &cluster, role) {
                (Standing::OfBus(bus), Some(cluster), Some(role)) if queue.origin(&survey.scope).is_none() => {
                    left_behind(&survey.scope, &bus, cluster, role)
                }
                (Standing::External, ..) => external::tags_lost(&survey.scope, queue, cluster.as_ref()),
                _ => restore(survey, queue, cluster.as_ref(), role),
            };
            let other = queue.tags.get(BUS).filter(|bus| *bus != survey.scope.bus.as_str());
            let message = match other {
                Some(bus) => {
                    format!("a policy says that it is of this bus, and its tag names bus `{}`", bus.escape_debug())
                }
                None if queue.is_external(&survey.scope.bus) => {
                    "is external, and lacks the tags of its cluster".to_owned()
                }
                None => "a policy says that it is of this bus, and it lacks the tags of its cluster".to_owned(),
            };
            let finding = Message::finding(&survey.scope, FindingCode::FellOffTheBus, name, message);
            findings.push(finding.of(cluster).fixed_by(fix));
        }
    }
    findings
}

/// The queues that need no finding of a lost queue: those of clusters, and those that are only tagged.
fn known_queues(survey: &Survey) -> BTreeSet<QueueName> {
    let clusters = survey.clusters().into_keys().map(|name| survey.cluster_queue(&name));
    let tagged = survey.only_tagged().into_values().map(|queue| queue.name.clone());
    clusters.chain(tagged).collect()
}

/// What to do about a policy of this bus on a role, for a queue that another bus serves.
fn left_behind(scope: &Scope, bus: &BusName, cluster: &ClusterName, role: &RoleName) -> Fix {
    let (role, policy) = (quoted(role.as_str()), scope.controller_policy(cluster));
    Fix::advice(Hint::command(
        format!(
            "if cluster `{cluster}` has moved to bus `{bus}`, delete the policy that this bus has left on the role:"
        ),
        scope.aws(format!("iam delete-role-policy --role-name {role} --policy-name {policy}")),
    ))
}

/// How to restore the tags of a queue. With the tag of another bus or cluster, the operator's document may not allow it.
fn restore(survey: &Survey, queue: &Queue, cluster: Option<&ClusterName>, role: Option<&RoleName>) -> Fix {
    let scope = &survey.scope;
    let Some(cluster) = cluster else {
        return Fix::advice(Hint::command("add the cluster of this queue again:", scope.kibus("add-cluster NAME")));
    };
    let contradicts = |key: &str, value: &str| queue.tags.get(key).is_some_and(|tag| tag != value);
    if contradicts(BUS, scope.bus.as_str()) || contradicts(CLUSTER, cluster.as_str()) {
        let (url, bus, region) = (scope.queue_url(None, &queue.name), &scope.bus, &scope.region);
        return Fix::advice(Hint::command(
            "if it is of this bus: kibus changes no queue whose tags name another bus or cluster. Someone who may tag it runs:",
            scope.aws(format!(
                "sqs tag-queue --queue-url {url} --tags kibus:bus={bus},kibus:cluster={cluster} --region {region}"
            )),
        ));
    }
    let adopt = queue.origin(scope).map_or(" --adopt", |_| "");
    let granted = survey.granted_role(cluster);
    let role = match role.or(granted.as_ref()) {
        Some(role) => format!("--controller-role {}", quoted(role.as_str())),
        None => "--no-controller-role".to_owned(),
    };
    Fix::Command(scope.kibus(format!("add-cluster {cluster}{adopt} {role}")))
}

/// What a person should know about the tool that created a queue.
fn other_owner(queue: &Queue) -> String {
    let name = &queue.name;
    match queue.tags.get("aws:cloudformation:stack-name") {
        Some(stack) => format!(
            "CloudFormation stack `{stack}` created queue `{name}`, and deletes it with the stack, or if the queue is removed \
             from the template. First set `DeletionPolicy: Retain` there, on the queue and on its queue policy"
        ),
        None => format!(
            "another tool created queue `{name}`, and may delete it or revert these changes. Release it and its queue policy \
             there first: `DeletionPolicy: Retain` in CloudFormation, `terraform state rm` or a `removed` block in Terraform"
        ),
    }
}
