//! Instance ids, and how they are found in a text.

use std::fmt;

use super::decision::DropReason;
use crate::model::scope::Scope;

/// The id of an instance: `i-` and up to 32 letters and digits. It can never be a wildcard in an EC2 filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(String);

impl InstanceId {
    /// Parses an id.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("i-")?;
        let fits = (1..=32).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric());
        fits.then(|| Self(text.to_owned()))
    }

    /// Finds the id in a text that is an id or an instance's ARN in this account and Region.
    ///
    /// # Errors
    /// Why it is not an instance in this account and Region.
    pub(super) fn find(text: &str, scope: &Scope) -> Result<Self, DropReason> {
        if let Some(id) = Self::parse(text) {
            return Ok(id);
        }
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", _, "ec2", region, account, resource] = parts[..] else {
            return Err(DropReason::NoInstance);
        };
        let id = resource
            .strip_prefix("instance/")
            .and_then(Self::parse)
            .ok_or(DropReason::NoInstance)?;
        if !account.is_empty() && account != scope.account.as_str() {
            return Err(DropReason::OtherAccount);
        }
        if !region.is_empty() && region != scope.region.as_str() {
            return Err(DropReason::OtherRegion);
        }
        Ok(id)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn an_id_is_found_in_an_arn_of_this_account_and_region() {
        let id = "i-0a1b2c3d4e5f60718";
        for (text, found) in [
            (id, Ok(id)),
            (
                "arn:aws:ec2:us-west-2:111122223333:instance/i-0a1b2c3d4e5f60718",
                Ok(id),
            ),
            ("arn:aws:ec2:::instance/i-0a1b2c3d4e5f60718", Ok(id)),
            (
                "arn:aws:ec2:us-east-1:111122223333:instance/i-0a1b2c3d4e5f60718",
                Err(DropReason::OtherRegion),
            ),
            (
                "arn:aws:ec2:us-west-2:444455556666:instance/i-0a1b2c3d4e5f60718",
                Err(DropReason::OtherAccount),
            ),
            (
                "arn:aws:ec2:us-west-2:111122223333:volume/vol-1",
                Err(DropReason::NoInstance),
            ),
            ("vol-0a1b2c3d4e5f60718", Err(DropReason::NoInstance)),
            ("AWS_ACCOUNT", Err(DropReason::NoInstance)),
            ("i-*", Err(DropReason::NoInstance)),
            ("i-", Err(DropReason::NoInstance)),
            ("", Err(DropReason::NoInstance)),
        ] {
            let id = InstanceId::find(text, &scope());
            assert_eq!(id.as_ref().map(InstanceId::as_str).map_err(|e| *e), found, "{text}");
        }
    }
}
