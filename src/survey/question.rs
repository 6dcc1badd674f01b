//! What a survey may ask and what it knows, made from the table of questions: a query holds the keys that are asked about, and
//! the survey the answers. An accessor of the survey notes its question if there is no answer yet.

use std::collections::{BTreeMap, BTreeSet};

use super::Survey;
use super::reader::{Reader, when};
use crate::cloud::{ListedRole, Probe, Read, RolePolicies, questions};
use crate::model::answer::{AccessDecision, Answered, Fact, Simulation};
use crate::model::document::Document;
use crate::model::event_rule::{EventRule, ListedTarget};
use crate::model::karpenter::Association;
use crate::model::name::{BusName, ClusterName, KmsKey, QueueName, QueuePrefix, RoleName, RuleName};
use crate::model::resource::{FunctionMapping, FunctionPermission, FunctionSettings, ResourceId};
use crate::model::router_function::LiveTest;
use crate::model::status::{Depth, DroppedClusters, Probed, QueueActivity};
use crate::model::tags::Tags;

macro_rules! survey {
    (
        once { $($(#[$once_doc:meta])* $once:ident -> $one:ty;)* }
        each { $($(#[$each_doc:meta])* $each:ident($each_key:ty) -> $each_answer:ty;)* }
        first { $($(#[$first_doc:meta])* $first:ident($first_key:ty) -> $first_answer:ty;)* }
        composed { $($(#[$doc:meta])* $composed:ident($key:ty) -> $answer:ty;)* }
    ) => {
        /// Questions about one hub.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Query {
            /// These resources.
            pub resources: BTreeSet<ResourceId>,
            $($(#[$once_doc])* pub $once: bool,)*
            $($(#[$each_doc])* pub $each: BTreeSet<$each_key>,)*
            $($(#[$first_doc])* pub $first: BTreeSet<$first_key>,)*
            $($(#[$doc])* pub $composed: BTreeSet<$key>,)*
        }

        /// The answers to questions about one hub. A key that was not asked about is missing.
        #[derive(Clone, Debug, Default)]
        pub struct Known {
            $($(#[$once_doc])* pub $once: Fact<$one>,)*
            $($(#[$each_doc])* pub $each: BTreeMap<$each_key, Fact<$each_answer>>,)*
            $($(#[$first_doc])* pub $first: BTreeMap<$first_key, Fact<$first_answer>>,)*
            $($(#[$doc])* pub $composed: BTreeMap<$key, Fact<$answer>>,)*
        }

        impl Survey {
            $(
                $(#[$once_doc])*
                pub fn $once(&self) -> &Fact<$one> {
                    self.open.borrow_mut().$once |= !self.known.$once.is_asked();
                    &self.known.$once
                }
            )*
            keyed! { $($(#[$each_doc])* $each($each_key) -> $each_answer;)* }
            keyed! { $($(#[$first_doc])* $first($first_key) -> $first_answer;)* }
            keyed! { $($(#[$doc])* $composed($key) -> $answer;)* }
        }

        impl<R: Read + Probe> Reader<'_, R> {
            /// Asks all at once.
            pub(super) async fn ask(&self, survey: &mut Survey, query: &Query) {
                let asked = &*survey;
                // Boxed, because the futures of all questions would add to the stack.
                let (snapshots, $($once,)* $($each,)* $($first,)* $($composed,)*) = tokio::join!(
                    Box::pin(self.snapshots(&query.resources)),
                    $(Box::pin(when(query.$once, || self.call(|| self.cloud.$once()))),)*
                    $(Box::pin(self.each(&query.$each, async |key| self.cloud.$each(key).await)),)*
                    $(Box::pin(self.first(&query.$first, async |key| self.cloud.$first(key).await)),)*
                    $(Box::pin(self.$composed(asked, &query.$composed)),)*
                );
                survey.take(snapshots);
                $(
                    if let Some(answer) = $once {
                        survey.known.$once = Fact::of_option(answer);
                    }
                )*
                $(survey.known.$each.extend($each);)*
                $(survey.known.$first.extend($first);)*
                $(survey.known.$composed.extend($composed);)*
            }
        }
    };
}

macro_rules! keyed {
    ($($(#[$doc:meta])* $name:ident($key:ty) -> $answer:ty;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(&self, key: &$key) -> &Fact<$answer> {
                self.known.$name.get(key).unwrap_or_else(|| {
                    self.open.borrow_mut().$name.insert(key.clone());
                    const { &Fact::NotAsked }
                })
            }
        )*
    };
}

questions!(survey);

impl Query {
    /// Whether the query is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
