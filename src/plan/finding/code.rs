//! The codes of findings. A code never changes its meaning and is never given away again; `docs/findings.md` has a
//! section for each.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $meaning:literal;)*) => {
        /// What kind of finding it is. The hundreds say what family: 1 missing, 2 changed, 3 not ours or too many,
        /// 4 unreadable, 5 traffic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code, which never changes.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// What it means for the events on their way, in one sentence without a full stop.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }
        }
    };
}

codes! {
    /// A queue of the hub is not there.
    HubQueueMissing = "K101", "events have no way through the hub, or no place to go when they cannot be delivered";
    /// The router's role is not there.
    RoleMissing = "K102", "the router cannot run, and events pile up in the hub queue";
    /// The router's role has no policy.
    RouterPolicyMissing = "K103", "the router may do nothing, and events pile up in the hub queue";
    /// The router's log group is not there.
    LogGroupMissing = "K104", "what the router drops, and why, is written nowhere";
    /// The router is not there.
    FunctionMissing = "K105", "nothing routes events, and they pile up in the hub queue";
    /// The alias that the mapping invokes is not there.
    AliasMissing = "K106", "nothing routes events, and they pile up in the hub queue";
    /// Nothing reads the hub queue.
    MappingMissing = "K107", "nothing reads the hub queue, and events pile up in it";
    /// A rule is not there.
    RuleMissing = "K108", "events of this kind reach no cluster at all";
    /// A cluster that was asked about is not registered.
    ClusterNotRegistered = "K110", "its events are dropped, and its Karpenter hears of no interruption";
    /// A controller role has lost the policy for its queue.
    ControllerPolicyMissing = "K111", "this Karpenter cannot read its queue, and hears of no interruption";
    /// A queue of the hub is not as it should be.
    HubQueueChanged = "K201", "events may be refused, lost early, or readable by others";
    /// The router's role is not as it should be.
    RoleChanged = "K202", "the router may not be able to run, or others may run as it";
    /// The router may do something else than it should.
    RouterPolicyChanged = "K203", "the router may fail to deliver, or may do more than it should";
    /// The router's log group is not as it should be.
    LogGroupChanged = "K204", "the router's log is kept for another time than was chosen";
    /// The router has other settings.
    FunctionChanged = "K205", "the router may be slow, fail, or route to the wrong place";
    /// What is live has other settings.
    AliasChanged = "K206", "what runs is not what was set up";
    /// The hub queue is read in another way.
    MappingChanged = "K207", "events may be delivered late, or again when one of a batch fails";
    /// A rule is not as it should be.
    RuleChanged = "K208", "events that it no longer passes on reach no cluster";
    /// Only tags differ.
    TagsChanged = "K209", "nothing flows differently; but tags are what kibus and its policies know its own by";
    /// A cluster's queue is not as it should be.
    ClusterQueueChanged = "K210", "this cluster's events may be lost early, or be readable by others";
    /// A controller may do something else than it should.
    ControllerPolicyChanged = "K211", "this Karpenter may not be able to read its queue, or may do more than it should";
    /// The router's code was changed by somebody else.
    CodeChanged = "K220", "what routes events is not what kibus put there";
    /// The router is of another version than this kibus.
    OtherRouter = "K221", "the router works; this kibus brings another version of it";
    /// The mapping is disabled.
    MappingDisabled = "K222", "nothing reads the hub queue, and events pile up in it";
    /// The router's last update was not carried out.
    UpdateFailed = "K224", "what was to change has not, and the version that is live goes on as before";
    /// The mapping lets only some messages through.
    MappingFiltered = "K225", "events that match none of the patterns are deleted unseen, and reach no cluster";
    /// A rule is disabled.
    RuleDisabled = "K223", "events of this kind reach no cluster at all";
    /// The policy of the queues' key does not let EventBridge in, or the key is gone.
    KeyShut = "K226", "EventBridge cannot write into the queues, and every event is lost without a trace";
    /// Something of the bus that is not wanted.
    Stray = "K301", "it was not chosen, or not any more, and does no good";
    /// Something of the name that the bus needs is somebody else's.
    NotOurs = "K302", "kibus does not touch it, and the bus lacks what should have this name";
    /// A policy of our name holds statements of somebody else's.
    ForeignStatements = "K303", "kibus does not touch the policy, so what it should allow cannot be put right";
    /// A queue of the name serves something else.
    QueueNameTaken = "K304", "two would share one queue, and each would throw the other's events away";
    /// A rule that should go has targets of somebody else's.
    ForeignTargets = "K305", "kibus does not remove what somebody else still uses";
    /// The hub queue is read twice.
    DuplicateMapping = "K306", "it does no harm but takes the router's concurrency twice";
    /// The router is newer than this kibus.
    NewerRouter = "K307", "the router works; this kibus is too old to judge or change it";
    /// A controller role has no room for the policy of its cluster.
    NoRoleSpace = "K308", "the policy cannot be written, and this Karpenter cannot read its queue";
    /// What was chosen cannot be had.
    CannotBe = "K309", "the hub stays as it is until something else is chosen";
    /// Lambda has given the function up.
    FunctionFailed = "K310", "Lambda changes nothing about it any more; events are routed as long as the version that is live can run";
    /// A controller runs as the router's role.
    RouterRole = "K311", "the router and a Karpenter would have each other's permissions";
    /// A policy of ours on a controller role whose cluster has no queue.
    OrphanedPolicy = "K312", "if its queue was deleted by mistake, this Karpenter receives no interruption; else the permission is left over";
    /// Something may not be read.
    Denied = "K401", "nothing is known about it";
    /// Something could not be read.
    Unreadable = "K402", "nothing is known about it";
    /// There are dead letters.
    DeadLetters = "K501", "these events reached no cluster; they are kept for 14 days from when they were sent";
    /// A cluster's queue is not read.
    QueueUnread = "K502", "no Karpenter seems to read this queue, and after 300 s each message is gone";
    /// The hub queue does not get shorter.
    HubQueueStands = "K503", "events come faster than they are routed, or are not routed at all";
    /// The mapping's last reading was a problem.
    MappingFailing = "K504", "Lambda cannot read the hub queue or invoke the router, and events pile up";
    /// The mapping is on its way to another state.
    MappingUnsettled = "K505", "the hub queue may not be read until Lambda is done";
    /// The router cannot be invoked.
    RouterNotActive = "K506", "Lambda cannot run the router, and events pile up in the hub queue";
    /// A probe of the bus did not come through.
    ProbeLost = "K510", "events may not reach any cluster";
    /// The router did not deliver a probe to a cluster's queue.
    ProbeNotDelivered = "K511", "the router would not deliver this cluster's events either";
    /// Nothing took a probe out of a cluster's queue.
    QueueNotRead = "K512", "no Karpenter reads this queue, so it hears of no interruption";
    /// What became of a probe cannot be known.
    ProbeUnknown = "K513", "the probe says nothing, neither good nor bad";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    const PAGE: &str = include_str!("../../../docs/findings.md");

    /// The sections of the page that are about a code, with the text below each heading.
    fn sections() -> BTreeMap<&'static str, &'static str> {
        PAGE.split("\n### ")
            .skip(1)
            .filter_map(|section| section.split_once('\n'))
            .map(|(heading, text)| (heading.split(' ').next().unwrap(), text))
            .collect()
    }

    #[test]
    fn every_code_has_a_section_and_every_section_a_code() {
        let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let written: BTreeSet<&str> = sections().into_keys().collect();
        assert_eq!(codes.len(), Code::ALL.len(), "two meanings share a code");
        assert_eq!(codes, written, "docs/findings.md and the codes of findings differ");
        assert_eq!(
            PAGE.matches("\n### ").count(),
            written.len(),
            "a section is there twice"
        );
    }

    #[test]
    fn every_section_says_what_a_finding_says() {
        for code in Code::ALL {
            let text = sections()[code.as_str()]
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            let meaning = code.meaning();
            let rest = meaning.split_at(1).1;
            assert!(text.contains(rest), "{code} says `{meaning}`, its section does not");
            assert!(text.contains("**If you are paged**"), "{code} lacks `If you are paged`");
            assert!(text.contains("**Fix**"), "{code} does not say what fixes it");
        }
    }
}
