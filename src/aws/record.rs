//! Records of clusters, in parameters of their own.

use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::sync::oneshot;

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
    let read = || cloud.read_records.answer(action, &name, |names| async move { several(cloud, &names).await });
    let found = cloud.settled(action, WaitReason::RecordUnknown, read).await;
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

type Answer = oneshot::Sender<Result<Option<Record>, Fault>>;

/// Names that wait for the next call: Parameter Store counts calls, and one takes ten names. While a call is on its way, those
/// of the next one gather.
#[derive(Debug, Default)]
pub(super) struct Gathered(Mutex<Waiters>);

#[derive(Debug, Default)]
struct Waiters {
    names: Vec<(ParameterName, Answer)>,
    is_calling: bool,
}

impl Gathered {
    /// Gives what a call for this name, and for others that wait, found of it. The call is made here if none is on its way.
    async fn answer<F>(
        &self,
        action: &str,
        name: &ParameterName,
        call: impl Fn(Vec<ParameterName>) -> F,
    ) -> Result<Option<Record>, Fault>
    where
        F: Future<Output = Result<Vec<Record>, Fault>>,
    {
        let (answer, answered) = oneshot::channel();
        let calls = {
            let mut waiters = locked(&self.0);
            waiters.names.push((name.clone(), answer));
            !std::mem::replace(&mut waiters.is_calling, true)
        };
        while let (true, Some(batch)) = (calls, self.next()) {
            let (names, answers): (Vec<ParameterName>, Vec<Answer>) = batch.into_iter().unzip();
            let found = call(names.clone()).await;
            for (name, answer) in names.iter().zip(answers) {
                let of_name = |found: &Vec<Record>| found.iter().find(|record| record.name == *name).cloned();
                // Whoever waits for it is part of the same command.
                let _ = answer.send(found.as_ref().map(of_name).map_err(Fault::clone));
            }
        }
        answered.await.unwrap_or_else(|_| Err(Fault::new(FaultKind::Rejected, action, "the call was not made")))
    }

    fn next(&self) -> Option<Vec<(ParameterName, Answer)>> {
        let mut waiters = locked(&self.0);
        let count = waiters.names.len().min(AT_ONCE);
        waiters.is_calling = count > 0;
        waiters.is_calling.then(|| waiters.names.drain(..count).collect())
    }
}

/// What is absent counts as deleted.
pub(super) async fn delete(cloud: &Writing<'_>, name: &ParameterName) -> Result<(), Fault> {
    let action = ssm::DELETE_PARAMETERS;
    let call = |names: Vec<ParameterName>| async move {
        let input = json!({ "Names": names });
        cloud.until_seen(action, &[], || send(cloud, action, &input)).await.map(|_| Vec::new())
    };
    cloud.deleted_records.answer(action, name, call).await.map(drop)
}
