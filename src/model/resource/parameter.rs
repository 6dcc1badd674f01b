//! Parameters of Systems Manager Parameter Store: the one that holds the settings of a hub.

use serde_json::Value;

use super::Resource;
use super::particulars::{Field, FieldValue, Ownership, Particulars, entry, field, field_names};
use crate::model::{
    BadDocument, Scope, Settings, Tags,
    name::{all, names},
    scope::fixed,
};

names! {
    /// The name of a parameter (Systems Manager API reference, `PutParameter`).
    ParameterName: "parameter name",
        "1 to 1011 letters, digits and `_.-/`",
        |s| !s.is_empty() && s.len() <= 1_011 && all(s, "_.-/");
}

field_names! {
    ParameterField {
        Options = "options",
        PinnedVersion = "pinned_version",
        OldKeys = "old_keys",
        Content = "content",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: ParameterName,
    /// Its settings, or why its value contains none.
    pub settings: Result<Settings, BadDocument>,
    /// The number of writes so far, counted by Parameter Store.
    pub version: u64,
    /// The tags for a new parameter. Nothing depends on them, so they are never read.
    pub tags_of_new: Tags,
}

impl Parameter {
    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            settings,
            version: _,     // each write has its own
            tags_of_new: _, // never read
        } = self;
        let Settings { options, pinned_version, old_keys, since: _, unknown: _ } = match settings {
            Ok(settings) => settings,
            Err(bad) => return vec![field(ParameterField::Content, bad.to_string())],
        };
        let options = options.values().into_iter().flat_map(|(flag, value)| match value {
            Value::Object(tags) if !tags.is_empty() => {
                let tags = tags.into_iter();
                tags.map(|(key, value)| (format!("{flag}.{key}"), value)).collect()
            }
            value => vec![(flag, value)],
        });
        let option = |(path, value): (String, Value)| match value {
            Value::Object(_) => entry(ParameterField::Options, &path, "none"),
            Value::Bool(on) => entry(ParameterField::Options, &path, on),
            other => entry(ParameterField::Options, &path, other.as_str().unwrap_or_default()),
        };
        let mut fields: Vec<Field> = options.map(option).collect();
        let pinned = pinned_version.map(|version| FieldValue::Text(version.to_string()));
        fields.push(field(ParameterField::PinnedVersion, pinned));
        for (key, until) in old_keys {
            fields.push(entry(ParameterField::OldKeys, key.as_str(), String::from(*until)));
        }
        fields
    }

    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref().ok()
    }
}

impl Scope {
    pub fn settings_parameter(&self) -> ParameterName {
        fixed(format!("{SETTINGS_PATH}{}", self.bus))
    }

    /// The ARN of a parameter whose name begins with a slash.
    pub fn parameter_arn(&self, parameter: &ParameterName) -> String {
        self.arn("ssm", &format!("parameter{parameter}"))
    }
}

/// The path of all settings of hubs.
pub const SETTINGS_PATH: &str = "/kibus/";

impl Particulars for Parameter {
    /// Its name belongs to the bus. A parameter with other content is refused before anything is planned.
    fn ownership(&self, _scope: &Scope) -> Ownership {
        Ownership::Content(true)
    }

    /// Entries that are no longer needed are removed last, after they are gone from every resource.
    fn while_leaving(&self, before: &Resource) -> Option<Resource> {
        let (before, settings) = (before.as_parameter()?, self.settings()?);
        let kept = settings.while_leaving(before.settings()?);
        // A second write follows the first.
        let version = before.version + 1;
        (kept != *settings).then(|| Resource::Parameter(Self { settings: Ok(kept), version, ..self.clone() }))
    }

    fn summary(&self) -> String {
        let options = self.settings().map(|settings| settings.options.values()).unwrap_or_default();
        if options.is_empty() { "defaults".to_owned() } else { options.keys().cloned().collect::<Vec<_>>().join(", ") }
    }
}
