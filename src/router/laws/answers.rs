//! Any answer that EC2 and SQS can return.

use proptest::prelude::*;

use super::fakes::{SendAnswer, TagAnswer};
use crate::model::Tags;
use crate::router::decision::RetryReason;
use crate::router::services::CallFailure;

fn any_fault() -> impl Strategy<Value = CallFailure> {
    prop_oneof![
        Just(CallFailure::Again(RetryReason::SendThrottled)),
        Just(CallFailure::Denied),
        Just(CallFailure::Absent),
        Just(CallFailure::TooLong),
        Just(CallFailure::Refused),
    ]
}

fn any_entry() -> impl Strategy<Value = Result<(), CallFailure>> {
    prop_oneof![3 => Just(Ok(())), 1 => any_fault().prop_map(Err)]
}

pub(super) fn any_send() -> impl Strategy<Value = SendAnswer> {
    prop_oneof![
        4 => prop::collection::vec(any_entry(), 1..5).prop_map(SendAnswer::Entries),
        2 => any_fault().prop_map(SendAnswer::CallFailure),
        1 => Just(SendAnswer::Short),
        1 => Just(SendAnswer::Panic),
    ]
}

pub(super) fn any_tag_answer() -> impl Strategy<Value = TagAnswer> {
    prop_oneof![
        4 => Just(TagAnswer::True),
        2 => any_fault().prop_map(TagAnswer::CallFailure),
        1 => Just(TagAnswer::Panic),
    ]
}

pub(super) fn any_queue_tags() -> impl Strategy<Value = Result<Tags, CallFailure>> {
    prop_oneof![
        Just(Ok(Tags::default())),
        Just(Ok(Tags::default().with("kibus:bus", "kibus").with("kibus:cluster", "c1"))),
        any_fault().prop_map(Err),
    ]
}
