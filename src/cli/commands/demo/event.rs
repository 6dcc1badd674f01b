//! The events of the demo, in the shapes that EC2 and AWS Health document, and who should receive each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::stage::DemoCluster;
use crate::model::name::ClusterName;
use crate::model::scope::Scope;
use crate::model::signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE};

/// An event, and what should become of it.
pub(super) struct Sent {
    /// What a person calls it.
    pub(super) what: String,
    /// The event. One without an `id` is put on the event bus, which gives it one.
    pub(super) event: Value,
    /// The clusters that should receive it, each with the instances that its copy should name.
    pub(super) to: BTreeMap<ClusterName, Vec<String>>,
    /// The metric of the reason for which the rest of it is dropped, and that reason in words.
    pub(super) dropped: Option<(&'static str, &'static str)>,
}

impl Sent {
    /// What tells it from all others.
    pub(super) fn id(&self) -> &str {
        self.event["id"].as_str().unwrap_or_default()
    }

    /// Whether it can be put on the event bus. Nobody may do that with an event of AWS's.
    pub(super) fn is_probe(&self) -> bool {
        self.event["source"] == PROBE_SOURCE
    }
}

/// Makes the events of one account and Region.
pub(super) struct Signals<'a> {
    scope: &'a Scope,
}

impl<'a> Signals<'a> {
    pub(super) fn new(scope: &'a Scope) -> Self {
        Self { scope }
    }

    /// One event of every kind that Karpenter knows, and a probe.
    pub(super) fn of_every_kind(&self, actor: &DemoCluster) -> Vec<Sent> {
        let ec2 = |what: &str, detail_type: &str, mut detail: Value| {
            detail["instance-id"] = json!(actor.instance);
            let resources = [format!(
                "arn:aws:ec2:{}a:instance/{}",
                self.scope.region, actor.instance
            )];
            self.sent(what, actor, "aws.ec2", detail_type, &resources, detail)
        };
        let probe = json!({ "cluster": actor.name.as_str() });
        vec![
            ec2(
                "spot interruption",
                "EC2 Spot Instance Interruption Warning",
                json!({ "instance-action": "terminate" }),
            ),
            ec2(
                "state change to stopping",
                "EC2 Instance State-change Notification",
                json!({ "state": "stopping" }),
            ),
            ec2(
                "capacity reservation interruption",
                "EC2 Capacity Reservation Instance Interruption Warning",
                json!({ "instance-action": "terminate" }),
            ),
            ec2(
                "rebalance recommendation",
                "EC2 Instance Rebalance Recommendation",
                json!({}),
            ),
            self.health("scheduled change", &[(actor, &actor.instance)], &[]),
            self.sent("probe", actor, PROBE_SOURCE, PROBE_DETAIL_TYPE, &[], probe),
        ]
    }

    /// A scheduled change that names instances of two clusters, and one that is nobody's.
    pub(super) fn scheduled_change_of_both(&self, one: &DemoCluster, other: &DemoCluster, stranger: &str) -> Sent {
        let actors = [(one, &one.instance), (other, &other.instance)];
        Sent {
            dropped: Some(("DroppedNoKarpenterMarker", "one entity: no Karpenter marker")),
            ..self.health("scheduled change of both", &actors, &[stranger])
        }
    }

    /// A state that Karpenter does nothing about.
    pub(super) fn starting(&self, actor: &DemoCluster) -> Sent {
        let detail = json!({ "instance-id": actor.instance, "state": "running" });
        let sent = self.sent(
            "state change to running",
            actor,
            "aws.ec2",
            "EC2 Instance State-change Notification",
            &[],
            detail,
        );
        Sent {
            to: BTreeMap::new(),
            dropped: Some(("DroppedNotForKarpenter", "not for Karpenter")),
            ..sent
        }
    }

    /// An interruption of an instance that no Karpenter launched.
    pub(super) fn of_nobody(&self, stranger: &str) -> Sent {
        let detail = json!({ "instance-id": stranger, "instance-action": "terminate" });
        let event = self.event(
            "of-nobody",
            "aws.ec2",
            "EC2 Spot Instance Interruption Warning",
            &[],
            detail,
        );
        Sent {
            what: "spot interruption (no cluster's)".to_owned(),
            event,
            to: BTreeMap::new(),
            dropped: Some(("DroppedNoKarpenterMarker", "no Karpenter marker")),
        }
    }

    fn health(&self, what: &str, actors: &[(&DemoCluster, &String)], others: &[&str]) -> Sent {
        let instances: Vec<String> = actors
            .iter()
            .map(|(_, id)| (*id).clone())
            .chain(others.iter().map(|id| (*id).to_owned()))
            .collect();
        let entities: Vec<Value> = instances
            .iter()
            .map(|id| json!({ "entityValue": id, "status": "PENDING" }))
            .collect();
        let detail = json!({
            "service": "EC2",
            "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
            "eventTypeCategory": "scheduledChange",
            "eventScopeCode": "ACCOUNT_SPECIFIC",
            "statusCode": "upcoming",
            "eventRegion": self.scope.region.as_str(),
            "affectedAccount": self.scope.account.as_str(),
            "affectedEntities": entities,
            "page": "1",
            "totalPages": "1",
            "backupEvent": "false",
        });
        let names: Vec<&str> = actors.iter().map(|(actor, _)| actor.name.as_str()).collect();
        let id = format!("{what}-{}", names.join("-")).replace(' ', "-");
        Sent {
            what: if names.len() == 1 {
                format!("{what} ({})", names[0])
            } else {
                what.to_owned()
            },
            event: self.event(&id, "aws.health", "AWS Health Event", &instances, detail),
            to: actors
                .iter()
                .map(|(actor, id)| (actor.name.clone(), vec![(*id).clone()]))
                .collect(),
            dropped: None,
        }
    }

    fn sent(
        &self,
        what: &str,
        actor: &DemoCluster,
        source: &str,
        detail_type: &str,
        resources: &[String],
        detail: Value,
    ) -> Sent {
        let id = format!("{what}-{}", actor.name).replace(' ', "-");
        Sent {
            what: format!("{what} ({})", actor.name),
            event: self.event(&id, source, detail_type, resources, detail),
            to: BTreeMap::from([(actor.name.clone(), vec![actor.instance.clone()])]),
            dropped: None,
        }
    }

    fn event(&self, id: &str, source: &str, detail_type: &str, resources: &[String], detail: Value) -> Value {
        json!({
            "version": "0",
            "id": id,
            "detail-type": detail_type,
            "source": source,
            "account": self.scope.account.as_str(),
            "time": "2026-11-20T14:02:31Z",
            "region": self.scope.region.as_str(),
            "resources": resources,
            "detail": detail,
        })
    }
}
