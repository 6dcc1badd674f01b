//! Lists that AWS returns in pages.

use serde_json::{Value, json};

use super::error::rejected;
use super::{AwsCloud, Sent, operation};
use crate::cloud::Fault;
use crate::wire::aws_json::JsonClient;

/// The most pages of one list. The shortest full pages have 50 items.
const MOST: usize = 1_000;

/// The items of a page, and the token of the next one.
pub(super) type Page<I> = (Option<Vec<I>>, Option<String>);

/// The items of every page; `action` is the call as IAM names it, and `page` makes it with the token of a page. A page that
/// is throttled is asked for again, and not the pages before it.
pub(super) async fn all<I, F: Sent<Page<I>>>(
    cloud: &AwsCloud,
    action: &str,
    page: impl Fn(Option<String>) -> F,
) -> Result<Vec<I>, Fault> {
    let (mut all, mut token) = (Vec::new(), None);
    for _ in 0..MOST {
        let (items, next) = cloud.call(action, || page(token.clone())).await?;
        all.extend(items.unwrap_or_default());
        token = next.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(all);
        }
    }
    Err(rejected(action, format!("the list does not end after {MOST} pages")))
}

/// The items of every page of a call of AWS JSON. `members` are the names of the list and of the token.
pub(super) async fn of_json(
    cloud: &AwsCloud,
    client: &JsonClient,
    action: &'static str,
    input: Value,
    members: [&str; 2],
) -> Result<Vec<Value>, Fault> {
    let page = |token: Option<String>| {
        let mut input = input.clone();
        input[members[1]] = json!(token);
        async move { Ok(taken(client.call(operation(action), input).await?, members)) }
    };
    all(cloud, action, page).await
}

pub(super) fn taken(mut page: Value, [list, token]: [&str; 2]) -> Page<Value> {
    let items = match page.get_mut(list).map(Value::take) {
        Some(Value::Array(items)) => Some(items),
        _ => None,
    };
    (items, page.get(token).and_then(Value::as_str).map(str::to_owned))
}
