//! What can become of something that arrived. There is no fourth way.

/// The end of one thing that arrived: a message, or one entity of a message that names several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is in its cluster's queue.
    Delivered,
    /// No cluster can want it, or none that is known.
    Dropped(Drop),
    /// Its message goes back to the hub queue, and in the end to the dead-letter queue.
    GivenBack(GiveBack),
}

macro_rules! reasons {
    ($(#[$outer:meta])* $name:ident, $metric:literal { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The reason as logs have it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The metric that counts it.
            #[must_use]
            pub fn metric(self) -> &'static str {
                match self { $(Self::$variant => concat!($metric, stringify!($variant)),)* }
            }
        }
    };
}

reasons! {
    /// Why something is delivered to nobody.
    Drop, "Dropped" {
        /// The message is no EventBridge event: no JSON object, or without source, detail-type or detail.
        NotAnEvent = "not an event",
        /// A kind of event, or a state or a service, that Karpenter does nothing about.
        NotForKarpenter = "not for Karpenter",
        /// The event, or the entity, is about another account.
        OtherAccount = "other account",
        /// The event, or the entity, is about another Region: a backup copy of AWS Health.
        OtherRegion = "other Region",
        /// The event, or the entity, names no instance.
        NoInstance = "no instance",
        /// The instance was not launched by a Karpenter.
        NoKarpenterMarker = "no Karpenter marker",
        /// The instance is one of EKS Auto Mode, which looks after it.
        AutoMode = "auto-mode",
        /// EC2 knows no tags of the instance. Tags go soon after an instance does.
        NoTagsSeen = "no tags seen",
        /// A Karpenter launched the instance, and two clusters own it.
        AmbiguousCluster = "ambiguous cluster",
        /// A Karpenter launched the instance, and no tag says for which cluster.
        NoClusterNamed = "no cluster named",
        /// The cluster has no queue.
        Unregistered = "unregistered",
        /// A queue of the name is there, and is not this cluster's on this bus.
        QueueNotOurs = "queue not ours",
        /// The event is larger than a queue takes.
        TooLarge = "too large",
    }
}

impl Drop {
    /// Whether a Karpenter may have wanted it: such a drop is logged, the others are only counted.
    #[must_use]
    pub fn loses(self) -> bool {
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
}

reasons! {
    /// Why a message is tried again later.
    GiveBack, "GivenBack" {
        /// Reading it made the router panic.
        Panicked = "panicked",
        /// The time was over before it had an end.
        OutOfTime = "out of time",
        /// EC2 shows no tags of the instance, for the first time.
        NoTagsYet = "no tags yet",
        /// EC2 had too many calls.
        TagsThrottled = "tags throttled",
        /// EC2 gave no usable answer.
        TagsUnavailable = "tags unavailable",
        /// The router may not read tags, or EC2 refused the call.
        TagsRefused = "tags refused",
        /// SQS had too many calls.
        SendThrottled = "send throttled",
        /// SQS gave no usable answer.
        SendUnavailable = "send unavailable",
        /// SQS refused the message.
        SendRefused = "send refused",
        /// The queue is the cluster's, or it cannot be known whose it is, and the router may not send to it.
        QueueDenied = "queue denied",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../docs/router.md");

    #[test]
    fn every_reason_has_its_line_in_the_reference() {
        let line = |reason: &str, metric: &str| format!("\n| `{reason}` | `{metric}` |");
        for drop in Drop::ALL {
            let logged = if drop.loses() { "yes" } else { "no" };
            let start = format!("{} {logged} |", line(drop.as_str(), drop.metric()));
            assert!(PAGE.contains(&start), "docs/router.md lacks `{}`", start.trim_start());
        }
        for why in GiveBack::ALL {
            let start = line(why.as_str(), why.metric());
            assert!(PAGE.contains(&start), "docs/router.md lacks `{}`", start.trim_start());
        }
    }
}
