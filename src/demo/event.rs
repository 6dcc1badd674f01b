//! The events of the demo, and which clusters must receive each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::account::{DemoAccount, DemoCluster};
use crate::model::name::ClusterName;
use crate::model::signal::{Signal, SubjectMember, sample_event};

/// An event, and what the router must do with it.
pub(crate) struct Sent {
    /// Its name in the table.
    pub(super) what: String,
    /// The event.
    pub(super) event: Value,
    /// The clusters that must receive it, each with the instances in its copy.
    pub(super) to: BTreeMap<ClusterName, Vec<String>>,
    /// If some of it is dropped: the metric of the reason, and the reason in words.
    pub(super) dropped: Option<(&'static str, &'static str)>,
}

impl Sent {
    /// The id that no other event of the demo has.
    pub(super) fn id(&self) -> &str {
        self.event["id"].as_str().unwrap_or_default()
    }
}

/// The events of the demo, of this account and Region.
impl DemoAccount {
    /// One event of every kind that names instances, about one cluster.
    pub(crate) fn of_every_kind(&self, actor: &DemoCluster) -> Vec<Sent> {
        let event = |signal: Signal| {
            let what = format!("{} ({})", signal.slug().replace('-', " "), actor.name);
            Sent {
                to: BTreeMap::from([(actor.name.clone(), vec![actor.instance.clone()])]),
                ..self.unwanted(&what, signal, &[&actor.instance])
            }
        };
        let names_instances = |signal: &Signal| signal.subject() != SubjectMember::Cluster;
        Signal::ALL.into_iter().filter(names_instances).map(event).collect()
    }

    /// A scheduled change that names instances of two clusters, and one without a cluster.
    pub(crate) fn scheduled_change_of_both(&self, one: &DemoCluster, other: &DemoCluster, stranger: &str) -> Sent {
        let about = [one.instance.as_str(), &other.instance, stranger];
        let to = [one, other].map(|actor| (actor.name.clone(), vec![actor.instance.clone()]));
        Sent {
            to: BTreeMap::from(to),
            dropped: Some(("DroppedNoKarpenterMarker", "one entity: no Karpenter marker")),
            ..self.unwanted("scheduled change of both", Signal::ScheduledChange, &about)
        }
    }

    /// A state that Karpenter does not act on.
    pub(crate) fn starting(&self, actor: &DemoCluster) -> Sent {
        let what = format!("state change to running ({})", actor.name);
        let mut sent = self.unwanted(&what, Signal::StateChange, &[&actor.instance]);
        sent.event["detail"]["state"] = json!("running");
        sent.dropped = Some(("DroppedNotForKarpenter", "not for Karpenter"));
        sent
    }

    /// A probe that names a cluster: anyone may put one on the event bus, and no cluster receives it.
    pub(crate) fn probe_of(&self, actor: &DemoCluster) -> Sent {
        let what = format!("probe ({})", actor.name);
        Sent {
            dropped: Some(("DroppedNotForKarpenter", "not for Karpenter")),
            ..self.unwanted(&what, Signal::Probe, &[actor.name.as_str()])
        }
    }

    /// An interruption of an instance that no Karpenter launched.
    pub(crate) fn of_nobody(&self, stranger: &str) -> Sent {
        Sent {
            dropped: Some(("DroppedNoKarpenterMarker", "no Karpenter marker")),
            ..self.unwanted("spot interruption (no cluster)", Signal::SpotInterruption, &[stranger])
        }
    }

    /// An event that no cluster receives.
    fn unwanted(&self, what: &str, signal: Signal, about: &[&str]) -> Sent {
        let mut event = sample_event(&self.scope, signal, about);
        event["id"] = json!(what.replace([' ', '(', ')'], "-"));
        Sent {
            what: what.to_owned(),
            event,
            to: BTreeMap::new(),
            dropped: None,
        }
    }
}
