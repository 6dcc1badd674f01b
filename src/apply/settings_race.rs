//! Two runs, or a run and a person, that write the settings of one hub at the same time. The first creation wins, and
//! later the last write.

use super::Outcome;
use crate::cloud::{FaultKind, Read};
use crate::model::resource::{Resource, ResourceId};
use crate::model::settings::SettingsChange;
use crate::plan::{Action, Change, Plan};

/// Whether another run was the first to create the settings: nothing of the plan was applied.
pub fn is_lost(plan: &Plan, outcome: &Outcome) -> bool {
    outcome.done.is_empty()
        && outcome.failed.iter().any(|(place, fault)| {
            let change = &plan.changes[*place];
            let creates = change.action == Action::Create && matches!(change.id, ResourceId::Parameter(_));
            creates && fault.kind == FaultKind::Exists
        })
}

/// The settings that an applied plan wrote, if they were written by someone else too since the plan was made, and who wrote
/// them since. Every write counts one version, so more versions than writes of the plan are those of others, or writes of the
/// plan that were sent again because an answer was lost. Those have the documents of the plan in the history.
pub async fn overwritten(plan: &Plan, cloud: &impl Read) -> Option<(ResourceId, Vec<SettingsChange>)> {
    let is_settings = |change: &&Change| matches!(change.id, ResourceId::Parameter(_)) && change.after.is_some();
    let change = plan.changes.iter().find(is_settings)?;
    let version = |resource: &Resource| Some(resource.as_parameter()?.version);
    let before = change.before.as_ref().and_then(version).unwrap_or(0);
    let writes = plan.changes.iter().filter(is_settings);
    let is_write = |change: &&Change| {
        let is_value = change.fields.iter().any(|field| field.tag().is_none());
        change.action == Action::Create || is_value
    };
    let writes = writes.filter(is_write);
    let ours: Vec<_> = writes.filter_map(|change| change.resource().as_parameter()).collect();
    // A read that misses the last write says nothing.
    let now = cloud.read(&change.id).await.ok()??;
    if version(&now)? <= before + ours.len() as u64 {
        return None;
    }
    let changes = cloud.settings_changes(before).await;
    let is_ours = |change: &SettingsChange| ours.iter().any(|written| written.settings == change.settings);
    let all_ours = !changes.is_empty() && changes.iter().all(is_ours);
    (!all_ours).then(|| (change.id.clone(), changes))
}
