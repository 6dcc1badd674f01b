//! The findings of a check: what differs from the settings of the hub, what blocks events, and what could not be read.

use std::collections::{BTreeMap, BTreeSet};

use super::target::{Adopt, Target, Trial, Wish, checked_by_queue};
use super::{Blocked, Case, Intent, adoption, clusters, hub, keys, role_policies, router};
use crate::error::Hint;
use crate::model::answer::{Fact, Fault};
use crate::model::event_rule::{EventRule, RulePattern};
use crate::model::name::{ClusterName, QueueName, RoleName, RuleName};
use crate::model::resource::{Observed, ResourceId};
use crate::model::scope::Scope;
use crate::model::signal::Signal;
use crate::model::status::{BUS_LIMIT, ProbeResult, Probed, VersionState};
use crate::plan::Refusal;
use crate::plan::finding::{self, Finding, FindingCode, Fix, Severity, Subject, Traffic};
use crate::survey::Survey;

/// Adds the findings to the intent of a check, and the warnings about them. Fails if nothing has one of the names.
pub(super) fn findings(case: &Case<'_>, refusals: &[Refusal], intent: &mut Intent) -> Result<(), Blocked> {
    let Case { survey, target, .. } = case;
    if !target.is_check() {
        return Ok(());
    }
    let scope = &survey.scope;
    let by_queue = checked_by_queue(survey, target);
    let mut findings = orphans(survey, target);
    // Without the settings, which queues are those of clusters is not known.
    if survey.settings().is_some() {
        findings.extend(adoption::lost_queues(survey, target));
    }
    findings.extend(not_registered(case, &findings));
    let absent_roles = absent_roles(survey);
    findings.extend(finding::changed(scope, &case.plan, refusals, &absent_roles));
    router::fix_by_option(case, &mut findings);
    let is_lost = |finding: &&mut Finding| finding.code == FindingCode::SettingsMissing;
    for finding in findings.iter_mut().filter(is_lost) {
        // Without its options, the command of the others refuses.
        finding.fix = Fix::Command(scope.kibus(hub::restoring(survey)));
    }
    findings.extend(finding::refused(scope, refusals));
    let mappings = survey.function_mappings().present().into_iter().flatten();
    findings.extend(mappings.filter_map(|mapping| finding::foreign_mapping(scope, mapping)));
    let permissions = survey.function_permissions().present().into_iter().flatten();
    findings.extend(permissions.map(|permission| finding::invoke_permission(scope, permission)));
    findings.extend(dropped(survey, &findings));
    let mut unreadable = unreadable(survey, &case.observed);
    // If the live router cannot run, its state says why.
    if survey.live_version().is_some_and(VersionState::can_run) {
        survey.live_test();
    }
    match survey.known.live_test.fault() {
        Some(fault) if fault.is_denied() => intent.warnings.push(not_asked()),
        Some(fault) => {
            let subject = Subject::Resource(router::live_id(scope));
            unreadable.push(finding::unreadable(scope, subject, fault));
        }
        None => {}
    }
    let redrive = redrives(survey, &by_queue);
    findings.extend(redrive.findings);
    intent.warnings.extend(redrive.denied);
    unreadable.extend(redrive.unreadable);
    intent.incomplete = unreadable.len();
    let traffic = traffic(case, &by_queue);
    intent.warnings.extend(stale_counts(case, &traffic));
    findings.extend(traffic);
    findings.extend(unreadable);
    let probed = survey.known.probes.values().filter_map(Fact::present);
    findings.extend(probed.filter_map(|probed| probed.finding(scope)));
    findings.extend(keys::judge_key(survey, case.after.options.key()).finding);
    findings.extend(senders(case, &by_queue));
    finding::sort(&mut findings);
    intent.findings = findings;
    // Last: each takes long, and what is known by now says which queues and clusters it is about.
    if !survey.is_open() {
        try_out(survey, target, by_queue);
    }
    Ok(())
}

/// Asks for further counts of the queues in which messages wait, and for probes, as far as the target wants them. What waits in the
/// probe queue is kibus's own. A probe of a cluster tells more about its queue than counts.
fn try_out(survey: &Survey, target: &Target, clusters: BTreeMap<QueueName, ClusterName>) {
    let hub = [survey.scope.hub_queue(), survey.scope.dead_letter_queue()];
    let waits = |queue: &QueueName| survey.depth(queue).is_some_and(|depth| depth.waiting > 0);
    match target.trial {
        Trial::Nothing => {}
        Trial::Glance => hub
            .into_iter()
            .chain(clusters.into_keys())
            .filter(waits)
            .for_each(|queue| {
                survey.glance(&queue);
            }),
        Trial::Probe => {
            hub.into_iter().filter(waits).for_each(|queue| {
                survey.watch(&queue);
            });
            let bus = (target.others == Wish::Keep).then_some(None);
            bus.into_iter()
                .chain(clusters.into_values().map(Some))
                .for_each(|cluster| {
                    survey.probes(&cluster);
                });
        }
    }
}

/// Findings for clusters whose events were dropped. What another finding names, or is registered by now, is known.
fn dropped(survey: &Survey, findings: &[Finding]) -> Vec<Finding> {
    let known = survey.clusters();
    let is_known = |name: &ClusterName| {
        known.contains_key(name) || findings.iter().any(|finding| finding.cluster.as_ref() == Some(name))
    };
    let dropped = survey.known.dropped_clusters.present().into_iter();
    let clusters = dropped.flat_map(|dropped| &dropped.clusters);
    let lost = clusters.filter(|(name, _)| !is_known(name));
    lost.map(|(name, events)| finding::dropped(&survey.scope, name, events))
        .collect()
}

/// Findings for clusters whose queue is missing, while a controller role has their policy.
fn orphans(survey: &Survey, target: &Target) -> Vec<Finding> {
    let orphans = role_policies::strays(survey).into_iter().filter_map(|stray| {
        let (cluster, _) = stray.orphan?;
        target
            .checks(&cluster)
            .then(|| finding::orphan(&survey.scope, &stray.role, cluster))
    });
    orphans.collect()
}

/// Findings for named clusters that are not registered, besides those that another finding names.
fn not_registered(case: &Case<'_>, known: &[Finding]) -> Vec<Finding> {
    let Case { survey, target, .. } = case;
    if survey.discovered().fault().is_some() {
        return Vec::new();
    }
    let registered = survey.registered();
    let mut names: BTreeSet<ClusterName> = target.kept().cloned().collect();
    names.retain(|name| !registered.contains_key(name));
    names.retain(|name| known.iter().all(|finding| finding.cluster.as_ref() != Some(name)));
    let finding = |name: ClusterName| {
        let similar = clusters::close(&name, survey.registered().into_keys());
        let cluster = adoption::registered(survey, &case.after, name.clone(), None);
        let fix = match adoption::not_of_bus(survey, &cluster, Adopt::No) {
            Some(refusal) => Fix::Advice(refusal.advice(&survey.scope, false)),
            None if clusters::leaves_traces(survey, &name) => Fix::add_cluster(&survey.scope, name.clone()),
            None => Fix::Advice(Hint::command(
                "check the name, the bus, the account and the Region; if they are right:",
                survey.scope.kibus(format!("add-cluster {name}")),
            )),
        };
        finding::not_registered(&survey.scope, name, &similar, fix)
    };
    names.into_iter().map(finding).collect()
}

fn traffic(case: &Case<'_>, by_queue: &BTreeMap<QueueName, ClusterName>) -> Vec<Finding> {
    let (survey, watched) = (case.survey, case.target.trial == Trial::Probe);
    let samples = if watched {
        &survey.known.watch
    } else {
        &survey.known.glance
    };
    let hub = survey.scope.hub_queues().into_iter();
    let clusters = by_queue.keys().filter(|_| !watched).cloned();
    let queues = hub.chain(clusters).filter_map(|queue| {
        let first = survey.depth(&queue)?;
        let later = samples.get(&queue).and_then(Fact::present).into_iter().flatten();
        let samples = std::iter::once(first).chain(later.copied()).collect();
        Some((queue, samples))
    });
    let traffic = Traffic {
        queues: queues.collect(),
        watched,
        mapping: survey.mapping().cloned(),
        version: survey.live_version().cloned(),
        live: survey.known.live_test.present().cloned(),
    };
    finding::traffic(&survey.scope, &traffic, by_queue)
}

/// Who else sends to the queues of clusters. While rules send to an adopted queue, they are what has to go first; a sender
/// that is no rule is reported with them.
fn senders(case: &Case<'_>, by_queue: &BTreeMap<QueueName, ClusterName>) -> Vec<Finding> {
    let rules = rules_by_queue(case.survey, by_queue);
    let mut findings = adoption::findings(case);
    let has =
        |queue: &QueueName, finding: &Finding| finding.subject == Subject::Resource(ResourceId::Queue(queue.clone()));
    let duplicates = rules.iter().filter_map(|(queue, rules)| {
        let cluster = by_queue.get(queue)?.clone();
        let keeps_senders = findings.iter().any(|finding| has(queue, finding));
        Some(finding::duplicate_rules(
            &case.survey.scope,
            queue.clone(),
            cluster,
            rules,
            keeps_senders,
        ))
    });
    let duplicates: Vec<Finding> = duplicates.collect();
    findings.retain(|finding| finding.severity < Severity::Warning || !rules.keys().any(|queue| has(queue, finding)));
    findings.extend(duplicates);
    findings
}

/// How to judge counts that may be stale, if a finding rests on them.
fn stale_counts(case: &Case<'_>, traffic: &[Finding]) -> Option<Hint> {
    let counted = [
        FindingCode::DeadLetters,
        FindingCode::QueueUnread,
        FindingCode::HubQueueNotDraining,
    ];
    let rests = |finding: &Finding| counted.contains(&finding.code);
    (case.target.trial != Trial::Probe && traffic.iter().any(rests)).then(|| {
        Hint::command(
            "SQS counts messages up to a minute late; to probe the clusters and watch the counts:",
            case.survey.scope.kibus("verify --probe"),
        )
    })
}

/// Not a finding: a caller who only reads may not invoke the router, which would also route any event.
fn not_asked() -> Hint {
    Hint::text(
        "the live router was not asked for its self-test: AWS denied lambda:InvokeFunction, which the read-only policy does \
         not contain",
    )
}

/// The controller roles that certainly do not exist.
fn absent_roles(survey: &Survey) -> BTreeSet<RoleName> {
    let absent = survey
        .known
        .roles
        .iter()
        .filter(|(_, policies)| **policies == Fact::Absent);
    absent.map(|(role, _)| role.clone()).collect()
}

/// A denial of a read that a check can do without is a warning.
fn undenied(fault: Option<&Fault>) -> Option<&Fault> {
    fault.filter(|fault| !fault.is_denied())
}

/// Everything that could not be read, each once.
fn unreadable(survey: &Survey, observed: &Observed) -> Vec<Finding> {
    let resources: BTreeMap<&ResourceId, &Fault> = survey.observed.faults().chain(observed.faults()).collect();
    let resources = resources
        .into_iter()
        .map(|(id, fault)| (Subject::Resource(id.clone()), fault));
    let versions = survey.known.versions.iter().filter_map(|(number, version)| {
        let subject = Subject::Other(format!("version {number} of the router"));
        Some((subject, version.fault()?))
    });
    let lists = [
        ("clusters", survey.discovered().fault()),
        ("mappings of the router", survey.known.function_mappings.fault()),
        (
            "policy of the router",
            undenied(survey.known.function_permissions.fault()),
        ),
        ("log of the router", undenied(survey.known.dropped_clusters.fault())),
    ];
    let other = |(what, fault): (&str, Option<_>)| Some((Subject::Other(what.to_owned()), fault?));
    let all = resources.chain(versions).chain(lists.into_iter().filter_map(other));
    let finding = |(subject, fault)| finding::unreadable(&survey.scope, subject, fault);
    all.map(finding).collect()
}

/// What is known of the queues that redrive into those of a bus.
#[derive(Default)]
struct RedriveCheck {
    /// A finding for each of them that kibus does not manage.
    findings: Vec<Finding>,
    /// A finding for each queue of the bus whose answer failed.
    unreadable: Vec<Finding>,
    /// The warning, if the caller may not ask: an older document of `kibus policy operator` does not allow it.
    denied: Option<Hint>,
}

/// What redrives into the queues of the hub and of these clusters that exist. Their own redrive policies are compared as their
/// settings: the hub queue has its dead-letter queue, and any other is drift.
fn redrives(survey: &Survey, clusters: &BTreeMap<QueueName, ClusterName>) -> RedriveCheck {
    let scope = &survey.scope;
    let mut checked = RedriveCheck::default();
    let queues: BTreeSet<QueueName> = scope.hub_queues().into_iter().chain(clusters.keys().cloned()).collect();
    for queue in queues.iter().filter(|queue| survey.queue(queue).is_some()) {
        match survey.dead_letter_sources(queue) {
            Fact::Present(sources) => {
                let foreign = sources.iter().filter(|source| !queues.contains(*source));
                let cluster = clusters.get(queue);
                let found = foreign.map(|source| finding::redriven(scope, queue.clone(), cluster.cloned(), source));
                checked.findings.extend(found);
            }
            Fact::Unreadable(fault) if fault.is_denied() => {
                checked.denied = Some(redrives_denied(scope, &fault.action))
            }
            Fact::Unreadable(fault) => {
                let subject = Subject::Resource(ResourceId::Queue(queue.clone()));
                checked.unreadable.push(finding::unreadable(scope, subject, fault));
            }
            Fact::Absent | Fact::NotAsked => {}
        }
    }
    checked
}

fn redrives_denied(scope: &Scope, action: &str) -> Hint {
    Hint::command(
        format!(
            "queues that redrive into the queues of this bus are not reported: AWS denied {action}. Grant the permissions \
             that this command prints:"
        ),
        scope.kibus("policy operator"),
    )
}

/// The rules that may send the same events past the router: enabled, with events of Karpenter, and without the name of a rule of
/// this bus. The targets of those are read with the hub, and each that is not of kibus is refused there.
fn other_rules(survey: &Survey) -> BTreeSet<&RuleName> {
    let all = survey.event_rules().present().into_iter().flatten();
    let own = Signal::ALL.map(|signal| survey.scope.rule(signal));
    let is_candidate = |rule: &&EventRule| {
        let pattern = rule.pattern.as_ref().map(RulePattern::of).unwrap_or_default();
        rule.enabled && !pattern.signals.is_empty() && !own.contains(&rule.name)
    };
    all.filter(is_candidate).map(|rule| &rule.name).collect()
}

/// These rules by their queue, among the queues of these clusters. What could not be read is left out: a check
/// needs no permission for the rules of others.
fn rules_by_queue(
    survey: &Survey,
    clusters: &BTreeMap<QueueName, ClusterName>,
) -> BTreeMap<QueueName, BTreeSet<RuleName>> {
    let mut found: BTreeMap<QueueName, BTreeSet<RuleName>> = BTreeMap::new();
    if clusters.is_empty() {
        return found;
    }
    for rule in other_rules(survey) {
        for target in survey.rule_targets(rule).present().into_iter().flatten() {
            let queue = clusters
                .keys()
                .find(|queue| survey.scope.queue_arn(queue) == target.arn);
            if let Some(queue) = queue {
                found.entry(queue.clone()).or_default().insert(rule.clone());
            }
        }
    }
    found
}

impl Probed {
    /// The result as a sentence without a full stop.
    pub fn sentence(&self) -> String {
        let queue = &self.queue;
        let took = self.took.as_secs_f64();
        match &self.result {
            ProbeResult::Delivered if self.sent > 1 => {
                format!(
                    "probe delivered through the bus in {took:.1}s, after it was sent {} times",
                    self.sent
                )
            }
            ProbeResult::Delivered => format!("probe delivered through the bus in {took:.1}s"),
            ProbeResult::Lost => format!(
                "probe not delivered within {}s: it was put on the event bus {} times and did not reach queue `{queue}`",
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

    /// The finding, if something is wrong.
    pub fn finding(&self, scope: &Scope) -> Option<Finding> {
        let code = match self.result {
            ProbeResult::Delivered | ProbeResult::Read => return None,
            ProbeResult::Lost => FindingCode::ProbeLost,
            ProbeResult::NotDelivered(_) => FindingCode::ProbeNotDelivered,
            ProbeResult::NotRead => FindingCode::QueueNotRead,
            ProbeResult::Unknown(_) => FindingCode::ProbeUnknown,
        };
        let bus = || Subject::Other("bus".to_owned());
        let subject = self.cluster.clone().map_or_else(bus, Subject::Cluster);
        let mut finding = Finding::new(scope, code, subject, self.sentence());
        // The probe of a cluster names the cluster.
        if let (Some(cluster), Fix::Advice(hint)) = (&self.cluster, &mut finding.fix) {
            let command = match code {
                FindingCode::ProbeNotDelivered => format!("add-cluster {cluster}"),
                _ => format!("verify --probe {cluster}"),
            };
            hint.command = Some(scope.kibus(command));
        }
        Some(finding)
    }
}
