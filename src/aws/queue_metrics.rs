//! What SQS reports to CloudWatch about queues.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::AwsCloud;
use crate::cloud::{Fault, Read};
use crate::model::name::QueueName;
use crate::model::resource::calls::cloudwatch;
use crate::model::status::QueueActivity;

/// The most queries of one call (CloudWatch API reference, `GetMetricData`).
const QUERIES: usize = 500;
/// The length of the time that is asked about, in seconds.
const DAY: u64 = 86_400;
/// The length of the time of one value, in seconds.
const HOUR: u64 = 3_600;
/// The empty receives of an hour with long polling: at 20 s each there are 180, and fewer if messages arrive.
const POLLED: f64 = 60.0;
/// A metric, and the count that it is.
type Metric = (&'static str, fn(&mut QueueActivity) -> &mut u64);
const EMPTY_RECEIVES: &str = "NumberOfEmptyReceives";
/// The metrics that are read (SQS developer guide, "Available CloudWatch metrics for Amazon SQS").
const METRICS: [Metric; 4] = [
    ("NumberOfMessagesSent", |activity| &mut activity.sent),
    ("NumberOfMessagesReceived", |activity| &mut activity.received),
    (EMPTY_RECEIVES, |activity| &mut activity.empty_receives),
    ("NumberOfMessagesDeleted", |activity| &mut activity.deleted),
];

/// The activity of these queues in the last day. SQS reports every metric of an active queue, also zeros, so a queue that lacks
/// one is not in the answer: no data says nothing.
pub(super) async fn of_last_day(
    cloud: &AwsCloud,
    queues: &BTreeSet<QueueName>,
) -> Result<BTreeMap<QueueName, QueueActivity>, Fault> {
    let queues: Vec<&QueueName> = queues.iter().collect();
    let now = cloud.now();
    let mut found: BTreeMap<QueueName, QueueActivity> = BTreeMap::new();
    let mut reported: BTreeSet<(QueueName, &str)> = BTreeSet::new();
    for queues in queues.chunks(QUERIES / METRICS.len()) {
        let queries: Vec<Value> = queues
            .iter()
            .enumerate()
            .flat_map(|(at, queue)| queries(at, queue))
            .collect();
        let input = json!({ "StartTime": now.saturating_sub(DAY), "EndTime": now, "MetricDataQueries": queries });
        let (action, list) = (cloudwatch::GET_METRIC_DATA, ["MetricDataResults", "NextToken"]);
        for series in cloud.json_pages(&cloud.metrics, action, input, list).await? {
            // An answer of more than one page may repeat an id with further values.
            let values = series["Values"].as_array().into_iter().flatten();
            let values: Vec<f64> = values.filter_map(Value::as_f64).collect();
            let id = series["Id"].as_str().unwrap_or_default();
            let Some(((name, count), queue)) = asked(id, queues).filter(|_| !values.is_empty()) else {
                continue;
            };
            reported.insert((queue.clone(), name));
            let activity = found.entry(queue.clone()).or_default();
            *count(activity) += whole(values.iter().sum());
            if name == EMPTY_RECEIVES {
                activity.polled_hours += values.iter().filter(|receives| **receives >= POLLED).count() as u64;
            }
        }
    }
    found.retain(|queue, _| {
        METRICS
            .iter()
            .all(|(name, _)| reported.contains(&(queue.clone(), *name)))
    });
    Ok(found)
}

/// The queries about a queue, which is the one at this place.
fn queries(at: usize, queue: &QueueName) -> impl Iterator<Item = Value> {
    METRICS.iter().enumerate().map(move |(number, (name, _))| {
        json!({
            "Id": format!("q{at}_{number}"),
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/SQS",
                    "MetricName": name,
                    "Dimensions": [{"Name": "QueueName", "Value": queue.as_str()}],
                },
                "Period": HOUR,
                "Stat": "Sum",
            },
            "ReturnData": true,
        })
    })
}

/// The metric and the queue of a query, by its id.
fn asked<'a>(id: &str, queues: &[&'a QueueName]) -> Option<(Metric, &'a QueueName)> {
    let (at, number) = id.strip_prefix('q')?.split_once('_')?;
    let metric = METRICS.get(number.parse::<usize>().ok()?)?;
    Some((*metric, queues.get(at.parse::<usize>().ok()?)?))
}

/// A sum of counts, as a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion from f64 saturates, and a count is whole and not negative"
)]
fn whole(sum: f64) -> u64 {
    sum.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_of_the_query_with_its_id() {
        let (a, b): (QueueName, QueueName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let queues = [&a, &b];
        let ids: Vec<Value> = queues
            .iter()
            .enumerate()
            .flat_map(|(at, queue)| queries(at, queue))
            .collect();
        assert_eq!(ids.len(), 8);
        for (id, expected) in [
            ("q0_0", Some(("NumberOfMessagesSent", &a))),
            ("q1_2", Some(("NumberOfEmptyReceives", &b))),
            ("q1_4", None),
            ("q2_0", None),
            ("x0_0", None),
            ("q0", None),
        ] {
            let found = asked(id, &queues).map(|((name, _), queue)| (name, queue));
            assert_eq!(found, expected, "{id}");
        }
    }

    #[test]
    fn a_sum_is_a_count() {
        for (sum, count) in [(0.0, 0), (4_320.0, 4_320), (-1.0, 0), (f64::NAN, 0), (1e300, u64::MAX)] {
            assert_eq!(whole(sum), count, "{sum}");
        }
    }
}
