//! The wait for queues that another run is deleting, or was deleting when it ended. It comes before the plan: what to do
//! with such a queue is known only once it is gone or its mark is old. It changes nothing, so a dry run waits too, and
//! Ctrl-C ends it at once.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::{join_all, pending};
use tokio::time::timeout;

use crate::cloud::{FaultKind, Waiting, Write};
use crate::model::name::QueueName;
use crate::model::resource::ResourceId;

/// Waits until each of these queues is gone, or its mark is old, which it is in this time. If a queue cannot be read, the
/// next survey says so.
pub async fn gone_or_old(cloud: &impl Write, queues: BTreeMap<QueueName, Duration>) {
    let waits = queues.into_iter().map(async |(queue, left)| {
        let queue = ResourceId::Queue(queue);
        let gone = async {
            match cloud.gone(&queue, Waiting::unattended()).await {
                // Another run has created it again.
                Err(fault) if fault.kind != FaultKind::Exists => pending().await,
                _ => {}
            }
        };
        let _ = timeout(left, gone).await;
    });
    join_all(waits).await;
}
