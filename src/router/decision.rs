//! The three decisions about everything that arrives, and their reasons.

use crate::model::router_line::{DELIVERED, DROPPED, RETRIED};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Decision {
    /// Its cluster's queue accepted it.
    Delivered,
    /// No known Karpenter handles it.
    Dropped(DropReason),
    /// Its message returns to the hub queue, and after the last receive to the dead-letter queue.
    Retried(RetryReason),
}

impl Decision {
    /// The decision and its reason, as in log lines and the answer to a redrive.
    pub(super) fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Delivered => (DELIVERED, None),
            Self::Dropped(why) => (DROPPED, Some(why.as_str())),
            Self::Retried(why) => (RETRIED, Some(why.as_str())),
        }
    }
}

macro_rules! reasons {
    ($(#[$outer:meta])* $vis:vis $name:ident, $metric:literal { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            #[cfg(test)]
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The reason as in log lines.
            pub(super) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The metric that counts it.
            pub(super) fn metric(self) -> &'static str {
                match self { $(Self::$variant => concat!($metric, stringify!($variant)),)* }
            }
        }
    };
}

reasons! {
    /// Why something is dropped.
    pub DropReason, "Dropped" {
        /// The message is not an EventBridge event: not a JSON object, or without source, detail-type or detail.
        NotAnEvent = "not an event",
        /// Karpenter does not act on this kind of event, state or service.
        NotForKarpenter = "not for Karpenter",
        OtherAccount = "other account",
        /// The event, or the entity, is about another Region: a backup copy of AWS Health.
        OtherRegion = "other Region",
        NoInstance = "no instance",
        /// The instance has no tag of a Karpenter.
        NoKarpenterMarker = "no Karpenter marker",
        AutoMode = "auto-mode",
        /// EC2 shows no tags of the instance. It deletes tags soon after the instance.
        NoTagsSeen = "no tags seen",
        /// A Karpenter launched the instance, and the tags name two clusters.
        AmbiguousCluster = "ambiguous cluster",
        /// A Karpenter launched the instance, and no tag names the cluster.
        NoClusterNamed = "no cluster named",
        /// The cluster has no queue.
        Unregistered = "unregistered",
        /// The queue exists, but does not belong to this cluster on this bus.
        QueueNotOurs = "queue not ours",
        /// The event is larger than SQS allows.
        TooLarge = "too large",
    }
}

impl DropReason {
    /// Whether a Karpenter may miss the event. Such a drop is logged; other drops are only counted.
    pub(super) fn loses(self) -> bool {
        match self {
            Self::NotForKarpenter
            | Self::OtherAccount
            | Self::OtherRegion
            | Self::NoInstance
            | Self::NoKarpenterMarker
            | Self::AutoMode => false,
            Self::NotAnEvent
            | Self::NoTagsSeen
            | Self::AmbiguousCluster
            | Self::NoClusterNamed
            | Self::Unregistered
            | Self::QueueNotOurs
            | Self::TooLarge => true,
        }
    }

    /// Why an urgent event is retried once before this drop, if AWS may show more seconds later.
    pub(super) fn retried_once(self) -> Option<RetryReason> {
        match self {
            Self::NoTagsSeen => Some(RetryReason::NoTagsYet),
            Self::Unregistered | Self::QueueNotOurs => Some(RetryReason::NoQueueYet),
            Self::NotAnEvent
            | Self::NotForKarpenter
            | Self::OtherAccount
            | Self::OtherRegion
            | Self::NoInstance
            | Self::NoKarpenterMarker
            | Self::AutoMode
            | Self::AmbiguousCluster
            | Self::NoClusterNamed
            | Self::TooLarge => None,
        }
    }
}

reasons! {
    /// Why a message returns to the queue.
    pub(super) RetryReason, "Retried" {
        /// The message came from a queue other than the hub queue.
        OtherQueue = "other queue",
        Panicked = "panicked",
        /// The event has more entities than the router accepts in one event.
        TooManyEntities = "too many entities",
        /// A member that the router reads appears more than once, or with different case.
        AmbiguousEvent = "ambiguous event",
        /// The invocation's time ended before the decision.
        OutOfTime = "out of time",
        /// EC2 shows no tags of the instance, at the first receive.
        NoTagsYet = "no tags yet",
        /// The cluster's queue does not exist or lacks its tags, at the first receive.
        NoQueueYet = "no queue yet",
        TagsThrottled = "tags throttled",
        /// EC2 did not give a usable answer.
        TagsUnavailable = "tags unavailable",
        /// EC2 denied or refused the call.
        TagsRefused = "tags refused",
        SendThrottled = "send throttled",
        /// SQS did not give a usable answer.
        SendUnavailable = "send unavailable",
        SendRefused = "send refused",
        /// The router is not allowed to send to the queue, and the queue belongs to the cluster or its tags are unreadable.
        QueueDenied = "queue denied",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../docs/router.md");

    /// `verify` searches the log for them.
    #[test]
    fn the_drops_of_clusters_that_are_not_on_the_bus_are_known() {
        let reasons = [DropReason::Unregistered, DropReason::QueueNotOurs].map(DropReason::as_str);
        assert_eq!(reasons, crate::model::status::REASONS);
    }

    /// Each reason is in the widget whose title says what it means for a Karpenter, and in no other.
    #[test]
    fn the_dashboard_shows_every_reason_of_a_drop() {
        let dashboard: serde_json::Value =
            serde_json::from_str(include_str!("../../templates/dashboard.json")).unwrap();
        let mut shown = Vec::new();
        for widget in dashboard["widgets"].as_array().unwrap() {
            let properties = &widget["properties"];
            for metric in properties["metrics"].as_array().into_iter().flatten() {
                let (name, label) = (metric[1].as_str().unwrap(), metric[4]["label"].as_str().unwrap());
                if name.starts_with("Dropped") && name != "Dropped" {
                    shown.push([properties["title"].as_str().unwrap(), name, label]);
                }
            }
        }
        shown.sort_unstable();
        let title = |why: &DropReason| {
            if why.loses() {
                "Lost events: dropped, but a Karpenter may need them"
            } else {
                "Ignored events: dropped, and no Karpenter needs them"
            }
        };
        let mut reasons: Vec<_> = DropReason::ALL.iter().map(|why| [title(why), why.metric(), why.as_str()]).collect();
        reasons.sort_unstable();
        assert_eq!(shown, reasons);
    }

    #[test]
    fn every_reason_is_in_the_reference() {
        let line = |reason: &str, metric: &str| format!("\n| `{reason}` | `{metric}` |");
        for reason in DropReason::ALL {
            let logged = if reason.loses() { "yes" } else { "no" };
            let start = format!("{} {logged} |", line(reason.as_str(), reason.metric()));
            assert!(PAGE.contains(&start), "docs/router.md lacks `{}`", start.trim_start());
        }
        for why in RetryReason::ALL {
            let start = line(why.as_str(), why.metric());
            assert!(PAGE.contains(&start), "docs/router.md lacks `{}`", start.trim_start());
        }
    }
}
