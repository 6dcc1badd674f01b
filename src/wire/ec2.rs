//! The calls to EC2 that kibus needs, in the query protocol (API version 2016-11-15): a form in the request, an XML document
//! in the answer. The SDK's EC2 crate is not used: it can only be built whole, and that needs more memory than many machines
//! have.

use std::collections::HashMap;

use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugin, StaticRuntimePlugin};
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_types::SdkConfig;
use roxmltree::{Document, Node};
use urlencoding::encode;

use super::aws_code;
use super::signed_call::{self, ErrorResponse, Service};
#[cfg(feature = "cli")]
use crate::model::Instance;
use crate::model::Tags;

const VERSION: &str = "2016-11-15";

const EC2: Service = Service::of("EC2", "ec2");

/// How many values a filter takes (EC2 API reference, `DescribeTags`).
pub const MAX_IDS: usize = 200;

const PAGE: &str = "1000";

/// A client of EC2, or of another service with the query protocol. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    operation: Operation<String, String, ErrorResponse>,
    version: &'static str,
}

pub type Param = (String, String);
pub(super) type Unanswered = SdkError<ErrorResponse, HttpResponse>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ec2Error {
    #[error("EC2 refused: {code} ({status}): {message}")]
    Refused {
        status: u16,
        /// EC2's code, like `UnauthorizedOperation`; empty if the answer had none.
        code: String,
        message: String,
    },
    /// There was no answer: no connection, no credentials, or a timeout.
    #[error("no answer from EC2: {0}")]
    Unreachable(String),
    /// The answer is not one that EC2 gives to this call.
    #[error("unreadable answer from EC2: {0}")]
    Unreadable(String),
}

pub fn endpoint(config: &SdkConfig) -> String {
    signed_call::endpoint(config, EC2)
}

/// The tags of those of at most [`MAX_IDS`] resources that have any, from all pages. `on_call` runs before the request of
/// each page, because every page counts as a call. An id that does not exist has no tags; it is not an error. If a page cannot
/// be read, there is no result at all.
pub async fn describe_tags(
    client: &Client,
    ids: &[&str],
    mut on_call: impl FnMut(),
) -> Result<HashMap<String, Tags>, Ec2Error> {
    let mut params = params(&[("Filter.1.Name", "resource-id"), ("MaxResults", PAGE)]);
    params.extend(list("Filter.1.Value", ids.iter().copied()));
    let first_page = params.len();
    let mut found = HashMap::new();
    loop {
        on_call();
        let read = |page: Node<'_, '_>| read_tags(page, &mut found);
        let Some(token) = client.call("DescribeTags", &params, read).await? else {
            return Ok(found);
        };
        params.truncate(first_page);
        params.push(("NextToken".to_owned(), token));
    }
}

/// The answer about the instances that this filter selects, which [`instances`] reads. `token` is that of the page.
#[cfg(feature = "cli")]
pub async fn describe_instances(
    client: &Client,
    (filter, value): (&str, &str),
    token: Option<&str>,
) -> Result<String, Unanswered> {
    let mut params = params(&[("Filter.1.Name", filter), ("Filter.1.Value.1", value), ("MaxResults", PAGE)]);
    params.extend(token.map(|token| ("NextToken".to_owned(), token.to_owned())));
    client.send("DescribeInstances", &params).await
}

/// The instances in an answer, and the token of the next page.
#[cfg(feature = "cli")]
pub fn instances(answer: &str) -> Result<(Vec<Instance>, Option<String>), Ec2Error> {
    read_document(answer, "DescribeInstancesResponse", |page| {
        let all = items(page, "reservationSet").flat_map(|reservation| items(reservation, "instancesSet"));
        let token = text(page, "nextToken").map(str::to_owned);
        Ok((all.filter_map(instance).collect(), token))
    })
}

#[cfg(feature = "cli")]
fn instance(item: Node<'_, '_>) -> Option<Instance> {
    let of = |name: &str| text(item, name).unwrap_or_default().to_owned();
    let within = |element: &str, name: &str| {
        let found = items(item, element).find(|child| child.has_tag_name(name));
        found.and_then(|child| child.text()).unwrap_or_default().to_owned()
    };
    let tag = |tag| Some((text(tag, "key")?.to_owned(), text(tag, "value")?.to_owned()));
    Some(Instance {
        id: text(item, "instanceId")?.parse().ok()?,
        host: of("privateDnsName"),
        instance_type: of("instanceType"),
        zone: within("placement", "availabilityZone"),
        state: within("instanceState", "name"),
        is_spot: of("instanceLifecycle") == "spot",
        launched: of("launchTime"),
        tags: items(item, "tagSet").filter_map(tag).collect(),
    })
}

/// Launches a Spot instance with these tags and gives its id. Without a client token, a retry after a lost answer launches twice.
pub async fn run_instance(client: &Client, image: &str, kind: &str, tags: &Tags) -> Result<Option<String>, Ec2Error> {
    let mut params = params(&[
        ("ImageId", image),
        ("InstanceType", kind),
        ("MinCount", "1"),
        ("MaxCount", "1"),
        ("InstanceMarketOptions.MarketType", "spot"),
    ]);
    if !tags.0.is_empty() {
        params.push(("TagSpecification.1.ResourceType".to_owned(), "instance".to_owned()));
        params.extend(list_of_tags("TagSpecification.1.Tag", tags));
    }
    client.call("RunInstances", &params, |answer| Ok(first_instance(answer))).await
}

pub(super) fn params(pairs: &[(&str, &str)]) -> Vec<Param> {
    let pairs = pairs.iter();
    pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A list as parameters: `key.1`, `key.2` and so on.
pub fn list<'a>(key: &str, values: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = Param> {
    let values = values.into_iter().zip(1..);
    values.map(move |(value, n)| (format!("{key}.{n}"), value.to_owned()))
}

/// Tags as parameters: `key.1.Key`, `key.1.Value` and so on.
pub fn list_of_tags(key: &str, tags: &Tags) -> impl Iterator<Item = Param> {
    tags.0.iter().zip(1..).flat_map(move |((name, value), n)| {
        let param = |part: &str, text: &String| (format!("{key}.{n}.{part}"), text.clone());
        [param("Key", name), param("Value", value)]
    })
}

fn form(action: &str, version: &str, params: &[Param]) -> String {
    let params = params.iter().map(|(key, value)| format!("&{}={}", encode(key), encode(value)));
    format!("Action={action}&Version={version}{}", params.collect::<String>())
}

impl Client {
    /// A client of a configuration. Without a retry configuration it retries as the SDK's standard mode does.
    pub fn new(config: &SdkConfig) -> Self {
        Self::of(config, EC2, VERSION)
    }

    /// A client for [`describe_instances`], with further interceptors and retry classifiers.
    #[cfg(feature = "cli")]
    pub fn of_instances(config: &SdkConfig, further: impl RuntimePlugin + 'static) -> Self {
        Self::named(config, EC2, VERSION, "DescribeInstances", further)
    }

    pub(super) fn of(config: &SdkConfig, service: Service, version: &'static str) -> Self {
        Self::named(config, service, version, "Query", StaticRuntimePlugin::new())
    }

    /// A client whose calls have this name in the log, with further interceptors and retry classifiers.
    pub(super) fn named(
        config: &SdkConfig,
        service: Service,
        version: &'static str,
        name: &'static str,
        further: impl RuntimePlugin + 'static,
    ) -> Self {
        let operation = signed_call::operation(config, service, name, signed_call::runtime(config, service))
            .runtime_plugin(further)
            .serializer(|form| signed_call::post(form, "application/x-www-form-urlencoded"))
            .deserializer(|response| signed_call::answer(response, error_in))
            .build();
        Self { operation, version }
    }

    /// Makes a call and reads EC2's answer: the root element of a complete document, `<action>Response`.
    pub async fn call<T>(
        &self,
        action: &str,
        params: &[Param],
        read: impl FnOnce(Node<'_, '_>) -> Result<T, Ec2Error>,
    ) -> Result<T, Ec2Error> {
        let answer = self.send(action, params).await?;
        read_document(&answer, &format!("{action}Response"), read)
    }

    /// Makes a call. Gives the text of the answer.
    pub(super) async fn send(&self, action: &str, params: &[Param]) -> Result<String, Unanswered> {
        self.operation.invoke(form(action, self.version, params)).await
    }
}

/// Reads a document with this root. A text that is cut off is no document: half a list of tags must not look complete.
fn read_document<T>(
    xml: &str,
    root: &str,
    read: impl FnOnce(Node<'_, '_>) -> Result<T, Ec2Error>,
) -> Result<T, Ec2Error> {
    let document = Document::parse(xml).map_err(|e| Ec2Error::Unreadable(e.to_string()))?;
    let element = document.root_element();
    if !element.has_tag_name(root) {
        let name = element.tag_name().name();
        return Err(Ec2Error::Unreadable(format!("`{name}` where `{root}` was expected")));
    }
    read(element)
}

/// Adds the tags of a page, and gives the token of the next page if there is one.
fn read_tags(answer: Node<'_, '_>, found: &mut HashMap<String, Tags>) -> Result<Option<String>, Ec2Error> {
    for item in items(answer, "tagSet") {
        let (Some(id), Some(key)) = (text(item, "resourceId"), text(item, "key")) else {
            return Err(Ec2Error::Unreadable("a tag without a resource or a key".to_owned()));
        };
        let value = text(item, "value").unwrap_or_default();
        let tags = found.entry(id.to_owned()).or_default();
        tags.0.insert(key.to_owned(), value.to_owned());
    }
    let token = text(answer, "nextToken").filter(|token| !token.is_empty());
    Ok(token.map(str::to_owned))
}

fn first_instance(answer: Node<'_, '_>) -> Option<String> {
    let instance = items(answer, "instancesSet").next()?;
    text(instance, "instanceId").map(str::to_owned)
}

/// The elements of every list of this name in an element.
fn items<'a>(element: Node<'a, 'a>, list: &str) -> impl Iterator<Item = Node<'a, 'a>> {
    let lists = element.children().filter(move |child| child.has_tag_name(list));
    lists.flat_map(|list| list.children()).filter(Node::is_element)
}

/// The text of the first element of this name in an element; `None` if there is no such element.
fn text<'a>(element: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let child = element.children().find(|child| child.has_tag_name(name))?;
    Some(child.text().unwrap_or_default())
}

/// The first code and message of an error document: `<Response><Errors><Error><Code/><Message/>`.
fn error_in(xml: &str) -> [Option<String>; 2] {
    let document = Document::parse(xml).ok();
    ["Code", "Message"].map(|name| {
        let mut elements = document.as_ref()?.descendants();
        let text = elements.find(|element| element.has_tag_name(name))?.text()?;
        Some(text.to_owned())
    })
}

impl Ec2Error {
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } if !code.is_empty() => Some(code),
            _ => None,
        }
    }

    pub fn is_throttled(&self) -> bool {
        matches!(self, Self::Refused { status: 429, .. }) || self.code().is_some_and(aws_code::is_throttled)
    }

    pub fn is_denied(&self) -> bool {
        self.code().is_some_and(|code| {
            aws_code::is_denied(code) || aws_code::is_unauthenticated(code) || aws_code::is_not_subscribed(code)
        })
    }

    /// Whether the same call may succeed soon. Expired credentials count, because the next call takes new ones.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Unreadable(_) => true,
            Self::Refused { status, code, .. } => {
                *status >= 500 || self.is_throttled() || aws_code::is_expired(code) || aws_code::is_server_error(code)
            }
        }
    }
}

impl From<Unanswered> for Ec2Error {
    fn from(e: Unanswered) -> Self {
        match &e {
            SdkError::ServiceError(context) => Self::Refused {
                status: context.err().status,
                code: context.err().code().unwrap_or_default().to_owned(),
                message: context.err().message().unwrap_or_default().to_owned(),
            },
            SdkError::ResponseError(_) => Self::Unreadable(DisplayErrorContext(&e).to_string()),
            _ => Self::Unreachable(DisplayErrorContext(&e).to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
