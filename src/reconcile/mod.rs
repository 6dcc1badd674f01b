//! Reconciliation: from what was read and what should be, the target, to an intent. This is the only place where desired
//! state is made and guarded. Pure: it reads nothing, changes nothing and prints nothing.

mod adoption;
mod blocked;
mod check;
mod clusters;
mod guards;
mod hub;
mod keys;
mod outcome;
pub mod queue_setting;
mod role_policies;
mod roles;
mod router;
pub mod status;
mod target;
mod warnings;

pub use blocked::{Blocked, MissingRole, RoleSearch, RoleSource, no_single_role};
pub use clusters::{ClusterSummary, Controller, permissions_for_eks};
pub use guards::unnamed_queues;
pub use hub::{archive_need, check_dead_letters, options_afterwards};
pub use roles::SavedRoles;
pub use router::{ArchiveNeed, END_ROLLBACK, OfferedRouter};
pub use target::{Adopt, Bootstrap, ClusterSetting, HubSetting, RoleOption, Target, Trial, Wish, checked_clusters};

use crate::error::Hint;
use crate::message::Message;
use crate::model::cluster::Cluster;
use crate::model::document::Document;
use crate::model::resource::{Desired, Observed, ResourceId};
use crate::model::settings::Settings;
use crate::plan::{self, Plan};
use crate::survey::Survey;

/// What a command will do to one hub and its clusters, or has found out about them: one pass over what is known. What is not
/// known yet, the survey notes as a question; the result counts once there is no question left.
pub fn reconcile(survey: &Survey, target: &Target) -> Result<Intent, Blocked> {
    clusters::hub_known(survey, target)?;
    let (before, after) = hub::settings(survey, target)?;
    let follow = target.bootstraps().is_some() && hub::clusters_follow(before.as_ref(), &after);
    clusters::clusters_known(survey, target, follow)?;
    let mut refusals = guards::of_request(survey, target, before.as_ref(), &after);
    if !refusals.is_empty() && !target.is_check() {
        return Err(Blocked(refusals));
    }
    clusters::none_unknown(survey, target)?;
    clusters::known_to_eks(survey, target)?;
    let case = Case::new(survey, target, before, after, follow)?;
    refusals.extend(guards::of_plan(&case));
    let mut intent = Intent {
        warnings: warnings::of_plan(&case),
        release: outcome::release(&case),
        unchanged: outcome::unchanged(&case)?,
        next: outcome::next(&case),
        clusters: outcome::clusters(&case),
        confirmed_by: outcome::confirmed_by(&case),
        ..Intent::default()
    };
    check::findings(&case, &refusals, &mut intent)?;
    // The refusals of a check are findings.
    if !target.is_check() {
        intent.refusals = refusals;
    }
    intent.plan = case.plan;
    Ok(intent)
}

/// What is asked of one hub, with the plan for it.
struct Case<'a> {
    survey: &'a Survey,
    target: &'a Target,
    /// The settings that the hub has, if there are any.
    before: Option<Settings>,
    /// The settings that it has afterwards.
    after: Settings,
    /// Whether the clusters that are not named follow a change of these settings.
    follow: bool,
    set: Vec<Cluster>,
    desired: Desired,
    /// The answers that they are compared with.
    observed: Observed,
    /// What has a name of a bus or a cluster that is removed, and is managed by something else.
    not_managed: Vec<ResourceId>,
    /// The queues of a hub that is removed whose policies do not say that kibus created them.
    not_created: Vec<ResourceId>,
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
        let set = clusters::to_set(survey, target, &after)?;
        let (mut desired, mut observed) = hub::compared(survey, target, before.as_ref(), &after)?;
        let clusters = clusters::compared(survey, target, &after, &set, follow);
        desired.extend(clusters.0);
        observed.extend(clusters.1);
        if survey.is_open() {
            // The plan is made once everything was read.
            desired = desired
                .resources()
                .filter(|one| observed.get(&one.id()).is_asked())
                .cloned()
                .collect();
        }
        // A check reports what could not be read.
        if !target.is_check() {
            clusters::readable(&survey.scope, &observed)?;
        }
        let (not_managed, not_created) = match target.hub {
            Wish::Remove => (
                clusters::take_not_managed(&survey.scope, &mut observed),
                adoption::take_not_created(survey, &mut observed),
            ),
            _ => (adoption::take_left_behind(survey, target, &mut observed), Vec::new()),
        };
        Ok(Self {
            plan: plan::plan(&survey.scope, &desired, &observed, survey.now),
            survey,
            target,
            before,
            after,
            follow,
            set,
            desired,
            observed,
            not_managed,
            not_created,
        })
    }
}

/// The intent of a command for one hub.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    pub plan: Plan,
    /// The reasons not to apply the plan.
    pub refusals: Vec<Message>,
    /// The findings of a check.
    pub findings: Vec<Message>,
    /// What was checked and has no problem.
    pub passed: Vec<Message>,
    /// Warnings, shown before the changes are applied.
    pub warnings: Vec<Hint>,
    /// The controllers that must stop using their queues before the changes are applied.
    pub release: Vec<Controller>,
    /// The message if nothing changes.
    pub unchanged: String,
    /// The steps after the changes.
    pub next: Vec<NextStep>,
    /// How many resources could not be read, if that does not stop the command.
    pub incomplete: usize,
    /// The clusters that the command is about.
    pub clusters: Vec<ClusterSummary>,
    /// The word that a person types to confirm changes that cannot be undone; else, yes or no confirms them.
    pub confirmed_by: Option<String>,
}

/// A step that is left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// A sentence with a command.
    Run(Hint),
    /// Set the queue in the Karpenter of each cluster.
    ConfigureKarpenter {
        controllers: Vec<Controller>,
        /// The command that checks it.
        check: String,
        /// The command that shows the setting of an older Karpenter, if the version of one is unknown.
        older: Option<String>,
    },
    /// The Karpenter settings that should be in place already.
    RemindOfSettings {
        controllers: Vec<Controller>,
        /// The command that shows how to set them.
        show: String,
    },
    /// Remove what a person attached to the controller roles of these clusters, which are removed.
    DetachPolicy(Vec<Controller>),
    /// Attach a policy to the controller roles of these clusters.
    AttachPolicy {
        clusters: Vec<Controller>,
        /// The policy, for the queue of the first.
        policy: Document,
    },
}

#[cfg(test)]
mod tests;
