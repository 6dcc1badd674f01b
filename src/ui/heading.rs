//! Which hub a text is about.

use crate::model::name::{AccountId, BusName, Region};
use crate::model::scope::Scope;

/// A bus with its account and Region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The bus.
    pub bus: BusName,
    /// Its account; `None` if the hub could not be reached.
    pub account: Option<AccountId>,
    /// Its Region; `None` if that is not configured.
    pub region: Option<Region>,
    /// What tells it from the other hubs of the command; empty without others.
    pub label: String,
}

impl From<&Scope> for Heading {
    fn from(scope: &Scope) -> Self {
        Self {
            bus: scope.bus.clone(),
            account: Some(scope.account.clone()),
            region: Some(scope.region.clone()),
            label: String::new(),
        }
    }
}

impl Heading {
    /// The account as text.
    pub(super) fn account(&self) -> &str {
        self.account.as_ref().map_or("unknown", AccountId::as_str)
    }

    /// The Region as text.
    pub(super) fn region(&self) -> &str {
        self.region.as_ref().map_or("no Region", Region::as_str)
    }

    /// Labels the hubs of a command with the parts in which they differ: account, Region and bus.
    pub fn tell_apart<'a>(headings: impl IntoIterator<Item = &'a mut Self>) {
        let mut headings: Vec<_> = headings.into_iter().collect();
        let parts = |heading: &Self| {
            let account = heading.account.as_ref().map_or("unknown account", AccountId::as_str);
            [account.to_owned(), heading.region().to_owned(), heading.bus.to_string()]
        };
        let all: Vec<[String; 3]> = headings.iter().map(|heading| parts(heading)).collect();
        let differs = |at: usize| all.iter().any(|parts| parts[at] != all[0][at]);
        for (heading, parts) in headings.iter_mut().zip(&all) {
            let label: Vec<&str> = (0..3).filter(|at| differs(*at)).map(|at| parts[at].as_str()).collect();
            heading.label = label.join(" ");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn labels_are_what_differs() {
        let one = Heading::from(&scope());
        let elsewhere = Heading {
            region: Some("eu-west-1".parse().unwrap()),
            ..one.clone()
        };
        let other = Heading {
            bus: "other".parse().unwrap(),
            ..one.clone()
        };
        let unreached = Heading {
            account: None,
            ..elsewhere.clone()
        };
        for (hubs, labels) in [
            (vec![&one], vec![""]),
            (vec![&one, &elsewhere], vec!["us-west-2", "eu-west-1"]),
            (vec![&one, &other], vec!["kibus", "other"]),
            (
                vec![&one, &elsewhere, &other],
                vec!["us-west-2 kibus", "eu-west-1 kibus", "us-west-2 other"],
            ),
            (
                vec![&one, &unreached],
                vec!["111122223333 us-west-2", "unknown account eu-west-1"],
            ),
        ] {
            let mut hubs: Vec<Heading> = hubs.into_iter().cloned().collect();
            Heading::tell_apart(&mut hubs);
            let got: Vec<&str> = hubs.iter().map(|hub| hub.label.as_str()).collect();
            assert_eq!(got, labels);
        }
    }
}
