//! Records of clusters, each in its own parameter.

use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::error::rejected;
use super::parameter::{put_new, put_over, send};
use super::wait::WaitReason;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, locked, taken, was_answered};
use crate::cloud::{Fault, FaultKind};
use crate::model::{
    BadDocument, ClusterName, ClusterRecord, ParameterName, Record, RecordField, ResourceId, Tags, calls::ssm,
};

/// How many names one call accepts (Systems Manager API reference, `GetParameters` and `DeleteParameters`).
pub(super) const AT_ONCE: usize = 10;

const PUT: &str = ssm::PUT_PARAMETER;

pub(super) async fn read(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Record>, Fault> {
    Ok(several(cloud, std::slice::from_ref(name)).await?.pop())
}

/// The existing ones of these records; at most [`AT_ONCE`].
pub(super) async fn several(cloud: &AwsCloud, names: &[ParameterName]) -> Result<Vec<Record>, Fault> {
    let mut answer: Value = cloud.json(&cloud.ssm, ssm::GET_PARAMETERS, json!({ "Names": names })).await?;
    let (found, _) = taken(answer.take(), ["Parameters", ""]);
    Ok(found.into_iter().flatten().filter_map(|found| described(cloud, &found)).collect())
}

/// A page of all records of the bus, and the token of the next one. A page can be empty and still have a token.
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
        None => Err(BadDocument::Damaged("its name is not a cluster name".to_owned())),
    };
    Some(Record { name, content, version: found["Version"].as_u64().unwrap_or_default(), tags_of_new: Tags::default() })
}

/// Fails if the record of a cluster is gone: another run has removed the cluster, and this run has created or repaired
/// a resource without a record. A record that this run has just written counts as existing, because a read may still
/// miss it.
pub(super) async fn remains(cloud: &Writing<'_>, cluster: &ClusterName) -> Result<(), Fault> {
    let (action, name) = (ssm::GET_PARAMETERS, cloud.scope.record_parameter(cluster));
    if was_answered(cloud, &ResourceId::Record(name.clone())) {
        return Ok(());
    }
    let read = || cloud.read_records.answer(action, &name, |names| async move { several(cloud, &names).await });
    let found = cloud.settled(action, WaitReason::RecordUnknown, read).await;
    found.map(drop).map_err(|fault| match fault.kind {
        FaultKind::Unsettled => {
            let message = format!(
                "another run has just removed cluster `{cluster}`, so the resource just written has no record; `{}` records it again",
                cloud.scope.kibus(format!("add-cluster {cluster} --adopt"))
            );
            Fault { kind: FaultKind::Changed, message, ..fault }
        }
        _ => fault,
    })
}

pub(super) async fn create(cloud: &Writing<'_>, record: &Record) -> Result<(), Fault> {
    put_new(cloud, &record.name, document(record)?, &record.tags_of_new).await?;
    written(cloud, record);
    Ok(())
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Record>) -> Result<(), Fault> {
    let Changes { fields: _, tags: _ } = Changes::<RecordField>::among(PUT, update.fields)?;
    put_over(cloud, &update.to.name, document(update.to)?, update.from.version).await?;
    written(cloud, update.to);
    Ok(())
}

fn written(cloud: &AwsCloud, record: &Record) {
    locked(&cloud.answered).insert(ResourceId::Record(record.name.clone()), Instant::now());
}

fn document(record: &Record) -> Result<String, Fault> {
    let content = record.content.as_ref().map_err(|bad| rejected(PUT, bad.to_string()))?;
    Ok(content.document())
}

type Answer = oneshot::Sender<Result<Option<Record>, Fault>>;

/// Names that wait for the next call: Parameter Store limits calls, and one call accepts ten names. While a call is in
/// progress, or waits for the rate limit, names for the next call accumulate.
#[derive(Debug, Default)]
pub(super) struct Gathered(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    names: Vec<(ParameterName, Answer)>,
    is_calling: bool,
}

impl Gathered {
    /// Returns what a call for this name, and for others that wait, found about it. A caller that finds no call in
    /// progress makes the calls for all names that arrive in the meantime.
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
            let mut waiting = locked(&self.0);
            waiting.names.push((name.clone(), answer));
            !std::mem::replace(&mut waiting.is_calling, true)
        };
        while let Some(batch) = calls.then(|| self.next()).flatten() {
            let (names, answers): (Vec<ParameterName>, Vec<Answer>) = batch.into_iter().unzip();
            let found = call(names.clone()).await;
            for (name, answer) in names.iter().zip(answers) {
                let of_name = |found: &Vec<Record>| found.iter().find(|record| record.name == *name).cloned();
                // Everything that waits for it is part of the same command.
                let _ = answer.send(found.as_ref().map(of_name).map_err(Fault::clone));
            }
        }
        answered.await.unwrap_or_else(|_| Err(Fault::new(FaultKind::Rejected, action, "the call was never made")))
    }

    fn next(&self) -> Option<Vec<(ParameterName, Answer)>> {
        let mut waiting = locked(&self.0);
        let count = waiting.names.len().min(AT_ONCE);
        waiting.is_calling = count > 0;
        waiting.is_calling.then(|| waiting.names.drain(..count).collect())
    }
}

/// A missing record counts as deleted.
pub(super) async fn delete(cloud: &Writing<'_>, name: &ParameterName) -> Result<(), Fault> {
    let action = ssm::DELETE_PARAMETERS;
    let call = |names: Vec<ParameterName>| async move {
        let input = json!({ "Names": names });
        cloud.until_seen(action, &[], || send(cloud, action, &input)).await.map(|_| Vec::new())
    };
    cloud.deleted_records.answer(action, name, call).await.map(drop)
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::task::yield_now;

    use super::*;
    use crate::model::scope::tests::scope;

    #[tokio::test]
    async fn names_gather_while_a_call_is_on_its_way() {
        let (gathered, scope, calls) = (Gathered::default(), scope(), Mutex::new(Vec::new()));
        let names = (0..23).map(|number| scope.record_parameter(&format!("c{number}").parse().unwrap()));
        let names: Vec<ParameterName> = names.collect();
        let call = |asked: Vec<ParameterName>| {
            locked(&calls).push(asked.len());
            let record = |name| {
                let content = Err(BadDocument::Damaged(String::new()));
                Record { name, content, version: 1, tags_of_new: Tags::default() }
            };
            // The first name of each call is absent.
            async move {
                yield_now().await;
                Ok(asked.into_iter().skip(1).map(record).collect())
            }
        };
        let answers = join_all(names.iter().map(|name| gathered.answer(ssm::GET_PARAMETERS, name, call))).await;
        let absent: Vec<usize> = (0..names.len()).filter(|at| answers[*at] == Ok(None)).collect();
        assert_eq!(*locked(&calls), [1, 10, 10, 2]);
        assert_eq!(absent, [0, 1, 11, 21]);
        for (name, answer) in names.iter().zip(&answers) {
            assert!(answer.as_ref().unwrap().as_ref().is_none_or(|record| record.name == *name), "{name}: {answer:?}");
        }
    }
}
