//! The codes of findings: severity, meaning and advice. The table of kinds has the codes for missing and changed
//! resources; this file has all others. A code never changes its meaning and is never used for another finding;
//! `docs/findings.md` has a section for each.

use std::fmt;

use serde::Serialize;

use crate::error::Hint;
use crate::model::Scope;

/// How urgent a finding is; the most urgent sorts first. A check fails for critical findings and errors, not for warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Severity {
    /// Events are lost or late now, or someone has permissions that they should not have.
    Critical,
    /// Needs work: something differs from the configuration, can fail, or is unknown. Events may still be delivered.
    Error,
    /// Needs no work now: it may be a false alarm or resolve itself, or kibus cannot judge it.
    Warning,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    pub fn needs_work(self) -> bool {
        self < Self::Warning
    }
}

macro_rules! codes {
    ($($name:ident($code:literal, $severity:ident, $meaning:literal $(, $advice:literal $(=> $command:literal)?)?);)*) => {
        /// The code of a finding. The hundreds are its family: 1 missing, 2 changed, 3 refused or not part of the
        /// configuration, 4 unreadable, 5 message flow.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingCode {
            $(#[doc = concat!($code, ": ", $meaning, ".")] $name,)*
        }

        impl FindingCode {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }

            /// What it means for events, in one sentence without a period.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }

            /// The fix, for findings without a fix of their own. Plans and refusals have one.
            pub fn advice(self, scope: &Scope) -> Hint {
                match self {
                    $(Self::$name => Hint {
                        text: concat!($($advice)?).to_owned(),
                        command: None$($(.or(Some(scope.kibus($command))))?)?,
                    },)*
                }
            }
        }
    };
}

/// The codes of the kinds of resource, from their table, and codes for several kinds or none.
macro_rules! with_codes_of_kinds {
    ($($(#[$doc:meta])* $kind:ident $id:tt $facts:tt $([$($code:ident $row:tt,)+])or+;)*) => {
        codes! {
            $($($($code $row;)+)+)*
            CodeChanged("K220", Critical, "unknown code routes events, or will once a version is published");
            MappingDisabled("K222", Critical, "nothing reads the hub queue, and events pile up in it");
            UpdateFailed("K224", Error, "the change was not applied, and the live version still runs with the old settings");
            MappingFiltered("K225", Critical, "events that match none of the patterns are deleted silently and reach no cluster");
            RuleDisabled("K223", Critical, "events of this kind reach no cluster at all");
            KeyBlocksEventBridge("K226", Critical, "EventBridge cannot send to the queues, and every event is lost silently");
            NotConfigured("K301", Error, "the resource is not part of the current configuration");
            NotManaged("K302", Critical, "kibus does not change the resource, and the bus lacks its own resource with this name");
            ForeignStatements("K303", Error, "kibus does not change the policy, so it cannot fix the permissions");
            QueueNameTaken("K304", Critical, "two clusters would share one queue, and each would delete the other's events");
            ForeignTargets("K305", Error, "kibus does not delete a rule that another tool or person still uses");
            DuplicateMapping("K306", Error, "events are routed, but the duplicate also uses the router's concurrency");
            NewerRouter("K307", Warning, "the router works, but this version of kibus is too old to check or change it");
            OptionNotApplicable("K309", Error, "the hub does not change until the option has a different value");
            FunctionFailed("K310", Error, "Lambda rejects every update; events are routed while the live version can run");
            RouterRole("K311", Critical, "the router and a Karpenter controller would have each other's permissions");
            DuplicateRule("K314", Warning, "other rules bypass the router and send the same events to this queue: each counts toward the rule quota of the event bus and multiplies messages");
            ExternalQueueDiffers("K320", Critical, "kibus does not change a queue that another tool manages, and its events may be lost, late, or forged by others");
            DrillLeft("K325", Warning, "a drill is running, or one was cut short and left a role that can interrupt one instance");
            TwoOwners("K326", Critical, "the record says that another tool manages the queue, but the queue has the policy of kibus: each may undo the other's changes");
            Unrecorded("K327", Critical, "kibus neither changes nor deletes the resource; the router delivers to a queue that has the tags of the bus, and a role that has the policy may be able to read a queue");
            RecordUnusable("K328", Critical, "kibus does not manage the cluster or check its queue");
            QueueMarked("K329", Critical, "the queue is being deleted, or someone has marked it as such: a command that would create it waits for minutes");
            ExternalPolicyUnclear("K330", Error, "the state of the queue is unknown: its policy may prevent the router from sending or the controller from reading, or may give others access");
            Denied("K401", Error, "its state is unknown");
            Unreadable("K402", Error, "its state is unknown", "run it again; -vv shows every call" => "verify -vv");
            DeadLetters("K501", Error, "these events reached no cluster; SQS keeps them for 14 days after they were sent");
            HubQueueNotDraining("K503", Warning, "events arrive faster than they are routed, or are not routed at all");
            ForeignMapping("K516", Critical, "messages that no rule of the bus sent reach the router, or code that is not live takes events from the hub queue");
            MappingInTransition("K505", Warning, "Lambda might not read the hub queue until the transition ends", "wait a minute, then run again" => "verify");
            RouterNotActive("K506", Critical, "Lambda cannot run the router, and events pile up in the hub queue", "fix the cause that Lambda reports; until then, make the previous version live again" => "rollback");
            RouterKeyDenied("K507", Critical, "Lambda cannot decrypt the environment variables of the live version, and events pile up in the hub queue", "publish a version without environment variables, which needs no key for them" => "bootstrap-hub");
            RouterRoleUnusable("K508", Critical, "Lambda cannot run the router, and events pile up in the hub queue", "check the role's trust policy and the organization policies; after a change, wait five minutes, then run again" => "verify");
            RouterThrottled("K509", Warning, "the router has no concurrency left, and further events wait in the hub queue", "if it persists, raise --reserved-concurrency or the account's concurrency; run again" => "verify");
            SelfTestFailed("K514", Critical, "the router fails, and events return to the hub queue until they become dead letters", "fix what the router reports; if the router itself fails, make the previous version live again" => "rollback");
            ProbeLost("K510", Critical, "events might not reach any cluster", "fix the other findings, or read the router's log, then send a probe again" => "verify --probe");
            ProbeNotDelivered("K511", Critical, "the router would not deliver this cluster's events either", "add the cluster again, then repeat the probe");
            QueueNotRead("K512", Critical, "Karpenter is not reading this queue and misses every interruption", "after a change, repeat the probe");
            ForeignRedrive("K515", Critical, "anyone who can send to the other queue can send to this one, bypassing its queue policy");
            InvokePermission("K517", Critical, "anyone who can invoke the router can route any event, and can therefore drain any node");
            EventsDropped("K518", Warning, "the cluster is not on this bus, and its Karpenter receives no interruption events");
            QueueNotReadForAnHour("K519", Error, "no Karpenter reads this queue, and each message expires after 300 seconds");
            ProbeUnknown("K513", Error, "the probe has no result, so the path of events is unknown", "repeat the probe when AWS answers the call" => "verify --probe");
        }
    };
}

super::with_kinds!(with_codes_of_kinds);

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
        let sections = PAGE.split("\n### ").skip(1).filter_map(|section| section.split_once('\n'));
        sections.map(|(heading, text)| (heading.split(' ').next().unwrap(), text)).collect()
    }

    #[test]
    fn every_code_has_a_section_and_every_section_a_code() {
        let codes: BTreeSet<&str> = FindingCode::ALL.iter().map(|code| code.as_str()).collect();
        let written: BTreeSet<&str> = sections().into_keys().collect();
        assert_eq!(codes.len(), FindingCode::ALL.len(), "two meanings share a code");
        assert_eq!(codes, written, "docs/findings.md and the codes of findings differ");
        assert_eq!(PAGE.matches("\n### ").count(), written.len(), "a section is duplicated");
    }

    #[test]
    fn every_section_says_what_a_finding_says() {
        for code in FindingCode::ALL {
            let text = sections()[code.as_str()].split_whitespace().collect::<Vec<_>>().join(" ");
            let meaning = code.meaning();
            let rest = meaning.split_at(1).1;
            assert!(text.contains(rest), "{code} means `{meaning}`, but its section says something else");
            assert!(text.contains("**If you are paged:**"), "{code} lacks `If you are paged`");
            assert!(text.contains("**Fix:**"), "{code} lacks `Fix`");
        }
    }
}
