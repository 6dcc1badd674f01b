//! Records of clusters, in parameters of their own.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::error::rejected;
use super::parameter::{put_new, put_over, send};
use super::wait::WaitReason;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, locked, taken};
use crate::cloud::{Fault, FaultKind};
use crate::model::{BadDocument, ClusterName, ClusterRecord, ParameterName, Record, RecordField, Tags, calls::ssm};

/// How many names one call takes (Systems Manager API reference, `GetParameters` and `DeleteParameters`).
pub(super) const AT_ONCE: usize = 10;

const PUT: &str = ssm::PUT_PARAMETER;

pub(super) async fn read(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Record>, Fault> {
    Ok(several(cloud, std::slice::from_ref(name)).await?.pop())
}

/// Those of these records that exist; at most [`AT_ONCE`].
pub(super) async fn several(cloud: &AwsCloud, names: &[ParameterName]) -> Result<Vec<Record>, Fault> {
    let mut answer: Value = cloud.json(&cloud.ssm, ssm::GET_PARAMETERS, json!({ "Names": names })).await?;
    let (found, _) = taken(answer.take(), ["Parameters", ""]);
    Ok(found.into_iter().flatten().filter_map(|found| described(cloud, &found)).collect())
}

/// A page of all records of the bus, and the token of the next one. A page may be empty and have one.
pub(super) async fn page(cloud: &AwsCloud, token: Option<String>) -> Result<(Vec<Record>, Option<String>), Fault> {
    let input = json!({ "Path": cloud.scope.records_path(), "NextToken": token });
    let answer: Value = cloud.json(&cloud.ssm, ssm::GET_PARAMETERS_BY_PATH, input).await?;
    let (found, next) = taken(answer, ["Parameters", "NextToken"]);
    let records = found.into_iter().flatten().filter_map(|found| described(cloud, &found));
    Ok((records.collect(), next.filter(|token| !token.is_empty())))
}

fn described(cloud: &AwsCloud, found: &Value) -> Option<Record> {
    let name: ParameterName = found["Name"].as_str()?.parse().ok()?;
    let text = found["Value"].as_str().unwrap_or_default();
    let content = match cloud.scope.cluster_of_record(name.as_str()) {
        Some(cluster) => ClusterRecord::from_document(text, &cluster),
        None => Err(BadDocument::Damaged("its name is not that of a cluster".to_owned())),
    };
    Some(Record { name, content, version: found["Version"].as_u64().unwrap_or_default(), tags_of_new: Tags::default() })
}

/// Fails if the record of a cluster is gone: another run has removed the cluster meanwhile, and this one has made or repaired
/// something without a record. A record that this run has just written may be read as absent.
pub(super) async fn remains(cloud: &Writing<'_>, cluster: &ClusterName) -> Result<(), Fault> {
    let (action, name) = (ssm::GET_PARAMETERS, cloud.scope.record_parameter(cluster));
    let found = cloud.settled(action, WaitReason::RecordUnknown, || read(cloud, &name)).await;
    found.map(drop).map_err(|fault| match fault.kind {
        FaultKind::Unsettled => {
            let message = format!(
                "another run has removed cluster `{cluster}` meanwhile, so what was written has no record; `{}` records it again",
                cloud.scope.kibus(format!("add-cluster {cluster} --adopt"))
            );
            Fault { kind: FaultKind::Changed, message, ..fault }
        }
        _ => fault,
    })
}

pub(super) async fn create(cloud: &Writing<'_>, record: &Record) -> Result<(), Fault> {
    put_new(cloud, &record.name, document(record)?, &record.tags_of_new).await
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Record>) -> Result<(), Fault> {
    let Changes { fields: _, tags: _ } = Changes::<RecordField>::among(PUT, update.fields)?;
    put_over(cloud, &update.to.name, document(update.to)?, update.from.version).await
}

fn document(record: &Record) -> Result<String, Fault> {
    let content = record.content.as_ref().map_err(|bad| rejected(PUT, bad.to_string()))?;
    Ok(content.document())
}

type Answer = oneshot::Sender<Result<(), Fault>>;

/// Deletes that wait for the next call: Parameter Store counts calls, and one takes ten names.
#[derive(Debug, Default)]
pub(super) struct Deletes(Mutex<Vec<(ParameterName, Answer)>>);

/// How long the first delete of a call waits for others.
const GATHER: Duration = Duration::from_millis(50);

pub(super) async fn delete(cloud: &Writing<'_>, name: &ParameterName) -> Result<(), Fault> {
    let (answer, answered) = oneshot::channel();
    let is_first = {
        let mut waiting = locked(&cloud.deletes.0);
        waiting.push((name.clone(), answer));
        waiting.len() == 1
    };
    if is_first {
        sleep(GATHER).await;
        delete_waiting(cloud).await;
    }
    let lost = || Fault::new(FaultKind::Rejected, ssm::DELETE_PARAMETERS, "the delete was not sent");
    answered.await.unwrap_or_else(|_| Err(lost()))
}

/// Makes the calls for all deletes that wait. What is absent counts as deleted.
async fn delete_waiting(cloud: &Writing<'_>) {
    loop {
        let batch: Vec<(ParameterName, Answer)> = {
            let mut waiting = locked(&cloud.deletes.0);
            let count = waiting.len().min(AT_ONCE);
            waiting.drain(..count).collect()
        };
        if batch.is_empty() {
            return;
        }
        let names: Vec<&ParameterName> = batch.iter().map(|(name, _)| name).collect();
        let (action, input) = (ssm::DELETE_PARAMETERS, json!({ "Names": names }));
        let result = cloud.until_seen(action, &[], || send(cloud, action, &input)).await;
        for (_, answer) in batch {
            // Whoever waits for it is part of the same command.
            let _ = answer.send(result.clone());
        }
    }
}
