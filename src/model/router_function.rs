//! The contract between the commands and the router function, besides the build: its settings and its self-test.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::excerpt;
use crate::model::{BusName, ClusterMetrics, FunctionSettings, HubOptions, NameError, QueueTemplate, Scope, Topic};

/// The environment variable in which Lambda passes the handler to the process.
pub const HANDLER_VARIABLE: &str = "_HANDLER";

/// The maximum length of a handler in Lambda, without white space (Lambda API reference, `CreateFunction`).
pub const LONGEST_HANDLER: usize = 128;

/// The settings of a router, as text `<bus>/<template of queue names>`. Non-default settings follow: `/metrics=cluster`
/// or `/metrics=nodepool`, and `/notify=<name of a topic>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterHandler {
    pub bus: BusName,
    pub template: QueueTemplate,
    pub metrics: ClusterMetrics,
    /// The name of a topic of the function's account and Region.
    pub notify: Option<Topic>,
}

impl RouterHandler {
    pub fn new(bus: BusName, template: QueueTemplate) -> Self {
        Self { bus, template, metrics: ClusterMetrics::default(), notify: None }
    }

    pub fn of_hub(bus: &BusName, options: &HubOptions) -> Self {
        Self {
            metrics: options.cluster_metrics(),
            // The name of a topic is a valid topic.
            notify: options.topic().and_then(|topic| topic.name().parse().ok()),
            ..Self::new(bus.clone(), options.queue_template())
        }
    }

    /// Whether two routers send to the same queues.
    pub fn serves_as(&self, other: &Self) -> bool {
        (&self.bus, &self.template) == (&other.bus, &other.template)
    }

    /// The settings of a function or a version; `None` if they are not readable for a router.
    pub fn from_settings(settings: &FunctionSettings) -> Option<Self> {
        settings.handler.parse().ok()
    }
}

impl fmt::Display for RouterHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bus, self.template)?;
        if self.metrics != ClusterMetrics::default() {
            write!(f, "/metrics={}", self.metrics)?;
        }
        self.notify.as_ref().map_or(Ok(()), |topic| write!(f, "/notify={topic}"))
    }
}

impl FromStr for RouterHandler {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        let refuse = || {
            let expected = "`<bus>/<template of queue names>`, then `/metrics=...` or `/notify=...`";
            NameError::new("handler of a router", s, expected)
        };
        let (bus, rest) = s.split_once('/').ok_or_else(refuse)?;
        let mut parts = rest.split('/');
        let mut handler = Self::new(bus.parse()?, parts.next().unwrap_or_default().parse()?);
        for part in parts {
            match part.split_once('=') {
                Some(("metrics", each)) => handler.metrics = each.parse()?,
                Some(("notify", topic)) => handler.notify = Some(topic.parse()?),
                _ => return Err(refuse()),
            }
        }
        Ok(handler)
    }
}

/// The `source` of the request. Only an invocation of the function carries it; no rule matches it.
pub const SELF_TEST_SOURCE: &str = "kibus.selftest";
/// The `detail-type` of the request.
pub const SELF_TEST_DETAIL_TYPE: &str = "Kibus Self-Test";

/// How many characters of an unreadable report are shown, or of a value in one.
const SHOWN: usize = 200;
/// How many characters of the problems are shown.
const PROBLEMS: usize = 2_000;

pub fn self_test_request() -> Value {
    json!({ "version": "0", "source": SELF_TEST_SOURCE, "detail-type": SELF_TEST_DETAIL_TYPE, "detail": {} })
}

/// The message that a self-test sends to the probe queue. No one waits for it, and it expires with the queue's
/// retention. Karpenter would count it as a no-op: it does not know this source, and needs `time`, in RFC 3339 format,
/// for its metrics.
pub fn self_test_message(scope: &Scope, time: &str) -> Value {
    json!({
        "version": "0",
        "id": "kibus-self-test",
        "source": SELF_TEST_SOURCE,
        "detail-type": SELF_TEST_DETAIL_TYPE,
        "account": scope.account.as_str(),
        "time": time,
        "region": scope.region.as_str(),
        "resources": [],
        "detail": {},
    })
}

pub fn is_self_test_message(body: &Value) -> bool {
    body["source"] == SELF_TEST_SOURCE && body["detail-type"] == SELF_TEST_DETAIL_TYPE
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTestReport {
    pub version: String,
    pub handler: String,
    /// If there are none, the router passed.
    pub problems: Vec<SelfTestProblem>,
}

/// A failed call of the router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTestProblem {
    /// What failed, and what to check.
    pub text: String,
    /// The error code of AWS.
    pub code: String,
}

/// The result of a self-test of the live version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveTest {
    Passed,
    Failed(String),
    /// Lambda is not allowed to use the key of the version's environment variables; its message.
    KeyDenied(String),
    /// Lambda cannot assume the version's role; its message.
    RoleNotAssumable(String),
    /// No concurrency was left for the function; Lambda's message.
    Throttled(String),
}

impl LiveTest {
    pub fn of_payload(payload: &[u8]) -> Self {
        match SelfTestReport::read(payload) {
            Ok(report) => report.failure().map_or(Self::Passed, Self::Failed),
            Err(why) => Self::Failed(why),
        }
    }
}

impl SelfTestReport {
    /// Reads the payload that an invocation returned. It may come from another program, or from a router without a self-test.
    pub fn read(payload: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(payload).map_err(|_| {
            let text: String = String::from_utf8_lossy(payload).chars().take(SHOWN).collect();
            format!("it answered {text:?}, which is not a self-test report")
        })
    }

    /// What failed, if anything did.
    pub fn failure(&self) -> Option<String> {
        let texts: Vec<&str> = self.problems.iter().map(|problem| problem.text.as_str()).collect();
        (!texts.is_empty()).then(|| excerpt(&texts.join("; "), PROBLEMS))
    }

    /// What is wrong, unless the report comes from the expected router and every check passed.
    pub fn check(&self, expected: &FunctionSettings) -> Result<(), String> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if self.version != expected.code.version {
            return Err(format!(
                "it reports version {}, but the published version is {}",
                excerpt(&self.version, SHOWN),
                expected.code.version
            ));
        }
        let (read, set) = (self.handler.parse().ok(), RouterHandler::from_settings(expected));
        if read == set {
            return Ok(());
        }
        let words = |handler: Option<RouterHandler>| handler.map_or("nothing".to_owned(), |it| format!("`{it}`"));
        Err(format!("it reads {} as its bus and queue names, but {} was set", words(read), words(set)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hub::tests::function_settings;
    use crate::model::scope::tests::scope;
    use crate::model::table::{cell, rows};

    fn handler(bus: &str, template: &str) -> RouterHandler {
        RouterHandler::new(bus.parse().unwrap(), template.parse().unwrap())
    }

    /// The longest names fit, except that of a topic.
    #[test]
    fn every_bus_and_template_fits_into_a_handler() {
        let [longest, longer] = [50, 51].map(|beside| format!("{}{{cluster}}-", "x".repeat(beside - 1)));
        for (bus, template) in [("kibus", "karpenter-{cluster}"), ("a", "{cluster}"), (&"b".repeat(20), &longest)] {
            let text = handler(bus, template).to_string();
            assert!(text.len() <= LONGEST_HANDLER && !text.contains(char::is_whitespace), "{text}");
            assert_eq!(text.parse(), Ok(handler(bus, template)));
        }
        assert!("b".repeat(21).parse::<BusName>().is_err(), "a longer bus has no test");
        assert!(longer.parse::<QueueTemplate>().is_err(), "a longer template has no test");
    }

    #[test]
    fn only_known_settings_are_read() {
        let plain = handler("kibus", "{cluster}");
        let notify = Some("team-a".parse().unwrap());
        for (text, handler) in [
            ("kibus/karpenter-{cluster}", handler("kibus", "karpenter-{cluster}")),
            ("kibus/{cluster}-k", handler("kibus", "{cluster}-k")),
            (
                "kibus/{cluster}/metrics=cluster/notify=team-a",
                RouterHandler { metrics: ClusterMetrics::Cluster, notify, ..plain },
            ),
        ] {
            assert_eq!(handler.to_string(), text);
            assert_eq!(text.parse(), Ok(handler));
        }
        let refused = "kibus/{cluster}/metrics=all kibus/{cluster}/notify=a.fifo kibus/{cluster}/notify= kibus/{cluster}/new=1 \
                       kibus/{cluster}/b Kibus/{cluster} kibus/karpenter- kibus/ bootstrap";
        for text in refused.split(' ').chain([""]) {
            assert!(text.parse::<RouterHandler>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_healthy_report_of_the_expected_router_passes() {
        let table = r#"
            {"version":"0.2.0","handler":"kibus/karpenter-{cluster}","problems":[]}         | -
            {"version":"0.2.0","handler":"kibus/karpenter-{cluster}","problems":[],"new":1} | -
            {"version":"0.2.0","handler":"kibus/karpenter-{cluster}","problems":[{"text":"a","code":"A"},{"text":"b","code":"B"}]} | a; b
            {"version":"0.1.0","handler":"kibus/karpenter-{cluster}","problems":[]}         | it reports version 0.1.0, but the published version is 0.2.0
            {"version":"0.2.0","handler":"kibus/{cluster}","problems":[]} | it reads `kibus/{cluster}` as its bus and queue names, but `kibus/karpenter-{cluster}` was set
            {"version":"0.2.0","handler":"","problems":[]}                | it reads nothing as its bus and queue names, but `kibus/karpenter-{cluster}` was set
            {"Received":1} | it answered "{\"Received\":1}", which is not a self-test report
            "ok"           | it answered "\"ok\"", which is not a self-test report"#;
        for [payload, refused] in rows(table) {
            let report = SelfTestReport::read(payload.as_bytes());
            let checked = report.and_then(|report| report.check(&function_settings("0.2.0")));
            assert_eq!(checked.err().as_deref(), cell(refused), "{payload}");
        }
    }

    #[test]
    fn a_message_of_a_self_test_is_recognized() {
        let message = self_test_message(&scope(), "2026-11-20T14:02:31Z");
        assert!(is_self_test_message(&message));
        assert!(!is_self_test_message(&json!({"source": SELF_TEST_SOURCE})));
        assert!(!is_self_test_message(&json!({"source": "kibus.probe", "detail-type": "Kibus Probe"})));
    }

    #[test]
    fn a_very_long_payload_is_cut() {
        let refused = SelfTestReport::read("x".repeat(10_000).as_bytes()).unwrap_err();
        assert!(refused.len() < SHOWN + 100, "{refused}");
    }
}
