//! The settings of the hub that a document depends on: the options that are given, else the saved ones, and the old keys.

use super::not_read;
use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{failure, stages};
use crate::error::Error;
use crate::model::document::Document;
use crate::model::name::KmsKey;
use crate::model::options::HubOptions;
use crate::model::policy::{self, KeyUse};
use crate::model::resource::ResourceId;
use crate::model::settings::Settings;
use crate::reconcile::unnamed_queues;
use crate::survey::{Query, Saved};

/// The options of a document for a controller, by their flags.
pub(super) const OF_READERS: &[&str] = &["kms-key", "queue-prefix"];
/// Those of the router's document.
pub(super) const OF_ROUTERS: &[&str] = &["kms-key", "queue-prefix", "tag-conditions"];
/// Those of the operator's document.
pub(in crate::cli) const OF_OPERATORS: &[&str] = &[
    "tag",
    "kms-key",
    "permissions-boundary",
    "role-path",
    "queue-prefix",
    "tag-conditions",
];
/// Those of an operator's document who may change nothing.
pub(super) const OF_READING_OPERATORS: &[&str] = &["kms-key", "role-path", "queue-prefix"];

/// Leaves the other options of a hub out of the help. They are accepted, so that a pipeline can pass to every command what it
/// passes to `bootstrap-hub`.
pub(super) fn shows_of_hub(shown: &[&str], arg: clap::Arg) -> clap::Arg {
    let of_hub = <HubOptions as clap::Args>::augment_args(clap::Command::new(""));
    let is_of_hub = of_hub.get_arguments().any(|option| option.get_id() == arg.get_id());
    let is_shown = !is_of_hub || arg.get_long().is_some_and(|flag| shown.contains(&flag));
    let hide = arg.is_hide_set() || !is_shown;
    arg.hide(hide)
}

/// Reads the settings, and prints those that the document depends on and that the command line does not replace.
pub(super) async fn known(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    given: HubOptions,
    used: &[&str],
) -> Result<Settings, Error> {
    let survey = stages::survey(hubs, hub, |_| Query::default(), |_| ()).await?.0;
    let parameter = ResourceId::Parameter(hub.scope.settings_parameter());
    let saved = match survey.saved() {
        Saved::Kept(settings) => settings.clone(),
        Saved::Absent => Settings::default(),
        Saved::Unreadable(_) => {
            not_read(hub, &parameter);
            Settings::default()
        }
        Saved::Bad(bad) => {
            hub.ui.warn_text(&format!("{parameter} is not used: {bad}"));
            Settings::default()
        }
    };
    let mut printed = saved.options.clone();
    printed.retain(|flag| used.contains(&flag) && !given.values().contains_key(flag));
    let printed = printed.typed();
    if !printed.is_empty() {
        hub.ui
            .note(&format!("Saved options in this document, from {parameter}:"), &printed);
    }
    Ok(Settings {
        options: given.or(saved.options),
        ..saved
    })
}

/// The same for a document about all cluster queues.
pub(super) async fn known_for_queues(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    given: HubOptions,
    used: &[&str],
) -> Result<Settings, Error> {
    let known = known(hubs, hub, given, used).await?;
    match unnamed_queues(&hub.scope, &known.options) {
        Some(refusal) => Err(failure::refused(hub, &[refusal], false)),
        None => Ok(known),
    }
}

/// The document, with a statement for the old keys of the hub, which are printed.
pub(super) fn with_old_keys(hub: &ConnectedHub, of: KeyUse, settings: &Settings, to: Document) -> Document {
    let mut keys = settings.old_keys();
    keys.retain(|key| Some(key) != settings.options.key());
    if !keys.is_empty() {
        let parameter = ResourceId::Parameter(hub.scope.settings_parameter());
        let lines: Vec<String> = keys.iter().map(KmsKey::to_string).collect();
        hub.ui
            .note(&format!("Old keys in this document, from {parameter}:"), &lines);
    }
    policy::with_old_keys(to, of, &hub.scope, &keys)
}
