//! What the tagging API does.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::observation::{Seen, Unseen};
use super::run::Run;
use super::sqs::{self, seconds};

/// How long the tagging API is asked, in seconds.
const LEARNED: u32 = 180;

/// T1 and P13: how long GetResources misses a new queue, and lists a deleted one.
pub(super) async fn late(run: &Run) -> Result<Vec<Seen>, Unseen> {
    let url = sqs::create(run, "learned").await?;
    let tags = HashMap::from([("kibus-rt-learned".to_owned(), run.bus.clone())]);
    run.sqs.tag_queue().queue_url(&url).set_tags(Some(tags)).send().await?;
    let is_listed = async || {
        let filter = json!({ "Key": "kibus-rt-learned", "Values": [run.bus] });
        let found = run.tagging.call::<Value>("GetResources", json!({ "TagFilters": [filter] }));
        let found = found.await?;
        let listed = found["ResourceTagMappingList"].as_array();
        Ok::<_, Unseen>(listed.is_some_and(|listed| !listed.is_empty()))
    };
    let listed = run.until(LEARNED, async || is_listed().await.unwrap_or(false).then_some(())).await;
    run.sqs.delete_queue().queue_url(&url).send().await?;
    let gone = run.until(LEARNED, async || (!is_listed().await.unwrap_or(true)).then_some(())).await;
    let late = format!(
        "GetResources lists a queue {} after TagQueue, and no longer {} after DeleteQueue",
        seconds(listed.map(|listed| listed.1), LEARNED),
        seconds(gone.map(|gone| gone.1), LEARNED)
    );
    Ok(vec![Ok(late.clone()), Ok(late)])
}
