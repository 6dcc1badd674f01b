//! A proxy that answers for one service what AWS never would.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hyper::Request;
use hyper::body::Bytes;
use serde_json::json;

use crate::aws_like::{AwsLike, Caller};
use crate::support::proxy::{Answer, Broken, Operation, Port, answer, asks_live_router, refusal};

/// A text that no output may contain.
pub(super) const MARK: &str = "sign-in-page";
const HUGE: usize = 10 * 1024 * 1024;

/// An answer that AWS never gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    Empty,
    /// A success with a proxy's HTML page.
    Html,
    /// An error with a proxy's HTML page.
    Forbidden,
    /// A success with 10 MB of something.
    Huge,
    /// An error with a message of 10 MB.
    HugeError,
    /// Pages without items and always with a next page, for one list. No other answer is bad.
    Endless,
    /// Endless pages with one token.
    Repeated,
}

impl Bad {
    pub(super) const ALL: [Self; 5] = [Self::Empty, Self::Html, Self::Forbidden, Self::Huge, Self::HugeError];

    pub(super) fn answer(self, operation: &Operation) -> Answer {
        let page = format!("<html><title>{MARK}</title>\u{1b}[31m</html>");
        let html = |status, body: String| answer(status, "text/html", body);
        match self {
            Self::Empty => html(200, String::new()),
            Self::Html => html(200, page),
            Self::Forbidden => html(403, page),
            Self::Huge => html(200, MARK.repeat(HUGE / MARK.len())),
            Self::HugeError => huge_error(operation),
            Self::Endless => html(200, page_of_nothing(&operation.name, PAGES.fetch_add(1, Ordering::Relaxed))),
            Self::Repeated => html(200, page_of_nothing(&operation.name, 1)),
        }
    }
}

/// An error with a message of 10 MB, in the protocol of the service. Each call of a service receives the same one.
fn huge_error(operation: &Operation) -> Answer {
    static MADE: Mutex<BTreeMap<String, Answer>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap();
    let make = || refusal(operation, 400, "Odd", &"a ".repeat(HUGE / 2));
    made.entry(operation.service().to_owned()).or_insert_with(make).clone()
}

static PAGES: AtomicUsize = AtomicUsize::new(1);

/// Whether an operation returns a list in pages.
fn has_pages(operation: &str) -> bool {
    !page_of_nothing(operation, 0).is_empty()
}

/// A page without items and the token of the next; empty for an operation without pages.
fn page_of_nothing(operation: &str, token: usize) -> String {
    let (list, next) = match operation {
        "tagging:GetResources" => ("ResourceTagMappingList", "PaginationToken"),
        "ssm:GetParametersByPath" => ("Parameters", "NextToken"),
        "events:ListTargetsByRule" => ("Targets", "NextToken"),
        "logs:DescribeLogGroups" => ("logGroups", "nextToken"),
        "lambda:GET/event-source-mappings" => ("EventSourceMappings", "NextMarker"),
        "iam:ListRoles" => {
            let list = format!("<Roles/><IsTruncated>true</IsTruncated><Marker>{token}</Marker>");
            return format!("<ListRolesResponse><ListRolesResult>{list}</ListRolesResult></ListRolesResponse>");
        }
        _ => return String::new(),
    };
    json!({list: [], next: token.to_string()}).to_string()
}

/// A proxy that gives the bad answer to each read call of the service. No write call of any service is executed.
pub(super) struct BadServer {
    pub(super) url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    struck: usize,
    writes: Vec<String>,
    /// The list that has no end.
    list: Option<String>,
}

impl State {
    /// Whether an operation requests the endless list: the first list that was requested. A thousand pages for each
    /// rule would show no more than those for one.
    fn is_the_list(&mut self, operation: &Operation) -> bool {
        let asked = operation.to_string();
        *self.list.get_or_insert_with(|| asked.clone()) == asked
    }
}

impl BadServer {
    pub(super) async fn start(like: &AwsLike, service: &'static str, bad: Bad) -> Self {
        let state = Arc::<Mutex<State>>::default();
        let (shared, like) = (Arc::clone(&state), like.clone());
        let url =
            Port::open().await.serve(move |request| pass(Arc::clone(&shared), like.clone(), (service, bad), request));
        Self { url, state }
    }

    pub(super) fn struck(&self) -> bool {
        self.state.lock().unwrap().struck > 0
    }

    pub(super) fn writes(&self) -> Vec<String> {
        self.state.lock().unwrap().writes.clone()
    }
}

async fn pass(
    state: Arc<Mutex<State>>,
    like: AwsLike,
    (service, bad): (&'static str, Bad),
    request: Request<Bytes>,
) -> Result<Answer, Broken> {
    let operation = Operation::of(&request);
    let reads = operation.is_reading() || asks_live_router(&request) || operation.name == "sqs:ReceiveMessage";
    let mut is_meant = operation.service() == service && reads;
    {
        let mut state = state.lock().unwrap();
        if is_meant && matches!(bad, Bad::Endless | Bad::Repeated) {
            is_meant = has_pages(&operation.name) && state.is_the_list(&operation);
        }
        state.struck += usize::from(is_meant);
        if !reads {
            state.writes.push(operation.name.clone());
        }
    }
    if is_meant {
        Ok(bad.answer(&operation))
    } else if reads {
        like.pass(request, Caller::Client).await
    } else {
        Ok(refusal(&operation, 400, "NotExecuted", "not executed"))
    }
}
