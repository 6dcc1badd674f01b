//! The largest message of a queue, which is smaller in China.

use super::At;
use super::Behavior::S11;
use super::reply::Reply;

const ATTRIBUTE: &str = "MaximumMessageSize";
const LARGEST: u32 = 262_144;

/// The refusal of a larger one.
pub(super) fn refused(at: &At<'_>) -> Option<Reply> {
    let bytes: u32 = at.call.json["Attributes"][ATTRIBUTE].as_str()?.parse().ok()?;
    if bytes <= LARGEST || !applies(at) {
        return None;
    }
    at.strike(S11);
    let message = format!("Invalid value for the parameter {ATTRIBUTE}.");
    Some(Reply::sqs_error(400, "InvalidAttributeValue", "InvalidAttributeValue", &message))
}

/// The default of the emulator becomes that of the Region.
pub(super) fn lower(at: &At<'_>, reply: &mut Reply) {
    let mut body = reply.json();
    let shown = body["Attributes"][ATTRIBUTE].as_str().and_then(|text| text.parse().ok());
    if shown.is_some_and(|bytes: u32| bytes > LARGEST) && applies(at) {
        at.strike(S11);
        body["Attributes"][ATTRIBUTE] = LARGEST.to_string().into();
        reply.set_json(&body);
    }
}

fn applies(at: &At<'_>) -> bool {
    at.is_on(S11) && at.call.region.starts_with("cn-")
}
