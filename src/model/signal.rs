//! The kinds of event that the hub receives: one table for the rules, the router, the self-test and every sample.
//!
//! Source of the kinds: `pkg/controllers/interruption/messages` of aws/karpenter-provider-aws. Its parsers are keyed on
//! exactly (`version`, `source`, `detail-type`), and it deletes events that it does not know.

use serde_json::{Value, json};

use crate::model::{AccountId, Document, Scope, fill_template};

/// The `source` of a probe event. AWS rejects custom events whose source begins with `aws.`.
pub const PROBE_SOURCE: &str = "kibus.probe";
/// The `detail-type` of a probe event.
pub const PROBE_DETAIL_TYPE: &str = "Kibus Probe";
/// The `detail-type` of a heartbeat: an event with the same source, which a schedule sends to the hub queue.
pub const HEARTBEAT_DETAIL_TYPE: &str = "Kibus Heartbeat";

/// The distinguishing word of a slug: `state` for `instance-state-change`.
pub fn short_name(slug: &str) -> &str {
    let mut words = slug.split('-');
    words.find(|word| !["instance", "capacity"].contains(word)).unwrap_or(slug)
}

/// Where an event names its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectMember {
    /// `detail.instance-id` names one instance.
    Instance,
    /// `detail.affectedEntities` names any number of instances.
    Entities,
    /// `detail.cluster` names a cluster, or is missing.
    Cluster,
    /// Nowhere: its subject is the bus itself.
    Bus,
}

/// A member of an event's detail, and the values that Karpenter acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetailFilter {
    pub member: &'static str,
    pub values: &'static [&'static str],
    /// Whether Karpenter ignores case in it.
    pub any_case: bool,
}

impl DetailFilter {
    /// The value that Karpenter acts on, as AWS writes it.
    pub fn accepted(&self, value: &str) -> Option<&'static str> {
        let is_value = |known: &&str| *known == value || self.any_case && known.eq_ignore_ascii_case(value);
        self.values.iter().copied().find(is_value)
    }
}

/// Declares the columns of the table: the members of a row, each with the method of `Signal` that reads it.
macro_rules! columns {
    ($($(#[$doc:meta])* $vis:vis $column:ident: $type:ty,)*) => {
        struct Facts { $($column: $type,)* }

        impl Signal {
            $($(#[$doc])* $vis fn $column(self) -> $type { self.facts().$column })*
        }
    };
}

columns! {
    /// The suffix of its rule's name.
    pub slug: &'static str,
    pub description: &'static str,
    /// The pattern of its rule, as a template.
    template: &'static str,
    pub source: &'static str,
    /// Every `detail-type` of its events: the one that Karpenter knows, then older names.
    pub detail_types: &'static [&'static str],
    /// What a detail must contain for Karpenter to act on it.
    pub filters: &'static [DetailFilter],
    /// Where its events name their subject.
    pub subject: SubjectMember,
    /// Whether the router retries an event once when it does not see the tags of the instance or the queue of the cluster.
    pub is_urgent: bool,
    /// Other members of the detail of a sample event.
    sample_members: &'static [(&'static str, &'static str)],
}

macro_rules! signals {
    ($($(#[$doc:meta])* $variant:ident = $facts:expr;)*) => {
        /// A kind of event that a rule of the hub matches.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Signal { $($(#[$doc])* $variant,)* }

        impl Signal {
            /// Every signal.
            pub const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];

            const fn facts(self) -> Facts {
                match self { $(Self::$variant => $facts,)* }
            }
        }
    };
}

signals! {
    /// Spot reclaims an instance in two minutes.
    SpotInterruption = Facts {
        slug: "spot-interruption",
        description: "Kibus: Spot interruption warnings",
        template: include_str!("../../templates/patterns/spot-interruption.json"),
        source: "aws.ec2",
        detail_types: &["EC2 Spot Instance Interruption Warning"],
        filters: &[],
        subject: SubjectMember::Instance,
        is_urgent: true,
        sample_members: &[("instance-action", "terminate")],
    };
    /// An instance is stopping, stopped, shutting down or terminated.
    StateChange = Facts {
        slug: "instance-state-change",
        description: "Kibus: instances that stop or terminate",
        template: include_str!("../../templates/patterns/instance-state-change.json"),
        source: "aws.ec2",
        detail_types: &["EC2 Instance State-change Notification"],
        filters: &[DetailFilter {
            member: "state",
            values: &["stopping", "stopped", "shutting-down", "terminated"],
            any_case: true,
        }],
        subject: SubjectMember::Instance,
        is_urgent: false,
        sample_members: &[],
    };
    /// AWS Health announces a change of instances.
    ScheduledChange = Facts {
        slug: "scheduled-change",
        description: "Kibus: scheduled changes of instances, from AWS Health",
        template: include_str!("../../templates/patterns/scheduled-change.json"),
        source: "aws.health",
        detail_types: &["AWS Health Event"],
        filters: &[
            DetailFilter { member: "service", values: &["EC2"], any_case: false },
            DetailFilter { member: "eventTypeCategory", values: &["scheduledChange"], any_case: false },
        ],
        subject: SubjectMember::Entities,
        is_urgent: true,
        sample_members: &[
            ("eventTypeCode", "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"),
            ("eventScopeCode", "ACCOUNT_SPECIFIC"),
            ("statusCode", "upcoming"),
            ("page", "1"),
            ("totalPages", "1"),
            ("backupEvent", "false"),
        ],
    };
    /// EC2 reclaims an interruptible capacity reservation (Karpenter v1.10.0 and later).
    CapacityReservation = Facts {
        slug: "capacity-reservation-interruption",
        description: "Kibus: interruptions of capacity reservations",
        template: include_str!("../../templates/patterns/capacity-reservation-interruption.json"),
        source: "aws.ec2",
        detail_types: &[
            "EC2 Capacity Reservation Instance Interruption Warning",
            "EC2 Interruptible Capacity Reservation Instance Interruption Warning",
        ],
        filters: &[],
        subject: SubjectMember::Instance,
        is_urgent: true,
        sample_members: &[("instance-action", "terminate")],
    };
    /// An instance has a higher risk of interruption; Karpenter only reports it.
    Rebalance = Facts {
        slug: "rebalance-recommendation",
        description: "Kibus: rebalance recommendations",
        template: include_str!("../../templates/patterns/rebalance-recommendation.json"),
        source: "aws.ec2",
        detail_types: &["EC2 Instance Rebalance Recommendation"],
        filters: &[],
        subject: SubjectMember::Instance,
        is_urgent: false,
        sample_members: &[],
    };
    /// Kibus's own event, to check that the bus works.
    Probe = Facts {
        slug: "probe",
        description: "Kibus: probes of the bus itself",
        template: include_str!("../../templates/patterns/probe.json"),
        source: PROBE_SOURCE,
        detail_types: &[PROBE_DETAIL_TYPE],
        filters: &[],
        subject: SubjectMember::Cluster,
        is_urgent: false,
        sample_members: &[],
    };
    /// EventBridge itself sends it every few minutes, to show that the whole path works.
    Heartbeat = Facts {
        slug: "heartbeat",
        description: "Kibus: a sign of life every five minutes",
        template: include_str!("../../templates/patterns/heartbeat.json"),
        source: PROBE_SOURCE,
        detail_types: &[HEARTBEAT_DETAIL_TYPE],
        filters: &[],
        subject: SubjectMember::Bus,
        is_urgent: false,
        sample_members: &[],
    };
}

impl Signal {
    /// The signal of an event with this source and detail-type.
    pub fn from_event(source: &str, detail_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.source() == source && signal.detail_types().contains(&detail_type))
    }

    /// Whether its events are about instances. Probes and heartbeats interrupt nothing.
    pub fn names_instances(self) -> bool {
        matches!(self.subject(), SubjectMember::Instance | SubjectMember::Entities)
    }

    /// The `detail-type` that Karpenter knows.
    pub fn detail_type(self) -> &'static str {
        self.detail_types()[0]
    }

    /// How urgent it is, as shown in log lines and notices.
    pub fn urgency(self) -> &'static str {
        if self.is_urgent() { "urgent" } else { "normal" }
    }

    /// The pattern of its rule, narrowed to what Karpenter acts on and to one account. An event replayed from an
    /// archive has a `replay-name` (EventBridge user guide, "Replaying archived events") and does not match.
    pub fn pattern(self, account: &AccountId) -> Document {
        fill_template(self.template(), &[("account", account.as_str().into())])
    }
}

const SAMPLE_TIME: &str = "2026-11-20T14:02:31Z";

/// An event that Karpenter acts on, in the account and Region of a scope. `about` has instance ids: one, or any number
/// for a signal that names several. For a probe, it has the name of a cluster, or is empty.
pub fn sample_event(scope: &Scope, signal: Signal, about: &[&str]) -> Value {
    let (region, account) = (scope.region.as_str(), scope.account.as_str());
    let (resources, mut detail) = match signal.subject() {
        SubjectMember::Instance => {
            let arn = |id: &&str| scope.arn("ec2", &format!("instance/{id}"));
            let arns: Vec<String> = about.iter().map(arn).collect();
            (json!(arns), json!({"instance-id": about.first()}))
        }
        SubjectMember::Entities => {
            let entities = about.iter().map(|id| json!({"entityValue": id, "status": "PENDING"}));
            let detail = json!({
                "eventRegion": region,
                "affectedAccount": account,
                "affectedEntities": entities.collect::<Vec<_>>(),
            });
            (json!(about), detail)
        }
        SubjectMember::Cluster => {
            let detail = about.first().map_or_else(|| json!({}), |name| json!({"cluster": name}));
            (json!([]), detail)
        }
        SubjectMember::Bus => (json!([]), json!({})),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_and_detail_type_name_one_signal() {
        for signal in Signal::ALL {
            for detail_type in signal.detail_types() {
                assert_eq!(Signal::from_event(signal.source(), detail_type), Some(signal));
            }
        }
        assert_eq!(Signal::from_event("aws.ec2", "AWS Health Event"), None);
        assert_eq!(Signal::from_event("aws.ec2", HEARTBEAT_DETAIL_TYPE), None);
    }

    #[test]
    fn case_matters_only_where_it_matters_to_karpenter() {
        for (signal, value, accepted) in [
            (Signal::StateChange, "stopping", Some("stopping")),
            (Signal::StateChange, "Stopping", Some("stopping")),
            (Signal::StateChange, "running", None),
            (Signal::ScheduledChange, "EC2", Some("EC2")),
            (Signal::ScheduledChange, "ec2", None),
        ] {
            assert_eq!(signal.filters()[0].accepted(value), accepted, "{value}");
        }
    }
}
