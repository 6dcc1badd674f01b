//! The alias that the event source mapping points to.

use super::function::FunctionSettings;
use crate::model::field::Field;
use crate::model::name::FunctionName;

/// An alias of a function, known by what the version that it points to consists of.
///
/// Which number that version has is Lambda's choice, so it is read and shown but never wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The function.
    pub function: FunctionName,
    /// The alias's name.
    pub name: String,
    /// What the published version consists of.
    pub settings: FunctionSettings,
    /// The number of the version that it points to.
    pub version: Option<u64>,
}

impl Alias {
    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            function: _, // names the resource
            name: _,     // names the resource
            settings,
            version: _, // Lambda's choice
        } = self;
        settings.fields()
    }
}
