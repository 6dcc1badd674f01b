//! Sample events, in the shapes that EC2 and AWS Health document: for the self-test, the demo and the tests.

use serde_json::{Value, json};

use crate::model::scope::Scope;
use crate::model::signal::{Signal, SubjectMember};

/// The `time` of every sample.
const SAMPLE_TIME: &str = "2026-11-20T14:02:31Z";

/// An event that Karpenter acts on, in the account and Region of a scope. `about` has instance ids: one, or any number
/// for a signal that names several. For a probe it has the name of a cluster, or nothing.
pub fn sample_event(scope: &Scope, signal: Signal, about: &[&str]) -> Value {
    let (region, account) = (scope.region.as_str(), scope.account.as_str());
    let (resources, mut detail) = match signal.subject() {
        SubjectMember::Instance => {
            let arn = |id: &&str| scope.arn("ec2", &format!("instance/{id}"));
            let arns: Vec<String> = about.iter().map(arn).collect();
            (json!(arns), json!({"instance-id": about.first()}))
        }
        SubjectMember::Entities => {
            let entities: Vec<Value> = about
                .iter()
                .map(|id| json!({"entityValue": id, "status": "PENDING"}))
                .collect();
            let detail = json!({
                "eventRegion": region,
                "affectedAccount": account,
                "affectedEntities": entities,
            });
            (json!(about), detail)
        }
        SubjectMember::Cluster => {
            let detail = about.first().map_or_else(|| json!({}), |name| json!({"cluster": name}));
            (json!([]), detail)
        }
    };
    for filter in signal.filters() {
        detail[filter.member] = json!(filter.values[0]);
    }
    for (member, value) in signal.sample_members() {
        detail[member] = json!(value);
    }
    json!({
        "version": "0",
        "id": "1e5527d7-bb36-4607-3370-4164db56a40e",
        "detail-type": signal.detail_type(),
        "source": signal.source(),
        "account": account,
        "time": SAMPLE_TIME,
        "region": region,
        "resources": resources,
        "detail": detail,
    })
}
