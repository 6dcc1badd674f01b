//! Instance ids, and the texts that they are found in.

use std::fmt;

use super::verdict::Drop;
use crate::model::scope::Scope;

/// The id of an instance: `i-` and up to 32 letters and digits, so never a wildcard of an EC2 filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(String);

impl InstanceId {
    /// An id as it is written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("i-")?;
        let fits = (1..=32).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric());
        fits.then(|| Self(text.to_owned()))
    }

    /// An id, or the one in an instance's ARN. An ARN must be of this account and Region.
    ///
    /// # Errors
    /// Why it is no instance that a cluster here could have.
    pub(super) fn find(text: &str, scope: &Scope) -> Result<Self, Drop> {
        if let Some(id) = Self::parse(text) {
            return Ok(id);
        }
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", _, "ec2", region, account, resource] = parts[..] else {
            return Err(Drop::NoInstance);
        };
        let id = resource
            .strip_prefix("instance/")
            .and_then(Self::parse)
            .ok_or(Drop::NoInstance)?;
        if !account.is_empty() && account != scope.account.as_str() {
            return Err(Drop::OtherAccount);
        }
        if !region.is_empty() && region != scope.region.as_str() {
            return Err(Drop::OtherRegion);
        }
        Ok(id)
    }

    /// The id as text.
    #[must_use]
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
    fn an_id_is_found_in_an_arn_of_here() {
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
                Err(Drop::OtherRegion),
            ),
            (
                "arn:aws:ec2:us-west-2:444455556666:instance/i-0a1b2c3d4e5f60718",
                Err(Drop::OtherAccount),
            ),
            ("arn:aws:ec2:us-west-2:111122223333:volume/vol-1", Err(Drop::NoInstance)),
            ("vol-0a1b2c3d4e5f60718", Err(Drop::NoInstance)),
            ("AWS_ACCOUNT", Err(Drop::NoInstance)),
            ("i-*", Err(Drop::NoInstance)),
            ("i-", Err(Drop::NoInstance)),
            ("", Err(Drop::NoInstance)),
        ] {
            let id = InstanceId::find(text, &scope());
            assert_eq!(id.as_ref().map(InstanceId::as_str).map_err(|e| *e), found, "{text}");
        }
    }
}
