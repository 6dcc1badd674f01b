//! The Regions where SQS does not support tags in IAM conditions.

use crate::model::name::Region;

/// In these Regions `aws:ResourceTag` and `aws:RequestTag` match no call of SQS: Hyderabad, Melbourne, Zurich and Spain
/// (SQS developer guide, "Attribute-based access control for Amazon SQS", read in November 2026; the guide covers only
/// commercial Regions).
pub const WITHOUT_QUEUE_TAG_CONDITIONS: [&str; 4] = ["ap-south-2", "ap-southeast-4", "eu-central-2", "eu-south-2"];

impl Region {
    /// Whether an IAM policy can require tags on a queue. Where it cannot, policies name queues by their prefix alone.
    pub fn has_queue_tag_conditions(&self) -> bool {
        !WITHOUT_QUEUE_TAG_CONDITIONS.contains(&self.as_str())
    }
}
