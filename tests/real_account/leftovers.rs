//! What a run leaves behind, and its deletion. All names begin with the name of a bus of this test.

use std::collections::BTreeSet;

use aws_smithy_types::error::display::DisplayErrorContext;
use kibus::model::Kind;

use super::observation::Unseen;
use super::run::{BUS_LENGTH, Run};
use crate::support::inventory::Found;

/// How often in a row nothing must be found. Lists are late (S21).
const TIMES: u32 = 3;

/// How often the deletion is tried, a second apart: a deleted queue is listed for up to a minute (S21). What a list of
/// everything takes does not count, or the bound would depend on how busy the machine is.
const TRIES: u32 = 300;

/// Deletes the buses whose names begin like this, and everything else with such a name.
///
/// # Errors
/// What is left.
pub(super) async fn clean(run: &Run, prefix: &str) -> Result<(), String> {
    let mut found = left(run, prefix).await.map_err(incomplete)?;
    let buses: BTreeSet<_> = found.iter().filter_map(|left| left.name.get(..BUS_LENGTH)).collect();
    for bus in buses.into_iter().map(str::to_owned).collect::<Vec<_>>() {
        let ended = run.kibus(&bus, &["teardown", "--yes"]).await;
        let how = if ended.code == Some(0) { "done" } else { "failed; its resources are deleted one by one" };
        run.tell(&format!("clean up {bus}: teardown {how}"));
    }
    let (mut nothing, mut unread) = (0, None);
    for _ in 0..TRIES {
        match left(run, prefix).await {
            Ok(left) => (found, unread) = (left, None),
            Err(error) => unread = Some(error),
        }
        if unread.is_none() {
            nothing = if found.is_empty() { nothing + 1 } else { 0 };
            for left in &found {
                // What cannot be deleted now, or is deleted already and still listed, is found again.
                let _ = run.inventory().delete(left).await;
            }
        }
        if nothing == TIMES {
            return Ok(());
        }
        run.wait(if nothing > 0 { 5 } else { 1 }).await;
    }
    let why = unread.map(|Unseen(why)| format!(" The last list is incomplete: {why}.")).unwrap_or_default();
    Err(format!("Not everything is deleted; docs/real-account.md says how to delete it: {found:?}.{why}"))
}

fn incomplete(error: Unseen) -> String {
    format!("Whether an earlier run left something is unknown: {}", error.0)
}

/// Everything whose name begins like this.
pub(super) async fn left(run: &Run, prefix: &str) -> Result<Vec<Found>, Unseen> {
    let mut left =
        run.inventory().all(prefix).await.map_err(|error| Unseen(DisplayErrorContext(&*error).to_string()))?;
    // Roles have no Region. A run in another Region may need those with its name.
    let global = |found: &Found| matches!(found.kind, Kind::Role | Kind::RolePolicy);
    left.retain(|found| !global(found) || found.name.ends_with(&run.region));
    Ok(left)
}
