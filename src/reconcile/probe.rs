//! The result of a probe, and its finding.

use crate::error::Invocation;
use crate::model::probe::{BUS_LIMIT, ProbeResult, Probed};
use crate::plan::finding::{Finding, FindingCode, Fix, Subject};

impl Probed {
    /// The result as a sentence without a full stop.
    pub fn sentence(&self) -> String {
        let queue = &self.queue;
        let took = self.took.as_secs_f64();
        match &self.result {
            ProbeResult::Delivered if self.sent > 1 => {
                format!(
                    "probe delivered through the bus in {took:.1}s, after it was sent {} times",
                    self.sent
                )
            }
            ProbeResult::Delivered => format!("probe delivered through the bus in {took:.1}s"),
            ProbeResult::Lost => format!(
                "probe not delivered within {}s: it was put on the event bus {} times and did not reach queue `{queue}`",
                BUS_LIMIT.as_secs(),
                self.sent
            ),
            ProbeResult::NotDelivered(why) => format!("the router did not deliver a probe to queue `{queue}`: {why}"),
            ProbeResult::Read => format!("Karpenter reads queue `{queue}`: probe received within {took:.1}s"),
            ProbeResult::NotRead => {
                format!("Karpenter does not read queue `{queue}`: a message was still in it after {took:.0}s")
            }
            ProbeResult::Unknown(why) if self.cluster.is_none() => {
                format!("unknown whether the bus delivers probes: {why}")
            }
            ProbeResult::Unknown(why) => format!("unknown whether queue `{queue}` is read: {why}"),
        }
    }

    /// The finding, if something is wrong.
    pub fn finding(&self) -> Option<Finding> {
        let code = match self.result {
            ProbeResult::Delivered | ProbeResult::Read => return None,
            ProbeResult::Lost => FindingCode::ProbeLost,
            ProbeResult::NotDelivered(_) => FindingCode::ProbeNotDelivered,
            ProbeResult::NotRead => FindingCode::QueueNotRead,
            ProbeResult::Unknown(_) => FindingCode::ProbeUnknown,
        };
        let bus = || Subject::Other("bus".to_owned());
        let subject = self.cluster.clone().map_or_else(bus, Subject::Cluster);
        let mut finding = Finding::new(code, subject, self.sentence());
        // The probe of a cluster names the cluster.
        if let (Some(cluster), Fix::Advice(hint)) = (&self.cluster, &mut finding.fix) {
            let command = match code {
                FindingCode::ProbeNotDelivered => format!("add-cluster {cluster}"),
                _ => format!("verify --probe {cluster}"),
            };
            hint.command = Some(Invocation::kibus(command));
        }
        Some(finding)
    }
}
