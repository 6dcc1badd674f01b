//! The Regions of all partitions, and where SQS has fewer features.

use super::name::Region;

/// Every Region that the AWS SDK knows, by partition (partitions.json of the AWS SDK for Rust, `aws-sdk-sts` 1.124).
/// Only for suggestions: Regions newer than this list are just as valid.
pub const REGIONS: [&str; 46] = [
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
    "cn-north-1",
    "cn-northwest-1",
    "eusc-de-east-1",
    "us-iso-east-1",
    "us-iso-west-1",
    "us-isob-east-1",
    "us-isob-west-1",
    "eu-isoe-west-1",
    "us-isof-east-1",
    "us-isof-south-1",
    "us-gov-east-1",
    "us-gov-west-1",
];

/// In these Regions `aws:ResourceTag` and `aws:RequestTag` match no call of SQS: Hyderabad, Melbourne, Zurich and Spain
/// (SQS developer guide, "Attribute-based access control for Amazon SQS", read in November 2026; the guide covers only
/// commercial Regions).
pub const WITHOUT_QUEUE_TAG_CONDITIONS: [&str; 4] = ["ap-south-2", "ap-southeast-4", "eu-central-2", "eu-south-2"];

/// AWS FIS cannot interrupt Spot instances in these Regions: Osaka, Jakarta and the UAE; nor in any Region of China (FIS user guide,
/// "AWS FIS actions reference", read in November 2026).
const WITHOUT_SPOT_INTERRUPTIONS: [&str; 3] = ["ap-northeast-3", "ap-southeast-3", "me-central-1"];

impl Region {
    /// Whether AWS FIS can interrupt a Spot instance.
    pub fn has_spot_interruptions(&self) -> bool {
        !self.as_str().starts_with("cn-") && !WITHOUT_SPOT_INTERRUPTIONS.contains(&self.as_str())
    }

    /// Whether an IAM policy can require tags on a queue. Where it cannot, policies name queues by the pattern of their names alone.
    pub fn has_queue_tag_conditions(&self) -> bool {
        !WITHOUT_QUEUE_TAG_CONDITIONS.contains(&self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn some_regions_have_no_spot_interruptions() {
        let has = |region: &&&str| region.parse::<Region>().unwrap().has_spot_interruptions();
        let without = REGIONS.iter().filter(|region| !has(region)).copied();
        let expected = ["ap-northeast-3", "ap-southeast-3", "me-central-1", "cn-north-1", "cn-northwest-1"];
        assert_eq!(without.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_region_is_valid_and_listed_once() {
        let regions: BTreeSet<Region> = REGIONS.iter().map(|region| region.parse().unwrap()).collect();
        assert_eq!(regions.len(), REGIONS.len());
    }
}
