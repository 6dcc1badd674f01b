//! The wait for queues that another run is deleting, or was deleting when it ended. It comes before the plan: what to do
//! with such a queue is known only once it is gone or its mark is old. It changes nothing, so a dry run waits too, and
//! Ctrl-C ends it at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::{join_all, pending};
use tokio::time::timeout;

use super::hub::{ConnectedHub, Hubs};
use super::stages::survey;
use crate::cloud::{Waiting, Write};
use crate::error::Error;
use crate::model::name::QueueName;
use crate::model::resource::ResourceId;
use crate::model::tags::{DELETING, MARK_COUNTS};
use crate::reconcile::{Blocked, Target, needs, reconcile};
use crate::survey::Survey;

/// Reads what a target needs to know about each hub, again and again until no queue that it wants is being deleted. Marks
/// that are set anew do not hold it up without end: what is still marked then is an error of the plan.
pub(super) async fn settled_survey(hubs: &Hubs<'_>, target: &Target) -> Result<Vec<Survey>, Error> {
    let began = Instant::now();
    loop {
        let surveys = survey(hubs, |survey| needs(target, survey)).await?;
        let marked: Vec<_> = hubs
            .list
            .iter()
            .zip(surveys.iter().map(|one| marked(target, one)))
            .collect();
        if marked.iter().all(|(_, queues)| queues.is_empty()) || began.elapsed() >= MARK_COUNTS {
            return Ok(surveys);
        }
        let _waiting = hubs.ui.spinner("waiting for queues that are being deleted");
        let waits = marked.iter().flat_map(|(hub, queues)| {
            queues.iter().map(|(queue, left)| {
                let text = format!(
                    "waiting: queue {queue} is being deleted: until it is gone, or its tag {DELETING} is {} minutes old",
                    MARK_COUNTS.as_secs() / 60
                );
                hubs.ui.note(&text, &[]);
                gone_or_old(hub, queue, *left)
            })
        });
        join_all(waits).await;
    }
}

/// The wanted queues that may be being deleted, and for how long the mark of each still counts.
fn marked(target: &Target, survey: &Survey) -> BTreeMap<QueueName, Duration> {
    match reconcile(survey, target) {
        Err(Blocked::BeingDeleted(queues)) => queues,
        _ => BTreeMap::new(),
    }
}

/// Waits until a queue is gone, or its mark is old. If the queue cannot be read, the next survey says so.
async fn gone_or_old(hub: &ConnectedHub, queue: &QueueName, left: Duration) {
    let queue = ResourceId::Queue(queue.clone());
    let gone = async {
        if hub.cloud.gone(&queue, Waiting::unattended()).await.is_err() {
            pending().await
        }
    };
    let _ = timeout(left, gone).await;
}
