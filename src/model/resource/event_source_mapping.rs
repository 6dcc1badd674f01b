//! The event source mapping, by which Lambda reads the hub queue, and every mapping of the function, whoever created it.

use std::collections::BTreeSet;

use super::ResourceId;
use super::particulars::{Edge, Ownership, Particulars, Tie, Unit, fields};
use crate::model::{FindingCode, FunctionName, QueueName, Scope, duration_text};

fields! {
    MappingField of EventSourceMapping {
        queue: _, function: _, alias: _, // name the resource
        batch_size, window, maximum_concurrency, report_batch_item_failures, enabled, filters, duplicates,
    } {
        BatchSize = "batch_size": *batch_size,
        Window = "window": (*window, Unit::Seconds),
        MaximumConcurrency = "maximum_concurrency": *maximum_concurrency,
        ReportBatchItemFailures = "report_batch_item_failures": *report_batch_item_failures,
        Enabled = "enabled": *enabled,
        Filters = "filters": filters.clone(),
        Duplicates = "duplicates": duplicates.iter().cloned().collect::<BTreeSet<_>>(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSourceMapping {
    pub queue: QueueName,
    pub function: FunctionName,
    pub alias: String,
    pub batch_size: u32,
    /// How long Lambda gathers messages, in seconds.
    pub window: u32,
    pub maximum_concurrency: Option<u32>,
    /// Whether the function's answer can name failed messages.
    pub report_batch_item_failures: bool,
    pub enabled: bool,
    /// If there are patterns, Lambda deletes messages that match none of them. Kibus sets none.
    pub filters: BTreeSet<String>,
    /// Further mappings of the queue and alias, by UUID: a create that was repeated after a lost response can leave one.
    pub duplicates: Vec<String>,
}

/// An event source mapping of a function, from Lambda's list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionMapping {
    /// The ARN of its source; empty for a source without an ARN, such as a Kafka cluster outside AWS.
    pub source: String,
    /// The ARN of its target: the function, an alias or a version.
    pub target: String,
    pub uuid: String,
}

impl Particulars for EventSourceMapping {
    fn ownership(&self, _scope: &Scope) -> Ownership {
        Ownership::TagsOf(vec![ResourceId::Function(self.function.clone()), ResourceId::Queue(self.queue.clone())])
    }

    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        let function = ResourceId::Function(self.function.clone());
        let policy = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
        let alias = ResourceId::Alias(self.function.clone(), self.alias.clone());
        vec![
            Tie::Needs.to(ResourceId::Queue(scope.hub_queue()), "a mapping reads the hub queue"),
            Tie::Needs.to(policy, "Lambda rejects a mapping of a function whose role may not read the queue"),
            Tie::Needs.to(alias, "a mapping invokes an alias"),
            Tie::Needs.to(function, "a mapping never runs more invocations than its function has reserved"),
        ]
    }

    fn trouble(&self) -> Option<(FindingCode, String)> {
        let (code, message) = if !self.enabled {
            (FindingCode::MappingDisabled, "disabled")
        } else if !self.filters.is_empty() {
            (FindingCode::MappingFiltered, "lets only some messages through")
        } else if !self.duplicates.is_empty() {
            (FindingCode::DuplicateMapping, "exists more than once")
        } else {
            return None;
        };
        Some((code, message.to_owned()))
    }

    fn summary(&self) -> String {
        let mut text = format!("batch {}", self.batch_size);
        if self.window > 0 {
            text.push_str(&format!(", window {}", duration_text(self.window.into())));
        }
        if let Some(maximum) = self.maximum_concurrency {
            text.push_str(&format!(", concurrency {maximum}"));
        }
        if !self.enabled {
            text.push_str(", disabled");
        }
        text
    }
}
