//! The options of the hub that a document depends on: those given, and the saved ones. A saved option is printed, and
//! refused if a resource of the hub contradicts it. And the old keys that the hub still allows, which are printed too.

use std::collections::BTreeSet;

use super::not_read;
use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{failure, stages};
use crate::error::Error;
use crate::model::document::Document;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, KmsKey};
use crate::model::options::{DocumentFor, HubOptions};
use crate::model::policy::{self, KeyUse};
use crate::model::resource::ResourceId;
use crate::reconcile::documents::{needs, router_policy};
use crate::reconcile::{Comparison, Difference, unnamed_queues};
use crate::survey::{SavedOptions, Survey};

/// The options for a document, and what was read of the hub.
pub(super) struct Known {
    pub(super) options: HubOptions,
    pub(super) survey: Survey,
}

impl Known {
    /// The given options, else the saved ones, which are printed. The queue of `cluster` is read too.
    pub(super) async fn read(
        hubs: &Hubs<'_>,
        hub: &ConnectedHub,
        given: HubOptions,
        document: DocumentFor,
        cluster: Option<&ClusterName>,
    ) -> Result<Self, Error> {
        let scope = &hub.scope;
        let survey = stages::survey(hubs, hub, |survey| needs(survey, document, &given, cluster)).await?;
        let queue = ResourceId::Queue(scope.dead_letter_queue());
        let (saved, source) = match &survey.saved {
            SavedOptions::Unreadable(_) => {
                not_read(hub, &queue);
                return Ok(Self { options: given, survey });
            }
            SavedOptions::Damaged(bad, _) => return Err(bad.clone().into()),
            SavedOptions::Kept { options, copy: true } => {
                (options.clone(), ResourceId::Function(scope.router_function()))
            }
            SavedOptions::Kept { options, .. } => (options.clone(), queue),
            SavedOptions::Absent | SavedOptions::Foreign => (HubOptions::default(), queue),
        };
        let comparison = Comparison::of(&survey, &given, document);
        if !comparison.differences.is_empty() {
            return Err(different(hub, &comparison.differences));
        }
        if !comparison.used.is_empty() {
            let text = format!("Saved options in this document, from the tags of {source}:");
            hub.ui.note(&text, &comparison.used);
        }
        for (id, flags) in &comparison.unread {
            hub.ui.warn_text(&format!(
                "{id} could not be read, so it is unknown whether these saved options are in use: --{}",
                flags.join(", --")
            ));
        }
        Ok(Self {
            options: given.or(saved),
            survey,
        })
    }

    /// The same for a document about all cluster queues.
    pub(super) async fn for_queues(
        hubs: &Hubs<'_>,
        hub: &ConnectedHub,
        given: HubOptions,
        document: DocumentFor,
    ) -> Result<Self, Error> {
        let known = Self::read(hubs, hub, given, document, None).await?;
        match unnamed_queues(&hub.scope, &known.options.queue_prefix()) {
            Some(refusal) => Err(failure::refused(hub, &[refusal], false).with_global_options(&hub.options)),
            None => Ok(known),
        }
    }

    /// The document, with a statement for these old keys, which are printed. They come from the policy of the router.
    pub(super) fn with_old_keys(
        &self,
        hub: &ConnectedHub,
        of: KeyUse,
        keys: &BTreeSet<KmsKey>,
        to: Document,
    ) -> Document {
        let policy = router_policy(&hub.scope);
        if !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(KmsKey::to_string).collect();
            hub.ui
                .note(&format!("Old keys in this document, from {policy}:"), &keys);
        }
        if let Some(Reading::Unreadable(_)) = self.survey.observed.get(&policy) {
            hub.ui.warn_text(&format!(
                "{policy} could not be read, so it is unknown whether messages wait that are encrypted with an old key"
            ));
        }
        policy::with_old_keys(to, of, &hub.scope, keys)
    }
}

/// Resources contradict saved options, so a document with these options could allow more than intended.
fn different(hub: &ConnectedHub, differences: &[Difference]) -> Error {
    let mut error = Error::refused("saved options differ from the resources of the hub, so no document is printed");
    for Difference { saved, live, of } in differences {
        error = error.note(format!("saved: {saved}; {of} has {live}"));
    }
    let options: Vec<&str> = differences.iter().map(|difference| difference.live.as_str()).collect();
    error.hint_command(
        "a tag alone does not change what a document allows; to print it with the options of the resources:",
        format!("{} {}", hub.command_line, options.join(" ")),
    )
}
