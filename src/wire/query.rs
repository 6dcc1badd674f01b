//! The query protocol of EC2 and SNS: a form in the request, an XML document in the answer.

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

/// A client of a service. Clones share their connections.
#[derive(Clone, Debug)]
pub(super) struct Client {
    operation: Operation<String, String, ErrorResponse>,
    version: &'static str,
}

pub type Param = (String, String);
pub(super) type Unanswered = SdkError<ErrorResponse, HttpResponse>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("refused: {code} ({status}): {message}")]
    Refused {
        status: u16,
        /// The code, like `UnauthorizedOperation`; empty if the response had none.
        code: String,
        message: String,
    },
    /// There was no answer: no connection, no credentials, or a timeout.
    #[error("no answer: {0}")]
    Unreachable(String),
    /// The response does not belong to this call.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
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

fn form(action: &str, version: &str, params: &[Param]) -> String {
    let params = params.iter().map(|(key, value)| format!("&{}={}", encode(key), encode(value)));
    format!("Action={action}&Version={version}{}", params.collect::<String>())
}

impl Client {
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

    /// Makes a call and reads its answer: the root element of a complete document, `<action>Response`.
    pub(super) async fn call<T>(
        &self,
        action: &str,
        params: &[Param],
        read: impl FnOnce(Node<'_, '_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let answer = self.send(action, params).await?;
        read_document(&answer, &format!("{action}Response"), read)
    }

    /// Makes a call. Returns the text of the answer.
    pub(super) async fn send(&self, action: &str, params: &[Param]) -> Result<String, Unanswered> {
        self.operation.invoke(form(action, self.version, params)).await
    }
}

/// Reads a document with this root. Truncated text is not a document: half a list of tags must not look complete.
pub(super) fn read_document<T>(
    xml: &str,
    root: &str,
    read: impl FnOnce(Node<'_, '_>) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let document = Document::parse(xml).map_err(|e| QueryError::Unreadable(e.to_string()))?;
    let element = document.root_element();
    if !element.has_tag_name(root) {
        let name = element.tag_name().name();
        return Err(QueryError::Unreadable(format!("`{name}` where `{root}` was expected")));
    }
    read(element)
}

/// The elements of every list of this name in an element.
pub(super) fn items<'a>(element: Node<'a, 'a>, list: &str) -> impl Iterator<Item = Node<'a, 'a>> {
    let lists = element.children().filter(move |child| child.has_tag_name(list));
    lists.flat_map(|list| list.children()).filter(Node::is_element)
}

/// The text of the first element of this name in an element; `None` if there is no such element.
pub(super) fn text<'a>(element: Node<'a, '_>, name: &str) -> Option<&'a str> {
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

impl QueryError {
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

    /// Whether the same call may succeed soon. Expired credentials count, because the next call uses new ones.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Unreadable(_) => true,
            Self::Refused { status, code, .. } => {
                *status >= 500 || self.is_throttled() || aws_code::is_expired(code) || aws_code::is_server_error(code)
            }
        }
    }
}

impl From<Unanswered> for QueryError {
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
