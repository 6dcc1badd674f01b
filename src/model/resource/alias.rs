//! The alias that the event source mapping points to, and the versions that it can be rolled back to.

use std::collections::BTreeSet;

use super::function::FunctionSettings;
use crate::model::field::{Field, field, field_names};
use crate::model::name::FunctionName;

field_names! {
    /// The fields of an alias beside those of the version that it points to.
    AliasField {
        Shares = "shares",
        Rollback = "rollback",
        Versions = "versions",
    }
}

/// An alias of a function, compared by the settings of the version that it points to.
///
/// Lambda assigns the number of a new version, so the number is read and shown but not compared. Only a rollback sets
/// the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The function.
    pub function: FunctionName,
    /// The alias's name.
    pub name: String,
    /// The settings of the published version.
    pub settings: FunctionSettings,
    /// The number of the version that it points to.
    pub version: Option<u64>,
    /// The other versions that receive a share of the invocations, each with its weight. Kibus sets none.
    pub shares: BTreeSet<String>,
    /// The versions that kibus moved it to before.
    pub history: History,
    /// The existing versions that kibus published.
    pub versions: BTreeSet<u64>,
}

/// The versions that kibus moved an alias to. They are saved in the alias's description, which changes in the call
/// that moves the alias.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The versions that were live before and are kept for a rollback, the latest first.
    pub before: Vec<u64>,
    /// The version that was in use before the rollback.
    pub rolled_back_from: Option<u64>,
}

/// How many versions before the live one are kept.
pub const KEPT: usize = 2;

impl Alias {
    /// The path of the field that says that the alias was rolled back.
    pub const ROLLBACK: &str = AliasField::Rollback.path();
    /// The path of the field that lists the versions that kibus published. Only a plan that moves the alias has it.
    pub const VERSIONS: &str = AliasField::Versions.path();

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            function: _, // names the resource
            name: _,     // names the resource
            settings,
            version,
            shares,
            history: History {
                before: _,
                rolled_back_from,
            }, // earlier versions are no difference
            versions: _, // a plan that moves the alias decides on them
        } = self;
        let mut fields = settings.fields();
        fields.push(field(AliasField::Shares, shares.clone()));
        let rollback = rolled_back_from.map(|from| match version {
            Some(version) => format!("from version {from} to version {version}"),
            None => format!("from version {from}"),
        });
        fields.push(field(AliasField::Rollback, rollback));
        fields
    }

    /// The versions to keep when the alias moves from this state, the latest first: those that kibus published and
    /// that were live. `publishes` says that the settings change, so that a new version is published and one fewer is
    /// kept.
    #[must_use]
    pub fn kept(&self, publishes: bool) -> Vec<u64> {
        let mut kept: Vec<u64> = Vec::new();
        for number in self.version.iter().chain(&self.history.before) {
            if self.versions.contains(number) && !kept.contains(number) {
                kept.push(*number);
            }
        }
        kept.truncate(if publishes { KEPT } else { KEPT + 1 });
        kept
    }

    /// The version that a rollback makes live: `to`, or the one before the live version. `None` if it is live already.
    ///
    /// # Errors
    /// When no such version is kept.
    pub fn rollback_target(&self, to: Option<u64>) -> Result<Option<u64>, NoRollbackVersion> {
        let none = || NoRollbackVersion {
            requested: to,
            kept: self.history.before.clone(),
        };
        match to {
            // A second rollback without a number changes nothing, so an interrupted command can be run again.
            None if self.history.rolled_back_from.is_some() => Ok(None),
            None => self.history.before.first().copied().map(Some).ok_or_else(none),
            Some(_) if self.version == to => Ok(None),
            Some(version) if self.history.before.contains(&version) => Ok(Some(version)),
            Some(_) => Err(none()),
        }
    }

    /// The same alias after a rollback to version `to`, which has these settings.
    #[must_use]
    pub fn rolled_back(&self, to: u64, settings: FunctionSettings) -> Self {
        Self {
            function: self.function.clone(),
            name: self.name.clone(),
            settings,
            version: Some(to),
            shares: BTreeSet::new(),
            versions: self.versions.clone(),
            history: History {
                before: self.history.before.iter().copied().filter(|kept| *kept < to).collect(),
                rolled_back_from: self.history.rolled_back_from.or(self.version),
            },
        }
    }
}

/// There is no version to roll back to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", match .requested {
    Some(version) => format!("version {version} is not available for rollback"),
    None => "no version of the router is available for rollback".to_owned(),
})]
pub struct NoRollbackVersion {
    /// The requested version.
    pub requested: Option<u64>,
    /// The versions that are kept.
    pub kept: Vec<u64>,
}

impl History {
    /// The description that saves this history in an alias that points to this version.
    #[must_use]
    pub fn describe(&self, version: u64) -> String {
        let mut text = format!("{VERSION}{version}");
        if let Some(from) = self.rolled_back_from {
            text.push_str(&format!("{BACK_FROM}{from}"));
        }
        if !self.before.is_empty() {
            let before: Vec<String> = self.before.iter().map(u64::to_string).collect();
            text.push_str(&format!("{BEFORE}{}", before.join(" ")));
        }
        text
    }

    /// The history once the alias points to this version.
    #[must_use]
    pub fn moved_to(&self, version: u64) -> Self {
        let mut before = self.before.clone();
        before.retain(|number| *number != version);
        before.truncate(KEPT);
        Self {
            before,
            rolled_back_from: None,
        }
    }

    /// The history in the description of an alias that points to this version, or to `$LATEST`, which has no number. If
    /// something other than kibus moved the alias, the version that kibus moved it to is the latest one before.
    #[must_use]
    pub fn saved(description: &str, version: Option<u64>) -> Self {
        match read(description) {
            Some((described, history)) if Some(described) == version => history,
            Some((described, history)) => Self {
                before: std::iter::once(described).chain(history.before).collect(),
                rolled_back_from: None,
            },
            None => Self::default(),
        }
    }
}

const VERSION: &str = "kibus: version ";
const BACK_FROM: &str = ", back from ";
const BEFORE: &str = ", before ";

/// The version in a description, and the saved history.
fn read(description: &str) -> Option<(u64, History)> {
    let rest = description.strip_prefix(VERSION)?;
    let (rest, before) = match rest.split_once(BEFORE) {
        Some((rest, before)) => (
            rest,
            before
                .split(' ')
                .map(|number| number.parse().ok())
                .collect::<Option<_>>()?,
        ),
        None => (rest, Vec::new()),
    };
    let (version, rolled_back_from) = match rest.split_once(BACK_FROM) {
        Some((version, from)) => (version, Some(from.parse().ok()?)),
        None => (rest, None),
    };
    Some((
        version.parse().ok()?,
        History {
            before,
            rolled_back_from,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hub::Hub;
    use crate::model::options::HubOptions;
    use crate::model::resource::{Code, Resource};
    use crate::model::scope::tests::scope;

    fn alias(version: u64, rolled_back_from: Option<u64>, before: &[u64]) -> Alias {
        let desired = Hub::new(&scope(), HubOptions::default(), Code::of_archive("0.1.0", "aa")).desired();
        let found = desired.resources().find_map(Resource::as_alias).cloned();
        Alias {
            version: Some(version),
            history: History {
                before: before.to_vec(),
                rolled_back_from,
            },
            versions: (1..=9).collect(),
            ..found.unwrap()
        }
    }

    #[test]
    fn a_description_keeps_the_history_when_something_else_moves_the_alias() {
        for (rolled_back_from, before, text) in [
            (None, &[][..], "kibus: version 5"),
            (None, &[4, 2][..], "kibus: version 5, before 4 2"),
            (Some(6), &[][..], "kibus: version 5, back from 6"),
            (Some(6), &[4][..], "kibus: version 5, back from 6, before 4"),
        ] {
            let history = alias(5, rolled_back_from, before).history;
            assert_eq!(history.describe(5), text);
            assert_eq!(History::saved(text, Some(5)), history, "{text}");
            for moved_to in [Some(9), None] {
                let moved = History::saved(text, moved_to);
                assert_eq!((moved.before[0], &moved.before[1..]), (5, before), "{text}");
                assert_eq!(moved.rolled_back_from, None, "{text}");
            }
        }
        for text in [
            "",
            "mine",
            "kibus: version x",
            "kibus: version 5, before ",
            "kibus: version 5, before 4 x",
        ] {
            assert_eq!(History::saved(text, Some(5)), History::default(), "{text}");
        }
    }

    #[test]
    fn the_last_good_versions_are_kept() {
        for (name, version, rolled_back_from, before, published, next, saved, kept) in [
            ("the first", 1, None, &[][..], &[1][..], 2, &[1][..], &[1][..]),
            (
                "the third",
                3,
                None,
                &[2, 1][..],
                &[1, 2, 3][..],
                4,
                &[3, 2][..],
                &[3, 2][..],
            ),
            (
                "after one that failed its self-test",
                3,
                None,
                &[2, 1][..],
                &[1, 2, 3, 4][..],
                5,
                &[3, 2][..],
                &[3, 2][..],
            ),
            (
                "after a rollback",
                2,
                Some(3),
                &[1][..],
                &[1, 2, 3][..],
                4,
                &[2, 1][..],
                &[2, 1][..],
            ),
            (
                "to the version that was rolled back",
                2,
                Some(3),
                &[1][..],
                &[1, 2, 3][..],
                3,
                &[2, 1][..],
                &[2, 1][..],
            ),
            (
                "from a foreign version",
                4,
                None,
                &[3, 2, 1][..],
                &[1, 2, 3][..],
                5,
                &[3, 2][..],
                &[3, 2][..],
            ),
            (
                "with one deleted by hand",
                3,
                None,
                &[2, 1][..],
                &[1, 3][..],
                4,
                &[3, 1][..],
                &[3, 1][..],
            ),
            (
                "moved to an older one by hand",
                2,
                None,
                &[3, 2, 1][..],
                &[1, 2, 3][..],
                4,
                &[2, 3][..],
                &[2, 3][..],
            ),
        ] {
            let mut alias = alias(version, rolled_back_from, before);
            alias.versions = published.iter().copied().collect();
            assert_eq!(alias.kept(true), kept, "{name}");
            let history = History {
                before: alias.kept(true),
                rolled_back_from: None,
            };
            assert_eq!(history.moved_to(next).before, saved, "{name}");
        }
        // The version stays: its number is the one to move to.
        let same = alias(3, None, &[2, 1]);
        assert_eq!(same.kept(false), [3, 2, 1]);
        let history = History {
            before: same.kept(false),
            rolled_back_from: None,
        };
        assert_eq!(history.moved_to(3).before, [2, 1]);
    }

    #[test]
    fn a_second_rollback_needs_a_version_to_go_further() {
        let none = |requested, kept: &[u64]| {
            Err(NoRollbackVersion {
                requested,
                kept: kept.to_vec(),
            })
        };
        for (name, alias, to, leads) in [
            ("to the one before", alias(3, None, &[2, 1]), None, Ok(Some(2))),
            ("again", alias(2, Some(3), &[1]), None, Ok(None)),
            ("on, by number", alias(2, Some(3), &[1]), Some(1), Ok(Some(1))),
            ("to where it is", alias(3, None, &[2, 1]), Some(3), Ok(None)),
            ("nothing before", alias(1, None, &[]), None, none(None, &[])),
            (
                "one that is not kept",
                alias(5, None, &[4, 3]),
                Some(1),
                none(Some(1), &[4, 3]),
            ),
            ("forward", alias(2, Some(3), &[1]), Some(3), none(Some(3), &[1])),
        ] {
            assert_eq!(alias.rollback_target(to), leads, "{name}");
        }
    }

    #[test]
    fn a_rollback_saves_the_first_version_it_started_from() {
        let settings = alias(2, None, &[]).settings;
        let once = alias(3, None, &[2, 1]).rolled_back(2, settings.clone());
        assert_eq!(once, alias(2, Some(3), &[1]));
        assert_eq!(once.rolled_back(1, settings), alias(1, Some(3), &[]));
    }
}
