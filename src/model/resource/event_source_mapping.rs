//! The event source mapping, by which Lambda reads the hub queue, and every mapping of the function, whoever created it.

use std::collections::BTreeSet;

use crate::model::field::{Field, field, field_names};
use crate::model::name::{FunctionName, QueueName};

field_names! {
    /// The fields of an event source mapping.
    MappingField {
        BatchSize = "batch_size",
        Window = "window",
        MaximumConcurrency = "maximum_concurrency",
        ReportBatchItemFailures = "report_batch_item_failures",
        Enabled = "enabled",
        Filters = "filters",
        Duplicates = "duplicates",
    }
}

/// An event source mapping from a queue to an alias of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSourceMapping {
    /// The queue that is read.
    pub queue: QueueName,
    /// The function that is invoked.
    pub function: FunctionName,
    pub alias: String,
    /// The maximum number of messages in one invocation.
    pub batch_size: u32,
    /// How long Lambda gathers messages, in seconds.
    pub window: u32,
    /// How many invocations may run at once.
    pub maximum_concurrency: Option<u32>,
    /// Whether an answer may name the messages that failed.
    pub report_batch_item_failures: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The patterns that a message must match one of; none lets every message through. Lambda deletes a message that
    /// matches none. Kibus sets none.
    pub filters: BTreeSet<String>,
    /// Mappings of the same queue and alias beyond the first, by UUID. AWS refuses a second one, but a
    /// create that was repeated after a lost answer can leave one.
    pub duplicates: Vec<String>,
}

/// An event source mapping of a function as Lambda lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionMapping {
    /// The ARN of what it reads; empty for a source that has none, such as a Kafka cluster outside AWS.
    pub source: String,
    /// The ARN of what it invokes: the function, an alias or a version.
    pub target: String,
    pub uuid: String,
}

impl EventSourceMapping {
    /// The path of the field that says whether it is enabled.
    pub const ENABLED: &str = MappingField::Enabled.path();
    /// The path of the field with the filter patterns.
    pub const FILTERS: &str = MappingField::Filters.path();
    /// The path of the field that lists duplicates.
    pub const DUPLICATES: &str = MappingField::Duplicates.path();

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            queue: _,    // names the resource
            function: _, // names the resource
            alias: _,    // names the resource
            batch_size,
            window,
            maximum_concurrency,
            report_batch_item_failures,
            enabled,
            filters,
            duplicates,
        } = self;
        vec![
            field(MappingField::BatchSize, *batch_size),
            field(MappingField::Window, *window),
            field(MappingField::MaximumConcurrency, *maximum_concurrency),
            field(MappingField::ReportBatchItemFailures, *report_batch_item_failures),
            field(MappingField::Enabled, *enabled),
            field(MappingField::Filters, filters.clone()),
            field(
                MappingField::Duplicates,
                duplicates.iter().cloned().collect::<BTreeSet<_>>(),
            ),
        ]
    }
}
