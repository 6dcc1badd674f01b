//! Which hub a text is about.

use crate::model::name::{AccountId, BusName, Region};
use crate::model::scope::Scope;

/// A bus with its account and Region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The bus.
    pub bus: BusName,
    /// Its account.
    pub account: AccountId,
    /// Its Region.
    pub region: Region,
}

impl From<&Scope> for Heading {
    fn from(scope: &Scope) -> Self {
        Self {
            bus: scope.bus.clone(),
            account: scope.account.clone(),
            region: scope.region.clone(),
        }
    }
}
