//! The codes of findings, in one table: severity, meaning and advice. A code never changes its meaning and is never used
//! for another finding; `docs/findings.md` has a section for each.

use std::fmt;

/// How urgent a finding is; the most urgent sorts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Events are lost or late, or someone has permissions that they should not have.
    Critical,
    /// Events flow; something can fail, or is not known.
    Warning,
    /// Not urgent.
    Info,
}

impl Severity {
    /// The word that JSON output uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $severity:ident, $meaning:literal $(, $advice:literal)?;)*) => {
        /// The code of a finding. The hundreds are its family: 1 missing, 2 changed, 3 refused or not part of the
        /// configuration, 4 unreadable, 5 message flow.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingCode {
            $($(#[$doc])* $name,)*
        }

        impl FindingCode {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code, which never changes.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// How urgent it is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }

            /// What it means for events, in one sentence without a full stop.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }

            /// What fixes it where the finding itself names no fix: the plan and the refusals bring their own.
            pub(super) fn advice(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($advice)?),)*
                }
            }
        }
    };
}

codes! {
    /// A queue of the hub is not there.
    HubQueueMissing = "K101", Critical, "events have no way through the hub, or no place to go when they cannot be delivered";
    /// The router's role is not there.
    RoleMissing = "K102", Critical, "the router cannot run, and events pile up in the hub queue";
    /// The router's role has no policy.
    RouterPolicyMissing = "K103", Critical, "the router may do nothing, and events pile up in the hub queue";
    /// The router's log group is not there.
    LogGroupMissing = "K104", Warning, "what the router drops, and why, is written nowhere";
    /// The router is not there.
    FunctionMissing = "K105", Critical, "nothing routes events, and they pile up in the hub queue";
    /// The alias that the mapping invokes is not there.
    AliasMissing = "K106", Critical, "nothing routes events, and they pile up in the hub queue";
    /// Nothing reads the hub queue.
    MappingMissing = "K107", Critical, "nothing reads the hub queue, and events pile up in it";
    /// A rule is not there.
    RuleMissing = "K108", Critical, "events of this kind reach no cluster at all";
    /// A cluster that was asked about is not registered.
    ClusterNotRegistered = "K110", Critical, "its events are dropped, and its Karpenter hears of no interruption";
    /// A controller role has lost the policy for its queue.
    ControllerPolicyMissing = "K111", Critical, "this Karpenter cannot read its queue, and hears of no interruption";
    /// A queue of the hub is not as it should be.
    HubQueueChanged = "K201", Critical, "events may be refused, lost early, or readable by others";
    /// The router's role is not as it should be.
    RoleChanged = "K202", Critical, "the router may not be able to run, or others may run as it";
    /// The router may do something else than it should.
    RouterPolicyChanged = "K203", Critical, "the router may fail to deliver, or may do more than it should";
    /// The router's log group is not as it should be.
    LogGroupChanged = "K204", Info, "the router's log is kept for another time than was chosen";
    /// The router has other settings.
    FunctionChanged = "K205", Warning, "the router may be slow, fail, or route to the wrong place";
    /// What is live has other settings.
    AliasChanged = "K206", Warning, "what runs is not what was set up";
    /// The hub queue is read in another way.
    MappingChanged = "K207", Warning, "events may be delivered late, or again when one of a batch fails";
    /// A rule is not as it should be.
    RuleChanged = "K208", Critical, "events that it no longer passes on reach no cluster";
    /// Only tags differ.
    TagsChanged = "K209", Warning, "nothing flows differently; but tags are what kibus and its policies know its own by";
    /// A cluster's queue is not as it should be.
    ClusterQueueChanged = "K210", Critical, "this cluster's events may be lost early, or be readable by others";
    /// A controller may do something else than it should.
    ControllerPolicyChanged = "K211", Critical, "this Karpenter may not be able to read its queue, or may do more than it should";
    /// The router's code was changed by somebody else.
    CodeChanged = "K220", Critical, "what routes events is not what kibus put there";
    /// The router is of another version than this kibus.
    OtherRouter = "K221", Info, "the router works; this kibus brings another version of it";
    /// The mapping is disabled.
    MappingDisabled = "K222", Critical, "nothing reads the hub queue, and events pile up in it";
    /// The router's last update was not carried out.
    UpdateFailed = "K224", Warning, "what was to change has not, and the version that is live goes on as before";
    /// The mapping lets only some messages through.
    MappingFiltered = "K225", Critical, "events that match none of the patterns are deleted unseen, and reach no cluster";
    /// A rule is disabled.
    RuleDisabled = "K223", Critical, "events of this kind reach no cluster at all";
    /// The policy of the queues' key does not let EventBridge in, or the key is gone.
    KeyShut = "K226", Critical, "EventBridge cannot write into the queues, and every event is lost without a trace";
    /// Something of the bus that is not wanted.
    Stray = "K301", Info, "it was not chosen, or not any more, and does no good";
    /// Something of the name that the bus needs is somebody else's.
    NotManaged = "K302", Critical, "kibus does not touch it, and the bus lacks what should have this name";
    /// A policy of our name holds statements of somebody else's.
    ForeignStatements = "K303", Critical, "kibus does not touch the policy, so what it should allow cannot be put right";
    /// A queue of the name serves something else.
    QueueNameTaken = "K304", Critical, "two would share one queue, and each would throw the other's events away";
    /// A rule that should go has targets of somebody else's.
    ForeignTargets = "K305", Info, "kibus does not remove what somebody else still uses";
    /// The hub queue is read twice.
    DuplicateMapping = "K306", Warning, "it does no harm but takes the router's concurrency twice";
    /// The router is newer than this kibus.
    NewerRouter = "K307", Info, "the router works; this kibus is too old to judge or change it";
    /// A controller role has no room for the policy of its cluster.
    NoRoleSpace = "K308", Critical, "the policy cannot be written, and this Karpenter cannot read its queue";
    /// What was chosen cannot be had.
    CannotBe = "K309", Warning, "the hub stays as it is until something else is chosen";
    /// Lambda has given the function up.
    FunctionFailed = "K310", Warning, "Lambda changes nothing about it any more; events are routed as long as the version that is live can run";
    /// A controller runs as the router's role.
    RouterRole = "K311", Critical, "the router and a Karpenter would have each other's permissions";
    /// A policy of kibus on a controller role whose cluster has no queue.
    OrphanedPolicy = "K312", Critical, "if its queue was deleted by mistake, this Karpenter receives no interruption; else the permission is left over";
    /// Something may not be read.
    Denied = "K401", Warning, "nothing is known about it";
    /// Something could not be read.
    Unreadable = "K402", Warning, "nothing is known about it", "run it again; -vv shows every call";
    /// There are dead letters.
    DeadLetters = "K501", Critical, "these events reached no cluster; they are kept for 14 days from when they were sent";
    /// A cluster's queue is not read.
    QueueUnread = "K502", Critical, "no Karpenter seems to read this queue, and after 300 s each message is gone";
    /// The hub queue does not get shorter.
    HubQueueStands = "K503", Critical, "events come faster than they are routed, or are not routed at all";
    /// The mapping's last reading was a problem.
    MappingFailing = "K504", Critical, "Lambda cannot read the hub queue or invoke the router, and events pile up";
    /// The mapping is on its way to another state.
    MappingUnsettled = "K505", Warning, "the hub queue may not be read until Lambda is done", "wait a minute, and run verify again";
    /// The router cannot be invoked.
    RouterNotActive = "K506", Critical, "Lambda cannot run the router, and events pile up in the hub queue", "fix the reason that Lambda gives, or roll back to an earlier version";
    /// A probe of the bus did not come through.
    ProbeLost = "K510", Critical, "events may not reach any cluster", "fix the other findings first, then read the router's log";
    /// The router did not deliver a probe to a cluster's queue.
    ProbeNotDelivered = "K511", Critical, "the router would not deliver this cluster's events either", "add the cluster again, and repeat the probe";
    /// Nothing took a probe out of a cluster's queue.
    QueueNotRead = "K512", Critical, "no Karpenter reads this queue, so it hears of no interruption", "check which queue this Karpenter reads, as printed above";
    /// What became of a probe cannot be known.
    ProbeUnknown = "K513", Warning, "the probe says nothing, neither good nor bad", "repeat the probe when AWS answers the call";
}

impl fmt::Display for FindingCode {
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
        let codes: BTreeSet<&str> = FindingCode::ALL.iter().map(|code| code.as_str()).collect();
        let written: BTreeSet<&str> = sections().into_keys().collect();
        assert_eq!(codes.len(), FindingCode::ALL.len(), "two meanings share a code");
        assert_eq!(codes, written, "docs/findings.md and the codes of findings differ");
        assert_eq!(
            PAGE.matches("\n### ").count(),
            written.len(),
            "a section is there twice"
        );
    }

    #[test]
    fn every_section_says_what_a_finding_says() {
        for code in FindingCode::ALL {
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
