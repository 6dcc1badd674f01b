//! The findings of a check: what differs from the settings of the hub, what blocks events, and what could not be read.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::unanswered;
use super::target::{Target, Wish, checked_by_queue, checked_clusters};
use super::{Case, Check, Say, clusters, external, hub, roles, router, traffic, unrecorded};
use crate::discover::{Removal, removals};
use crate::error::{Hint, listed};
use crate::message::{Fix, Message, MessageKind, Subject};
use crate::model::{
    ClusterName, ClusterRecord, DroppedEvents, Fact, Fault, FindingCode, LiveTest, ProbeResult, Probed, QueueName,
    Resource, ResourceId, RuleName, Scope, VersionState, counted, status::BUS_LIMIT,
};
use crate::plan::finding;
use crate::survey::Survey;

/// The findings of a check, and the warnings about them.
pub(super) fn findings(case: &Case<'_>, say: &mut Say) {
    let Case { survey, target, .. } = case;
    let scope = &survey.scope;
    let by_queue = checked_by_queue(survey, target);
    let refusals = std::mem::take(&mut say.refusals);
    let findings = &mut say.findings;
    findings.extend(unusable(survey, target));
    findings.extend(unrecorded::findings(survey, target));
    findings.extend(not_recorded(case, findings));
    findings.extend(finding::changed(scope, &case.plan, &refusals, &roles::absent_roles(survey)));
    router::fix_by_option(case, findings);
    external::fix_leftovers(survey, findings);
    let is_lost = |finding: &&mut Message| finding.code == Some(FindingCode::SettingsMissing);
    for finding in findings.iter_mut().filter(is_lost) {
        // Without the options, the command for the others would refuse.
        finding.fix = Fix::Command(scope.kibus(hub::restoring(survey)));
    }
    // Refusals of a change become findings.
    findings.extend(refusals.into_iter().map(Message::into_finding));
    findings.extend(dropped(survey, findings));
    // If the live router cannot run, its state says why.
    if target.check >= Check::Test && survey.live_version().is_some_and(VersionState::can_run) {
        survey.live_test();
    }
    if let Some(fault) = survey.known.live_test.fault() {
        // A read-only caller is not allowed to invoke the router, because an invocation can also route any event.
        let without = "the self-test of the live router was skipped: AWS denied lambda:InvokeFunction, which the \
             read-only policy does not contain";
        say.unread(scope, router::live_id(scope), fault, Hint::text(without));
    }
    redrives(survey, &by_queue, say);
    traffic::findings(case, &by_queue, say);
    say.findings.extend(probed(survey, target));
    if survey.settings().is_some() {
        external::findings(case, say);
    }
    say.findings.extend(senders(case, &by_queue));
    // Last, because it takes long: the facts so far decide which clusters to probe.
    if target.check == Check::Probe && !survey.is_open() {
        let bus = (target.others == Wish::Keep).then_some(None);
        bus.into_iter().chain(by_queue.into_values().map(Some)).for_each(|cluster| {
            survey.probes(&cluster);
        });
    }
}

/// What has no problem: resources, the self-test of the live router, and the dead-letter queue.
pub(super) fn passed(case: &Case<'_>, findings: &[Message]) -> Vec<Message> {
    let Case { survey, .. } = case;
    let scope = &survey.scope;
    let dead_letters = scope.dead_letter_queue();
    let is_empty = survey.depth(&dead_letters).is_some_and(|depth| depth.messages() == 0);
    let tested = survey.known.live_test.present() == Some(&LiveTest::Passed);
    let read = case.observed.resources().map(Resource::id);
    let unchanged = read.filter(|id| case.plan.changes.iter().all(|change| change.id != *id));
    let as_configured = unchanged.filter(|id| case.desired.get(id).is_some());
    let all = as_configured
        .map(|id| (id, "as configured"))
        .chain(tested.then(|| (router::live_id(scope), "passed its self-test")))
        .chain(is_empty.then_some((ResourceId::Queue(dead_letters), "empty")));
    let messages = all.map(|(id, text)| Message::new(MessageKind::Passed, Subject::Resource(id), text));
    messages.filter(|message| findings.iter().all(|finding| finding.about != message.about)).collect()
}

/// The findings of probes.
fn probed(survey: &Survey, target: &Target) -> Vec<Message> {
    let clusters = checked_clusters(survey, target);
    let finding = |probed: &Probed| {
        let record = probed.cluster.as_ref().and_then(|name| clusters.get(name));
        probed.finding(&survey.scope, record.copied())
    };
    let probes = survey.known.probes.values().filter_map(Fact::present);
    probes.filter_map(finding).collect()
}

/// Findings for clusters whose events were dropped. Clusters that another finding names, or that are now recorded, are skipped.
fn dropped(survey: &Survey, findings: &[Message]) -> Vec<Message> {
    let is_known = |name: &ClusterName| {
        survey.record(name).is_some() || findings.iter().any(|finding| finding.cluster.as_ref() == Some(name))
    };
    let dropped = survey.known.dropped_clusters.present().into_iter();
    let clusters = dropped.flat_map(|dropped| &dropped.clusters);
    let lost = clusters.filter(|(name, _)| !is_known(name));
    let finding = |(name, DroppedEvents { count, reason }): (&ClusterName, &DroppedEvents)| {
        let events = counted(count, "event");
        let message = format!("the router dropped {events} for it in the last day: `{reason}`");
        Message::finding(&survey.scope, FindingCode::EventsDropped, name.clone(), message)
            // No command contains a name from the log, because others may write to it.
            .fixed_by(Hint::command(
                "check the name, which comes from the log; if the cluster belongs on this bus:",
                survey.scope.kibus("add-cluster NAME"),
            ))
    };
    lost.map(finding).collect()
}

/// Unusable records of checked clusters.
fn unusable(survey: &Survey, target: &Target) -> Vec<Message> {
    let unusable = clusters::unusable(survey).into_iter();
    let checked = unusable.filter(|(cluster, _)| target.checks_queue(cluster.as_ref()));
    checked.map(|(_, message)| message.into_finding()).collect()
}

/// Findings for named clusters without a record, except those that another finding names.
fn not_recorded(case: &Case<'_>, known: &[Message]) -> Vec<Message> {
    let Case { survey, target, .. } = case;
    let names = target.kept().filter(|name| *survey.record_answer(name) == Fact::Absent);
    let names = names.filter(|name| known.iter().all(|finding| finding.cluster.as_ref() != Some(name)));
    let names = names.filter(|name| survey.absent_records(name).present() == Some(&true));
    let finding = |name: &ClusterName| {
        survey.records();
        let similar = clusters::close(name, survey.recorded().into_keys());
        let message = if similar.is_empty() {
            "not recorded".to_owned()
        } else {
            format!("not recorded; did you mean {}?", listed(&similar))
        };
        Message::finding(&survey.scope, FindingCode::ClusterNotRecorded, name.clone(), message).fixed_by(Hint::command(
            "check the name, the bus, the account and the Region; if they are correct:",
            survey.scope.kibus(format!("add-cluster {name}")),
        ))
    };
    names.map(finding).collect()
}

/// The rules that still send to the queues of clusters, although these reject their events.
fn senders(case: &Case<'_>, by_queue: &BTreeMap<QueueName, ClusterName>) -> Vec<Message> {
    let own =
        by_queue.iter().filter(|(_, cluster)| case.survey.record(cluster).is_some_and(ClusterRecord::has_own_queue));
    let finding = |(queue, cluster): (&QueueName, &ClusterName)| {
        let rules = case.survey.rules_of_queue(queue);
        let rules: Vec<&RuleName> = rules.into_keys().collect();
        let named = match rules.len() {
            0 => return None,
            1 => format!("rule {}", listed(&rules)),
            2 => format!("rules {}", listed(&rules)),
            count => format!("{count} rules like {}", listed(rules.first())),
        };
        let (scope, message) = (&case.survey.scope, format!("rejects the events of {named}"));
        let finding = Message::finding(scope, FindingCode::DuplicateRule, queue.clone(), message);
        let stays = |Removal { rule, targets, kept }: Removal| {
            let targets = listed(targets.iter().map(|id| id.escape_debug()));
            Some(Hint::text(format!("remove target {targets}, and keep rule `{rule}`: {}", kept?)))
        };
        let mut steps: Vec<Hint> = removals(case.survey, queue).into_iter().filter_map(stays).collect();
        let how = "remove what this prints, where it was created:";
        steps.push(Hint::command(how, scope.kibus("discover")));
        Some(finding.in_cluster(Some(cluster.clone())).fixed_by(Fix::Advice(steps)))
    };
    own.filter_map(finding).collect()
}

/// Failed reads that a check needs, each once.
pub(super) fn unreadable(case: &Case<'_>, say: &mut Say) {
    let survey = case.survey;
    let resources: BTreeMap<&ResourceId, &Fault> = survey.observed.faults().chain(case.observed.faults()).collect();
    let resources = resources.into_iter().map(|(id, fault)| (Subject::Resource(id.clone()), fault));
    let versions = survey.known.versions.iter().filter_map(|(number, version)| {
        let subject = Subject::Other(format!("version {number} of the router"));
        Some((subject, version.fault()?))
    });
    let lists = [
        ("records of clusters", survey.records().fault()),
        ("mappings of the router", survey.function_mappings().fault()),
    ];
    let lists = lists.into_iter().filter_map(|(what, fault)| Some((what.into(), fault?)));
    for (subject, fault) in resources.chain(versions).chain(lists) {
        say.not_read(&survey.scope, subject, fault);
    }
}

/// Foreign queues that redrive into existing queues of the hub and of these clusters. The queues' own redrive policies
/// are compared as settings: the hub queue has its dead-letter queue, and anything else is drift.
fn redrives(survey: &Survey, clusters: &BTreeMap<QueueName, ClusterName>, say: &mut Say) {
    let scope = &survey.scope;
    let queues: BTreeSet<QueueName> = scope.hub_queues().into_iter().chain(clusters.keys().cloned()).collect();
    let mut denied = None;
    for queue in queues.iter().filter(|queue| survey.queue(queue).is_some()) {
        match survey.dead_letter_sources(queue) {
            Fact::Present(sources) => {
                let foreign = sources.iter().filter(|source| !queues.contains(*source));
                let cluster = clusters.get(queue);
                let finding = |source: &QueueName| {
                    let message = format!("receives the dead letters of queue `{source}`");
                    let (url, region) = (scope.queue_url(None, source), &scope.region);
                    let finding = Message::finding(scope, FindingCode::ForeignRedrive, queue.clone(), message);
                    finding.in_cluster(cluster.cloned()).fixed_by(Hint::command(
                        format!("find out who uses queue `{source}`, and remove its redrive policy"),
                        scope.aws(format!(
                            "sqs set-queue-attributes --queue-url {url} --attributes '{{\"RedrivePolicy\":\"\"}}' --region \
                             {region}"
                        ))))
                };
                say.findings.extend(foreign.map(finding));
            }
            // An older document from `kibus policy operator` does not allow it.
            Fact::Unreadable(fault) if fault.is_denied() => denied = Some(fault),
            Fact::Unreadable(fault) => say.not_read(scope, queue.clone(), fault),
            Fact::Absent | Fact::NotAsked => {}
        }
    }
    let what = "queues that redrive into the queues of this bus are not reported";
    say.warn_all(denied.map(|fault| unanswered(scope, what, fault)));
}

impl Probed {
    /// The result as a sentence without a period.
    pub fn sentence(&self) -> String {
        let queue = &self.queue;
        let took = self.took.as_secs_f64();
        match &self.result {
            ProbeResult::Delivered if self.sent > 1 => {
                format!("probe delivered through the bus in {took:.1}s, after it was sent {} times", self.sent)
            }
            ProbeResult::Delivered => format!("probe delivered through the bus in {took:.1}s"),
            ProbeResult::Lost => format!(
                "probe not delivered within {}s: it was sent to the event bus {} times but did not reach queue `{queue}`",
                BUS_LIMIT.as_secs(),
                self.sent
            ),
            ProbeResult::NotDelivered(why) => format!("the router did not deliver a probe to queue `{queue}`: {why}"),
            ProbeResult::Read => format!("Karpenter reads queue `{queue}`: probe received within {took:.1}s"),
            ProbeResult::NotRead => {
                format!("Karpenter does not read queue `{queue}`: a message was still in it after {took:.0}s")
            }
            ProbeResult::Unknown(why) if self.cluster.is_none() => {
                format!("unknown whether the bus delivers probes: {why}")
            }
            ProbeResult::Unknown(why) => format!("unknown whether queue `{queue}` is read: {why}"),
        }
    }

    /// The finding, if something is wrong. `record` is the cluster's record.
    pub fn finding(&self, scope: &Scope, record: Option<&ClusterRecord>) -> Option<Message> {
        let code = match self.result {
            ProbeResult::Delivered | ProbeResult::Read => return None,
            ProbeResult::Lost => FindingCode::ProbeLost,
            ProbeResult::NotDelivered(_) => FindingCode::ProbeNotDelivered,
            ProbeResult::NotRead => FindingCode::QueueNotRead,
            ProbeResult::Unknown(_) => FindingCode::ProbeUnknown,
        };
        let bus = || Subject::Other("bus".to_owned());
        let subject = self.cluster.clone().map_or_else(bus, Subject::Cluster);
        let mut finding = Message::finding(scope, code, subject, self.sentence());
        // The fix for a cluster's probe names the cluster.
        if let (Some(cluster), Fix::Advice(steps)) = (&self.cluster, &mut finding.fix) {
            let command = match code {
                FindingCode::ProbeNotDelivered => format!("add-cluster {cluster}"),
                _ => format!("verify --probe {cluster}"),
            };
            steps[0].command = Some(scope.kibus(command));
            if let (FindingCode::ProbeNotDelivered, Some(record)) = (code, record)
                && !record.has_own_queue()
            {
                steps[0] = external::apply_again(scope, record);
            }
            if matches!(code, FindingCode::QueueNotRead | FindingCode::ProbeUnknown) && record.is_some() {
                steps.splice(..0, how_to_check(&self.queue));
            }
        }
        Some(finding)
    }
}

/// How to check which queue a cluster's Karpenter reads.
fn how_to_check(queue: &QueueName) -> [Hint; 2] {
    let shows = r#"get deployment karpenter -o jsonpath='{.spec.template.spec.containers[*].env[?(@.name=="INTERRUPTION_QUEUE")].value}'"#;
    [
        Hint::command(
            format!(
                "in that cluster, this prints the queue that Karpenter reads; it should be {queue} (the Helm value is \
                 settings.interruptionQueue; Helm silently ignores a wrong key):"
            ),
            format!("kubectl -n kube-system {shows}"),
        ),
        Hint::command(
            "this shows whether Karpenter is running, and its errors about the queue:",
            "kubectl -n kube-system logs deployment/karpenter --tail=200",
        ),
    ]
}
