//! What confirms a saved option of the hub. Options are saved in tags, and someone who may only tag must neither open
//! anything with the next command, nor widen a document that an administrator attaches (decisions 29 and 31). The table of
//! options says which options a tag alone may not set, what each could open, and which resources confirm it.

use std::collections::BTreeMap;

use super::Blocked;
use crate::error::Hint;
use crate::model::fault::FaultKind;
use crate::model::inventory::Reading;
use crate::model::options::{DocumentFor, HubOption, HubOptions, KEY_OF_QUEUE, OptionKey, Witness};
use crate::model::queue_policy::is_locked;
use crate::model::resource::{Queue, QueueField, Resource, ResourceId};
use crate::plan::{Action, Change, Plan, Refusal};
use crate::survey::{SavedOptions, Survey};

/// A saved option that a resource contradicts, as one types it. An option without a tag counts as saved with its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The option as it is saved.
    pub saved: String,
    /// The option as the resource has it.
    pub live: String,
    /// The resource.
    pub of: ResourceId,
}

impl Difference {
    /// The difference of these values from what the witnesses of the option say, if one says something. Several are asked, so
    /// that drift of one is still repaired.
    fn of(survey: &Survey, option: HubOption, saved: &[String]) -> Option<Self> {
        Self::between(survey, option, saved, option.row().witnesses())
    }

    fn between(survey: &Survey, option: HubOption, saved: &[String], witnesses: &[Witness]) -> Option<Self> {
        let says = |witness: &Witness| Some((*witness, says(survey, option, *witness, saved)?));
        let said: Vec<_> = witnesses.iter().filter_map(says).collect();
        let (first, live) = said.first()?;
        let is_said = |word: &&String| said.iter().any(|(_, words)| words.contains(word));
        let confirmed: Vec<String> = saved.iter().filter(is_said).cloned().collect();
        let typed = |words: &[String]| option.row().typed(words);
        (confirmed.len() < saved.len()).then(|| Self {
            saved: typed(saved),
            live: match confirmed.is_empty() {
                true => typed(live.get(..1).unwrap_or_default()),
                false => typed(&confirmed),
            },
            of: first.id(&survey.scope),
        })
    }

    /// The difference of the saved prefix of the cluster queues.
    fn of_prefix(survey: &Survey) -> Option<Self> {
        Self::of(survey, HubOption::QueuePrefix, &[survey.queue_prefix().to_string()])
    }

    /// The refusal. `keep` is all that the printed command sets, if that is more than this option.
    fn refusal(self, keep: Option<&str>) -> Refusal {
        Refusal::UnconfirmedOption {
            keep: keep.unwrap_or(&self.live).to_owned(),
            saved: self.saved,
            live: self.live,
            of: Box::new(self.of),
        }
    }
}

/// What a witness says about an option, if it was read.
fn says(survey: &Survey, option: HubOption, witness: Witness, saved: &[String]) -> Option<Vec<String>> {
    let resource = survey.observed.resource(&witness.id(&survey.scope))?;
    match witness {
        Witness::Setting(_, says) => says(&survey.scope, resource, saved),
        Witness::TagOfFunction => second_copy(survey)?.words_or_default(option),
    }
}

/// The options that the function has saved, unless that is the only copy.
fn second_copy(survey: &Survey) -> Option<HubOptions> {
    let function = survey.observed.function(survey.scope.router_function())?;
    let is_only = matches!(survey.saved, SavedOptions::Kept { copy: true, .. });
    (!is_only).then(|| HubOptions::saved(&function.tags).unwrap_or_default())
}

/// All options, as messages order them.
fn in_order() -> Vec<HubOption> {
    let mut options = HubOption::ALL.to_vec();
    options.sort_by_key(|option| option.row().opens());
    options
}

/// The refusals of a plan by `after`: the options of the command line (`given`), else the saved ones. The command that each
/// names repeats the given options: without them, it would be refused for those.
pub(super) fn check(survey: &Survey, given: &HubOptions, after: &HubOptions) -> Vec<Refusal> {
    let (mut differences, mut keep) = (Vec::new(), Vec::new());
    for option in in_order().into_iter().filter(|_| is_saved(survey)) {
        let row = option.row();
        // A lock is compared for each queue of a plan; see `locks`.
        if row.witnesses().is_empty() || option == HubOption::LockQueues {
            continue;
        }
        let difference = contradiction(survey, option, given, after);
        let kept = difference.as_ref().map(|difference| difference.live.clone());
        keep.extend(kept.or_else(|| Some(row.typed(&given.words(option)?))));
        differences.extend(difference);
    }
    let keep = keep.join(" ");
    let refusal = |difference: Difference| difference.refusal(Some(&keep));
    let refusals = differences.into_iter().map(refusal);
    refusals.chain(boundary(survey, given, after)).collect()
}

/// Whether the hub has saved options: else no tag decides.
fn is_saved(survey: &Survey) -> bool {
    matches!(survey.saved, SavedOptions::Kept { .. } | SavedOptions::Damaged(..))
}

fn contradiction(survey: &Survey, option: HubOption, given: &HubOptions, after: &HubOptions) -> Option<Difference> {
    let role = survey.observed.role(survey.scope.router_role());
    match (option, given.words(option)) {
        // By another prefix than the saved one, clusters with queues of the live one would not be found.
        (HubOption::QueuePrefix, Some(words)) => Difference::of_prefix(survey).filter(|difference| {
            let given = option.row().typed(&words);
            given != difference.saved && given != difference.live
        }),
        (_, Some(_)) => None,
        // Only a boundary that is added can be confirmed; see `boundary`.
        (HubOption::PermissionsBoundary, None) if role.is_none_or(|role| role.permissions_boundary.is_some()) => None,
        (_, None) => Difference::of(survey, option, &after.words_or_default(option)?),
    }
}

/// Refuses to remove or replace the permissions boundary of the router role because of a saved option, and to create the
/// role with a boundary, or without one, that is not saved twice: there is no boundary to compare it with.
fn boundary(survey: &Survey, given: &HubOptions, after: &HubOptions) -> Option<Refusal> {
    if given.permissions_boundary.is_some() {
        return None;
    }
    let (role, saved) = (survey.scope.router_role(), after.boundary().cloned());
    if let Some(live) = survey.observed.role(role.clone()) {
        let live = live.permissions_boundary.clone()?;
        return (saved.as_ref() != Some(&live)).then_some(Refusal::UnconfirmedBoundary { role, live, saved });
    }
    let copy = second_copy(survey).map(|copy| copy.boundary().cloned());
    let confirmed = copy.as_ref().map_or(saved.is_none(), |copy| *copy == saved);
    (is_saved(survey) && !confirmed).then_some(Refusal::UnconfirmedNewRole { role, saved, copy })
}

/// Refuses to unlock queues, or to create unlocked ones, because of a saved option, while the hub queue is locked. A queue that is
/// handed back is no longer one of the bus.
pub(super) fn locks(survey: &Survey, given: &HubOptions, plan: &Plan) -> Vec<Refusal> {
    let locked_hub = Difference::of(survey, HubOption::LockQueues, &[false.to_string()]);
    if given.lock_queues.is_some() || locked_hub.is_none() {
        return Vec::new();
    }
    let is_locked = |queue: &Queue| queue.policy.as_ref().is_some_and(is_locked);
    let unlocks = |change: &Change| {
        let after = change.after.as_ref()?.as_queue()?;
        let stays = after.tags.has_any_of_kibus();
        let before = change.before.as_ref().and_then(Resource::as_queue);
        let is_new = before.is_none() || change.action == Action::Replace;
        (stays && !is_locked(after) && (is_new || before.is_some_and(is_locked)))
            .then(|| Refusal::UnconfirmedUnlock(after.name.clone()))
    };
    plan.changes.iter().filter_map(unlocks).collect()
}

/// The refusals of a plan that gives cluster queues another key than the hub queue has, if that was read.
pub(super) fn key_of_clusters(survey: &Survey, hub: &HubOptions, plan: &Plan) -> Vec<Refusal> {
    let encrypts = |change: &Change| match (&change.before, &change.after) {
        (_, Some(Resource::Queue(_))) if change.action != Action::Update => true,
        _ => change.touches(QueueField::Encryption),
    };
    let saved = hub.kms_key().to_string();
    let difference = Difference::between(survey, HubOption::KmsKey, &[saved], &[KEY_OF_QUEUE]);
    let refused = difference.filter(|_| plan.changes.iter().any(encrypts));
    refused.into_iter().map(|difference| difference.refusal(None)).collect()
}

/// What must be read next to confirm the prefix of the cluster queues: the function, and the router's policy if the function
/// has another prefix.
pub(super) fn prefix_to_read(survey: &Survey) -> Option<ResourceId> {
    let saved = [survey.queue_prefix().to_string()];
    for witness in HubOption::QueuePrefix.row().witnesses() {
        let id = witness.id(&survey.scope);
        if survey.observed.get(&id).is_none() {
            return Some(id);
        }
        if says(survey, HubOption::QueuePrefix, *witness, &saved).is_some_and(|live| live == saved) {
            return None;
        }
    }
    None
}

/// Refuses to look for the queues of clusters by a prefix that only a tag names: they would not be found. They would stay when
/// the bus is deleted, and a new one would receive nothing. It is a refusal only if the function or the router's policy was
/// read, and neither has the prefix.
pub(super) fn prefix(survey: &Survey) -> Result<(), Refusal> {
    Difference::of_prefix(survey).map_or(Ok(()), |difference| Err(difference.refusal(None)))
}

/// A warning if the caller may not read whether the router serves the prefix. Fails if it could not be read for another
/// reason.
pub(super) fn unread_prefix(survey: &Survey) -> Result<Option<Hint>, Blocked> {
    let function = ResourceId::Function(survey.scope.router_function());
    let Some(Reading::Unreadable(fault)) = survey.observed.get(&function) else {
        return Ok(None);
    };
    if !matches!(fault.kind, FaultKind::Denied { .. }) {
        return Err(Blocked::unreadable(function, fault));
    }
    let prefix = survey.queue_prefix();
    let is_said = |witness: &Witness| says(survey, HubOption::QueuePrefix, *witness, &[]).is_some();
    let text = format!("unknown whether the router serves queues with prefix `{prefix}`: {fault}");
    let is_known = HubOption::QueuePrefix.row().witnesses().iter().any(is_said);
    Ok((!is_known).then(|| Hint::text(text)))
}

/// The saved options that a document depends on, as far as the command line does not replace them.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Those that are saved, as one types them.
    pub used: Vec<String>,
    /// Those that a resource contradicts.
    pub differences: Vec<Difference>,
    /// The resources that could not be read, with the flags of what is saved about them.
    pub unread: BTreeMap<ResourceId, Vec<&'static str>>,
}

impl Comparison {
    /// Compares what `given` does not replace.
    #[must_use]
    pub fn of(survey: &Survey, given: &HubOptions, document: DocumentFor) -> Self {
        let saved = survey.saved.options().cloned().unwrap_or_default();
        let is_bounded = given.clone().or(saved.clone()).boundary().is_some();
        // Only a document with a boundary names the keys of tags.
        let document = match document {
            DocumentFor::Operator if is_bounded => DocumentFor::BoundedOperator,
            other => other,
        };
        let mut comparison = Self::default();
        for (option, witness) in in_document(document) {
            let (None, Some(words)) = (given.words(option), saved.words_or_default(option)) else {
                continue;
            };
            let (row, id) = (option.row(), witness.id(&survey.scope));
            let is_saved = saved.words(option).is_some();
            let difference = Difference::between(survey, option, &words, &[witness]);
            comparison.differences.extend(difference);
            if is_saved && let Some(Reading::Unreadable(_)) = survey.observed.get(&id) {
                comparison.unread.entry(id).or_default().push(row.flag);
            }
            comparison.used.extend(is_saved.then(|| row.typed(&words)));
        }
        comparison
    }
}

/// The options that a document depends on, as messages order them, each with what must agree with it.
pub(super) fn in_document(document: DocumentFor) -> Vec<(HubOption, Witness)> {
    let depends = |option: HubOption| {
        let documents = option.row().documents.filter(|documents| documents.from <= document)?;
        Some((option, documents.witness?))
    };
    in_order().into_iter().filter_map(depends).collect()
}
