//! Reconciliation: from the answers and the target, which is what should be true, to an intent. This is the only place
//! that creates and guards desired state. Pure: it reads nothing, changes nothing and prints nothing.

mod blocked;
mod check;
mod clusters;
mod external;
mod guards;
mod hub;
mod next_steps;
mod queue_setting;
mod roles;
mod router;
pub mod status;
mod target;
mod topics;
mod traffic;
mod unrecorded;
mod warnings;

pub use blocked::{Blocked, MissingRole, RoleSearch, RoleSource, no_single_role, permissions_for_eks};
pub use clusters::{ClusterSummary, check_names};
pub use guards::unnamed_queues;
pub use hub::{archive_need, check_dead_letters, check_log, options_afterwards, saved_settings};
pub use roles::recorded_roles;
pub use router::{ArchiveNeed, END_ROLLBACK, OfferedRouter};
pub use target::{
    Bootstrap, Check, ClusterSetting, HubSetting, RemovedTags, RoleOption, Target, Wish, checked_clusters,
};

use clusters::FoundBy;

use crate::error::Hint;
use crate::message::{self, Message, Subject};
use crate::model::{
    ClusterName, ClusterRecord, Desired, Fault, Observed, Queue, Resource, ResourceId, Scope, Settings,
};
use crate::plan::{self, Change, Plan, finding};
use crate::survey::Survey;

/// The maximum number of clusters that a sentence or a command lists.
const LISTED: usize = 20;
/// The subject of refusals of options.
const OPTIONS: &str = "options";

/// What a command will do to one hub and its clusters, or its findings about them: one pass over what is known. The
/// survey records each unknown fact as a question; the result is final once no question is left.
pub fn reconcile(survey: &Survey, target: &Target) -> Result<Intent, Blocked> {
    let (before, after) = hub::known_settings(survey, target)?;
    let follow = target.sets_hub() && hub::clusters_follow(survey, before.as_ref(), &after);
    clusters::clusters_known(survey, target, follow)?;
    let mut say = Say {
        checks: target.is_check(),
        refusals: guards::of_request(survey, target, before.as_ref(), &after),
        ..Say::default()
    };
    // A refused request is not planned.
    if !say.checks && !say.refusals.is_empty() {
        return Err(Blocked(say.refusals));
    }
    clusters::names_known(survey, target)?;
    let case = Case::new(survey, target, before, after, follow)?;
    case.judge(guards::OF_PLAN, &mut say);
    if say.checks {
        check::unreadable(&case, &mut say);
    }
    case.judge(warnings::WARNINGS, &mut say);
    if say.checks {
        check::findings(&case, &mut say);
    }
    message::sort(&mut say.findings);
    Ok(Intent {
        unchanged: unchanged(&case)?,
        next: next_steps::after(&case),
        clusters: clusters(&case),
        // The name of the bus confirms its deletion.
        confirmed_by: matches!(target.hub, Wish::Remove).then(|| survey.scope.bus.to_string()),
        passed: if say.checks { check::passed(&case, &say.findings) } else { Vec::new() },
        plan: case.plan,
        refusals: say.refusals,
        findings: say.findings,
        warnings: say.warnings,
        incomplete: say.incomplete,
    })
}

/// Collects the messages of a pass. It decides whether a problem is a warning or a finding: a check reports findings.
#[derive(Default)]
struct Say {
    checks: bool,
    /// Why the plan is not applied; a check turns them into findings.
    refusals: Vec<Message>,
    findings: Vec<Message>,
    warnings: Vec<Hint>,
    /// Why something could not be read; each has a finding.
    incomplete: Vec<Fault>,
}

impl Say {
    fn warn(&mut self, warning: Hint) {
        self.warnings.push(warning);
    }

    fn warn_all(&mut self, warnings: impl IntoIterator<Item = Hint>) {
        self.warnings.extend(warnings);
    }

    /// A finding in a check; otherwise a warning with this ending and command.
    fn problem(&mut self, finding: Message, end: &str, command: Option<String>) {
        if self.checks {
            self.findings.push(finding);
        } else {
            let text = format!("{}{end}", finding.as_warning());
            self.warn(Hint { text, command });
        }
    }

    /// A failed read that is not essential: a finding in a check, unless the caller is not allowed to read it; otherwise a warning.
    fn unread(&mut self, scope: &Scope, about: impl Into<Subject>, fault: &Fault, warning: Hint) {
        if self.checks && !fault.is_denied() { self.not_read(scope, about, fault) } else { self.warn(warning) }
    }

    /// What a check needs.
    fn not_read(&mut self, scope: &Scope, about: impl Into<Subject>, fault: &Fault) {
        self.incomplete.push(fault.clone());
        self.findings.push(finding::unreadable(scope, about.into(), fault));
    }
}

/// Messages about a plan, each with the targets that it applies to.
type Rule = (fn(&Target) -> bool, fn(&Case<'_>, &mut Say));

/// The request for one hub, with its plan.
struct Case<'a> {
    survey: &'a Survey,
    target: &'a Target,
    /// The current settings of the hub, if there are any.
    before: Option<Settings>,
    /// The settings of the hub afterwards.
    after: Settings,
    /// Whether unnamed clusters follow a change of these settings.
    follow: bool,
    /// The desired records of the clusters that are set.
    set: Vec<ClusterRecord>,
    found_by: FoundBy,
    desired: Desired,
    /// The answers to compare them with.
    observed: Observed,
    /// Resources named after a removed bus or cluster that something else manages.
    not_managed: Vec<ResourceId>,
    plan: Plan,
}

impl<'a> Case<'a> {
    fn new(
        survey: &'a Survey,
        target: &'a Target,
        before: Option<Settings>,
        after: Settings,
        follow: bool,
    ) -> Result<Self, Blocked> {
        let (set, found_by) = clusters::to_set(survey, target, &after)?;
        let (mut desired, mut observed) = hub::compared(survey, target, before.as_ref(), &after)?;
        let clusters = clusters::compared(survey, target, &after, &set, follow);
        desired.extend(clusters.0);
        observed.extend(clusters.1);
        if survey.is_open() {
            // The plan is made after everything has been read.
            desired = desired.resources().filter(|one| observed.get(&one.id()).is_asked()).cloned().collect();
        }
        // A check reports failed reads.
        if !target.is_check() {
            readable(survey, &observed)?;
        }
        let not_managed = take_what_stays(survey, target, &mut observed);
        Ok(Self {
            plan: plan::plan(&survey.scope, &desired, &observed),
            survey,
            target,
            before,
            after,
            follow,
            set,
            found_by,
            desired,
            observed,
            not_managed,
        })
    }

    fn judge(&self, rules: &[Rule], say: &mut Say) {
        for (_, judge) in rules.iter().filter(|(applies, _)| applies(self.target)) {
            judge(self, say);
        }
    }

    /// The changes to make; none for a check.
    fn applied(&self) -> impl Iterator<Item = &Change> {
        let changes = self.plan.changes.iter();
        changes.filter(|_| !self.target.is_check())
    }

    /// The queues that are updated, before and after.
    fn updated_queues(&self) -> impl Iterator<Item = (&Queue, &Queue)> {
        self.applied()
            .filter_map(|change| Some((change.before.as_ref()?.as_queue()?, change.after.as_ref()?.as_queue()?)))
    }
}

/// Removes unmanaged resources from the answers about a bus to remove, and returns them. If only queues are left of the
/// bus, queues with the deletion mark are waited for.
fn take_what_stays(survey: &Survey, target: &Target, observed: &mut Observed) -> Vec<ResourceId> {
    if !matches!(target.hub, Wish::Remove) {
        return Vec::new();
    }
    let is_ours = |one: &&Resource| plan::is_ours(&survey.scope, one, &survey.observed);
    let (ours, others): (Vec<&Resource>, Vec<&Resource>) = observed.resources().partition(is_ours);
    let queues: Option<Vec<&Queue>> = ours.into_iter().map(Resource::as_queue).collect();
    for queue in queues.into_iter().flatten() {
        survey.wait_for_leaving(&queue.name);
    }
    let not_managed: Vec<ResourceId> = others.into_iter().map(Resource::id).collect();
    for id in &not_managed {
        observed.remove(id);
    }
    not_managed
}

/// Fails if any of these could not be read.
fn readable(survey: &Survey, observed: &Observed) -> Result<(), Blocked> {
    let mut unread = observed.faults().map(|(id, fault)| (Subject::Resource(id.clone()), fault)).peekable();
    if unread.peek().is_none() { Ok(()) } else { Err(blocked::unread(survey, unread)) }
}

/// The intent of a command for one hub.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    pub plan: Plan,
    /// The reasons not to apply the plan.
    pub refusals: Vec<Message>,
    /// The findings of a check.
    pub findings: Vec<Message>,
    /// What was checked without finding a problem.
    pub passed: Vec<Message>,
    /// Warnings, shown before the changes are applied.
    pub warnings: Vec<Hint>,
    /// The message if nothing changes.
    pub unchanged: String,
    /// The steps after the changes.
    pub next: Vec<Hint>,
    /// Why resources could not be read, if that does not stop the command.
    pub incomplete: Vec<Fault>,
    /// The clusters that the command is about.
    pub clusters: Vec<ClusterSummary>,
    /// The word that the user types to confirm changes that cannot be undone; without it, the question is yes or no.
    pub confirmed_by: Option<String>,
}

/// The message if nothing changes; empty for a check. Fails if there is no router to roll back.
fn unchanged(case: &Case<'_>) -> Result<String, Blocked> {
    let scope = &case.survey.scope;
    let names: Vec<&str> = case.target.clusters.keys().map(ClusterName::as_str).collect();
    Ok(match &case.target.hub {
        Wish::Keep => String::new(),
        Wish::Set(HubSetting::Bootstrap(_)) => format!("No changes. Hub {} is up to date.", scope.bus),
        Wish::Remove => format!(
            "Nothing to delete: bus `{}` does not exist in {} of account {}.",
            scope.bus, scope.region, scope.account
        ),
        Wish::Set(HubSetting::RollBack(_)) => {
            let live = router::live_alias(scope, &case.survey.observed).ok_or_else(|| blocked::no_hub(scope))?;
            let warning = router::not_newest_warning(case.survey);
            format!("No changes. {}.", warning.unwrap_or_else(|| router::live_sentence(live)))
        }
        Wish::Leave if case.set.is_empty() => {
            let are = if names.len() == 1 { "is" } else { "are" };
            format!("No changes. {} {are} not on bus {}.", names.join(", "), scope.bus)
        }
        Wish::Leave => match names.as_slice() {
            [one] => format!("No changes. {one} is up to date."),
            several => format!("No changes. {} clusters are up to date.", several.len()),
        },
    })
}

fn removed_records<'a>(case: &'a Case<'_>) -> impl Iterator<Item = &'a ClusterRecord> {
    let recorded = case.survey.recorded().into_iter();
    recorded.filter(|(name, _)| !case.target.wants(name)).map(|(_, record)| record)
}

/// The clusters of a target, as lists show them.
fn clusters(case: &Case<'_>) -> Vec<ClusterSummary> {
    let (survey, target) = (case.survey, case.target);
    let is_shown = |name: &ClusterName| match target.clusters.get(name) {
        Some(Wish::Set(_)) => false,
        Some(_) => true,
        None => case.follow || target.is_of_all(),
    };
    let read = survey.recorded().into_iter().filter(|(name, _)| is_shown(name));
    let set = case.set.iter().map(|record| ClusterSummary {
        found_by: case.found_by.get(&record.cluster).cloned().unwrap_or_default(),
        ..ClusterSummary::from_record(&survey.scope, record)
    });
    let mut all: Vec<_> = read.map(|(_, record)| ClusterSummary::with_damage(survey, record)).chain(set).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[cfg(test)]
mod tests;
