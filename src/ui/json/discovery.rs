//! The member that `discover` adds to the document.

use super::hint::HintObject;
use super::object::{objects, words};
use crate::discover::{Discovery, FoundQueue, FoundRule, Origin, Reader, Verdict};
use crate::model::name::ClusterName;

objects! {
    /// What other tools set up on the default event bus for Karpenter.
    DiscoveryObject<'a>(
        Discovery {
            rules, limit, own, queues, elsewhere, moves,
            unread: _, // the document has an error then
            unmeasured: _, // a warning
        } in &'a Discovery
    ) {
        /// The number of rules of the default event bus, whoever created them.
        rules: usize = *rules,
        /// The number of rules that a bus may have by default.
        rule_limit: usize = *limit,
        /// The number of rules of kibus for Karpenter's events among them.
        rules_of_kibus: usize = *own,
        /// The queues that receive Karpenter's events from other rules.
        queues: Vec<DiscoveredQueueObject<'a>> = queues.iter().map(DiscoveredQueueObject::of).collect(),
        /// Rules that match Karpenter's events and send them to no queue of this account and Region.
        rules_elsewhere: Vec<DiscoveredRuleObject<'a>> = elsewhere.iter().map(DiscoveredRuleObject::of).collect(),
        /// The commands that move the clusters to the bus, in this order.
        moves: Vec<HintObject<'a>> = moves.iter().map(HintObject::of).collect(),
    }

    /// A queue that receives Karpenter's events.
    DiscoveredQueueObject<'a>(queue in &'a FoundQueue) {
        name: &'a str = queue.name.as_str(),
        /// Its cluster. Null if neither a tag nor a usual name tells.
        cluster: Option<&'a str> = queue.cluster.as_ref().map(ClusterName::as_str),
        /// Whether this cluster is registered on the bus.
        registered: bool = queue.is_registered,
        made_by: ToolWord = ToolWord::of(queue.origin),
        reader: ReaderWord = ReaderWord::of(&queue.reader),
        /// What may be wrong with the reader of the queue. Null if nothing is.
        warning: Option<String> = queue.warning(),
        /// The number of messages that were sent to it in the last day. Null if it is unknown.
        messages_sent: Option<u64> = queue.sent,
        rules: Vec<DiscoveredRuleObject<'a>> = queue.rules.iter().map(DiscoveredRuleObject::of).collect(),
        /// How to remove the rules that are replaced, for each tool that created some. Rules that queues share are among those
        /// of the first.
        removals: Vec<HintObject<'a>> = queue.removals.iter().map(|removal| HintObject::of(&removal.way)).collect(),
    }

    /// A rule that matches Karpenter's events.
    DiscoveredRuleObject<'a>(FoundRule { name, signals, enabled, verdict } in &'a FoundRule) {
        name: &'a str = name.as_str(),
        /// Karpenter's events that it matches, each by the name of the rule of kibus.
        events: Vec<&'static str> = signals.iter().map(|signal| signal.slug()).collect(),
        enabled: bool = *enabled,
        verdict: VerdictWord = VerdictWord::of(verdict),
        /// Why it stays. Null if the hub replaces it.
        reason: Option<String> = match verdict {
            Verdict::Replace => None,
            Verdict::Keep(reason) => Some(reason.to_string()),
        },
    }
}

words! {
    /// What to do with a rule once its cluster is on the bus.
    VerdictWord(&Verdict) {
        /// The hub receives the same events.
        Replace = Verdict::Replace,
        /// It has another use, or may have one.
        Keep = Verdict::Keep(_),
    }

    /// What is known of the reader of a queue.
    ReaderWord(&Reader) {
        /// Something reads it.
        Reads = Reader::Reads,
        /// Something received in the last day, but deleted nothing and did not poll for hours, as a running Karpenter does.
        Seldom = Reader::Seldom(_),
        /// Nothing has read it in the last day.
        Nothing = Reader::Nothing,
        /// Messages waited for a minute, and none was received.
        Waiting = Reader::Waiting(_),
        /// The queue does not exist.
        NoQueue = Reader::NoQueue,
        /// There is no evidence.
        Unknown = Reader::Unknown(_),
    }

    /// The tool that created the rules of a queue.
    ToolWord(Origin) {
        /// The CloudFormation template of Karpenter's getting-started guide.
        CloudFormation = Origin::CloudFormation,
        Eksctl = Origin::Eksctl,
        CdkEksKarpenter = Origin::CdkEksKarpenter,
        CdkEksBlueprints = Origin::CdkEksBlueprints,
        TerraformAwsEks = Origin::TerraformAwsEks,
        EksBlueprintsAddons = Origin::EksBlueprintsAddons,
        CloudPosse = Origin::CloudPosse,
        /// The commands of a guide, without a tool.
        ByHand = Origin::ByHand,
        /// The node termination handler of AWS, which is not Karpenter.
        NodeTerminationHandler = Origin::NodeTerminationHandler,
        /// Another hub that routes events.
        OtherHub = Origin::OtherHub,
        Unknown = Origin::Unknown,
    }
}
