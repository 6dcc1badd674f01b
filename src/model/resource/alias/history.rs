//! The versions that were live before, saved in the alias's description.

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
