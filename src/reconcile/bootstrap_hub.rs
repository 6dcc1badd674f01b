//! `bootstrap-hub`: the hub of an account and Region, by the options given and saved.

use std::collections::BTreeSet;

use super::inventory::{none_being_deleted, of_clusters, of_hub, readable};
use super::old_key::Leaves;
use super::{
    ArchiveNeed, Blocked, Intent, NextStep, OfferedRouter, Recipe, cluster, confirm, key, live_version, old_key,
    role_search, router_code, senders,
};
use crate::error::{Hint, Invocation};
use crate::model::duration::duration_text;
use crate::model::fact::Fact;
use crate::model::hub::Hub;
use crate::model::inventory::{Desired, Observed};
use crate::model::name::ClusterName;
use crate::model::options::{BadSavedOption, HubOptions};
use crate::model::resource::{Architecture, Queue, ResourceId};
use crate::model::tags::OPTION;
use crate::plan::{self, Action, Allowed, Plan};
use crate::survey::{Policies, Query, SavedOptions, Survey};

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The options from the command line.
    pub options: HubOptions,
    /// The router of this kibus.
    pub router: OfferedRouter,
    /// Whether an older router may replace a newer one.
    pub allow_downgrade: bool,
    /// Whether the policies stop to allow old keys now.
    pub drop_old_key: bool,
}

impl Request {
    /// Why the recipe needs the archive of the router.
    #[must_use]
    pub fn archive_need(&self, survey: &Survey) -> ArchiveNeed {
        // With a damaged option there is no plan.
        match self.options(survey) {
            Ok(_) => router_code::need(&self.router, survey, self.architecture(survey)),
            Err(_) => ArchiveNeed::Compare,
        }
    }

    /// The architecture that the router runs on.
    #[must_use]
    pub fn architecture(&self, survey: &Survey) -> Architecture {
        self.options(survey).unwrap_or_default().architecture()
    }

    /// The options from the command line, else the saved ones.
    fn options(&self, survey: &Survey) -> Result<HubOptions, BadSavedOption> {
        let saved = self.saved(survey)?;
        Ok(self.options.clone().or(saved.unwrap_or_default()))
    }

    /// The saved options, if there are any. An invalid one is ignored if it is set again.
    fn saved(&self, survey: &Survey) -> Result<Option<HubOptions>, BadSavedOption> {
        let SavedOptions::Damaged(_, tags) = &survey.saved else {
            return Ok(survey.saved.options().cloned());
        };
        let (given, mut tags) = (self.options.saved_tags(), tags.clone());
        loop {
            match HubOptions::saved(&tags) {
                Err(BadSavedOption { flag, .. }) if given.option(flag).is_some() => {
                    tags.0.remove(&format!("{OPTION}{flag}"));
                }
                other => return other.map(Some),
            }
        }
    }
}

impl Recipe for Request {
    fn query(&self) -> Query {
        Query {
            hub: true,
            ..Query::default()
        }
    }

    fn more(&self, survey: &Survey) -> Query {
        let (Ok(before), Ok(after)) = (self.saved(survey), self.options(survey)) else {
            return Query::default();
        };
        let follow = before.as_ref().is_some_and(|before| clusters_follow(before, &after));
        let clusters = follow && matches!(survey.discovered, Fact::NotAsked);
        let (desired, live) = (after.reserved(), live_reserved(survey));
        let untagged = role_search::of_untagged(survey, &key::rekeyed_without_role(survey, &after));
        let needs_names = role_search::needs_names(survey, survey.registered().keys());
        Query {
            all_clusters: clusters,
            controller_roles: clusters.then_some(Policies::OfBus),
            roles: untagged.roles,
            key: key::to_read(survey, after.key()).cloned(),
            role_names: follow && (untagged.role_names || needs_names),
            concurrency: desired > live && matches!(survey.unreserved_concurrency, Fact::NotAsked),
            ..Query::default()
        }
    }

    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked> {
        let scope = &survey.scope;
        readable(&of_hub(survey))?;
        none_being_deleted(survey, scope.hub_queues())?;
        let before = self.saved(survey)?;
        let after = self.options(survey)?;
        plan::check_empty_prefix(scope, &after.queue_prefix())?;
        let mut intent = Intent {
            unchanged: format!("No changes. Hub {} is up to date.", scope.bus),
            ..Intent::default()
        };
        if let Some(key) = after.key() {
            intent.refusals.extend(plan::check_key(scope, key).err());
        }
        let architecture = self.architecture(survey);
        let code = router_code::to_deploy(&self.router, survey, architecture);
        let mut desired = Hub::new(scope, after.clone(), code).desired();
        router_code::keep_build(&self.router, survey, architecture, &mut desired);
        let mut observed = of_hub(survey);
        if let Some(before) = &before {
            with_clusters(survey, before, &after, &mut desired, &mut observed, &mut intent)?;
        }
        self.warn(survey, before.as_ref(), &after, &mut intent);
        let leaves = if self.drop_old_key {
            Leaves::Now
        } else {
            Leaves::WhenUnused
        };
        let old_keys = old_key::keep(survey, &observed, &mut desired, leaves);
        intent.warnings.extend(old_keys.warnings);
        intent.refusals.extend(old_keys.refusals);
        intent.plan = plan::plan(scope, &desired, &observed);
        intent.warnings.extend(expiring(survey, &intent.plan));
        intent.warnings.extend(senders::stopped(scope, &intent.plan));
        intent
            .warnings
            .extend(router_code::warning(&self.router, survey, &desired));
        let allowed = Allowed {
            downgrade: self.allow_downgrade,
        };
        intent
            .refusals
            .extend(plan::check_allowing(scope, &intent.plan, &observed, allowed));
        intent.refusals.extend(role_search::check(survey, &intent.plan));
        intent.refusals.extend(confirm::check(survey, &self.options, &after));
        intent
            .refusals
            .extend(confirm::locks(survey, &self.options, &intent.plan));
        if before.is_none() {
            let add = Invocation::kibus("add-cluster NAME");
            intent.next.push(NextStep::Run(Hint::command("Next:", add)));
        } else if changes_cluster_queues(survey, &intent.plan) {
            let text = "The queues of clusters do not have this policy change yet; add-cluster applies it. To find these clusters:";
            let verify = Invocation::kibus("verify");
            intent.next.push(NextStep::Run(Hint::command(text, verify)));
        }
        Ok(intent)
    }
}

impl Request {
    fn warn(&self, survey: &Survey, before: Option<&HubOptions>, after: &HubOptions, intent: &mut Intent) {
        let scope = &survey.scope;
        if before.is_none() && matches!(survey.saved, SavedOptions::Absent) && super::inventory::hub_stays(survey) {
            intent.warnings.push(Hint::text(
                "the saved options of this hub are lost with its dead-letter queue and its function: options that are \
                 not given now are reset to their defaults",
            ));
        }
        let live = live_version::warning(scope, &survey.observed);
        intent.warnings.extend(live.map(Hint::text));
        if after.lock_queues == Some(false) {
            intent.warnings.push(Hint::command(
                "the queues of this hub are not locked: anyone with sqs:SendMessage on them can make Karpenter drain \
                 nodes. To lock them:",
                Invocation::kibus("bootstrap-hub --lock-queues"),
            ));
        }
        match &survey.unreserved_concurrency {
            Fact::Present(left) => {
                let desired = after.reserved();
                intent
                    .refusals
                    .extend(plan::check_concurrency(desired, live_reserved(survey), *left).err());
            }
            Fact::Unreadable(fault) => intent.warnings.push(Hint::text(format!(
                "unknown whether the account has this much concurrency left: {fault}"
            ))),
            Fact::NotAsked | Fact::Absent => {}
        }
        let (old, new) = (before.and_then(HubOptions::key), after.key());
        let check = key::check(survey, new);
        if let Some(finding) = check.finding {
            let text = format!(
                "{}: {}: {}; {}. Use another key, or add this statement to its policy:",
                finding.code,
                finding.name(),
                finding.message,
                finding.code.meaning()
            );
            intent.warnings.push(Hint::command(text, key::statement(scope)));
        }
        intent.warnings.extend(check.unclear.filter(|_| old != new));
        intent.warnings.extend(key::without_role(survey, after));
    }
}

/// Whether registered clusters are affected by a change of options: by the prefix that their queues are named after, or
/// by a key that they are encrypted with.
fn clusters_follow(before: &HubOptions, after: &HubOptions) -> bool {
    before.queue_prefix() != after.queue_prefix() || before.kms_key.is_some() || after.kms_key.is_some()
}

fn with_clusters(
    survey: &Survey,
    before: &HubOptions,
    after: &HubOptions,
    desired: &mut Desired,
    observed: &mut Observed,
    intent: &mut Intent,
) -> Result<(), Blocked> {
    if !clusters_follow(before, after) {
        return Ok(());
    }
    if let Fact::Unreadable(fault) = &survey.discovered {
        return Err(Blocked::CallFailed(
            "list the queues of clusters",
            Box::new(fault.clone()),
        ));
    }
    let registered = survey.clusters();
    none_being_deleted(survey, registered.keys().map(|name| survey.cluster_queue(name)))?;
    let names: BTreeSet<ClusterName> = registered.keys().cloned().collect();
    plan::check_prefix(before, after, names)?;
    let clusters = of_clusters(survey, &registered);
    readable(&survey.observed)?;
    readable(&clusters)?;
    desired.extend(cluster::desired(survey, &registered, after)?);
    observed.extend(clusters);
    intent.clusters = cluster::summaries(survey);
    Ok(())
}

/// Whether the policies of cluster queues change too, as that of the probe queue does.
fn changes_cluster_queues(survey: &Survey, plan: &Plan) -> bool {
    let probe = ResourceId::Queue(survey.scope.probe_queue());
    let mut updates = plan.changes.iter().filter(|change| change.action == Action::Update);
    let policies = [Queue::POLICY, Queue::REDRIVE_ALLOW];
    updates.any(|change| change.id == probe && policies.iter().any(|path| change.touches(path)))
}

/// A warning for each queue with messages whose retention is lowered: SQS then deletes those that are older (SQS API
/// reference, `SetQueueAttributes`).
fn expiring(survey: &Survey, plan: &Plan) -> Vec<Hint> {
    let updates = plan.changes.iter().filter(|change| change.action == Action::Update);
    let lowered = updates.filter_map(|change| {
        let (before, after) = (change.before.as_ref()?.as_queue()?, change.after.as_ref()?.as_queue()?);
        let depth = survey.depth(&before.name)?;
        let count = depth.messages();
        (after.retention < before.retention && count > 0).then(|| {
            let (name, kept) = (&after.name, duration_text(after.retention.into()));
            Hint::text(format!(
                "messages wait in queue `{name}` (about {count}; the count may be stale): SQS deletes those older than \
                 {kept} when the retention is lowered"
            ))
        })
    });
    lowered.collect()
}

fn live_reserved(survey: &Survey) -> Option<u32> {
    let function = survey.observed.function(survey.scope.router_function())?;
    function.reserved_concurrency
}
