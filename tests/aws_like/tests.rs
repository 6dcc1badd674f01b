//! What each behavior does: the calls that show it, and the results ([`table`]). Some are visible only over two
//! connections, in concurrent calls, or to kibus.

mod kibus;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use kibus_harness::aws_like::FunctionProxy;
use kibus_harness::proxy::Answer;
use serde_json::{Map, Value, json};

use super::{AwsLike, Behavior, Proxy, Server};
use crate::support::account::Account;
use crate::support::emulator::plain_http;
use table::TABLE;

/// The number of concurrent rows: they mostly wait.
const AT_ONCE: usize = 12;

/// Placeholders in steps.
const NAMED: [(&str, &str); 5] = [
    (
        "$function",
        r#"FunctionName=f Runtime=provided.al2023 Handler=h Role=$role Code={"ZipFile":"UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA=="}"#,
    ),
    ("$role", "arn:aws:iam::ACCOUNT:role/r"),
    ("$queue", "arn:aws:sqs:us-west-2:ACCOUNT:q"),
    ("$policy", r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}"#),
    (
        "$trust",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#,
    ),
];

/// An account of a row, with behaviors of AWS.
struct Row {
    account: Account,
    /// The same account, as its functions call it.
    functions: Account,
    like: AwsLike,
    /// Values that a step has named.
    named: BTreeMap<String, String>,
    struck: BTreeSet<Behavior>,
}

/// A behavior without a row fails here, because it never appears.
#[test]
fn every_behavior_is_seen_and_ends() {
    let rows = TABLE.split("\n# ").skip(1).zip(210_000_000_000_u64..);
    let played = stream::iter(rows).map(async |(text, account)| {
        let (head, steps) = text.split_once('\n').unwrap();
        let (ids, _) = head.split_once(": ").unwrap();
        let mut row = Row::of(&account.to_string(), ids).await;
        let failed = row.play(ids, steps).await.err();
        (row.struck, failed.map(|why| format!("{head}: {why}")))
    });
    let played: Vec<_> = Server::shared().runtime.block_on(played.buffer_unordered(AT_ONCE).collect());
    let failed: Vec<_> = played.iter().filter_map(|(_, failed)| failed.as_deref()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    let mut missed: BTreeSet<_> = Behavior::ALL.iter().collect();
    // It needs two connections.
    missed.remove(&Behavior::S22);
    missed.retain(|behavior| !played.iter().any(|(struck, _)| struck.contains(behavior)));
    assert!(missed.is_empty(), "no row shows {missed:?}");
}

impl Row {
    async fn of(account: &str, ids: &str) -> Self {
        let server = Server::shared().port();
        let proxy = Proxy::start(server, ids).await;
        let functions = FunctionProxy::listen().await;
        functions.forward_to(server);
        functions.route(account, &proxy.like);
        let at = |url: &str| Account::new(account, url.rsplit_once(':').unwrap().1.parse().unwrap(), "us-west-2");
        Self {
            account: at(&proxy.url),
            functions: at(&functions.url),
            like: proxy.like,
            named: BTreeMap::new(),
            struck: BTreeSet::new(),
        }
    }

    /// Plays the steps. Then exactly the behaviors that were on have struck.
    async fn play(&mut self, ids: &str, steps: &str) -> Result<(), String> {
        let mut on = behaviors(ids);
        for step in steps.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(ids) = step.strip_prefix("switch ") {
                self.like.switch(ids);
                on.extend(behaviors(ids));
                continue;
            }
            let came = self.step(step).await;
            came.map_err(|came| format!("\n    {step}\n    {came}"))?;
        }
        self.struck.extend(self.like.take_struck());
        if self.struck == on { Ok(()) } else { Err(format!("{:?} struck of {on:?}", self.struck)) }
    }

    async fn step(&mut self, step: &str) -> Result<(), String> {
        let (what, seen) = step.split_once(" -> ").unwrap_or((step, "ok"));
        let words: Vec<_> = what.split(' ').collect();
        match *words.as_slice() {
            ["settle"] => self.like.settle().await,
            ["wait", millis] => tokio::time::sleep(Duration::from_millis(millis.parse().unwrap())).await,
            ["struck", id] => {
                let times = self.like.strikes(id.parse()?).to_string();
                return if times == seen { Ok(()) } else { Err(times) };
            }
            ["times", times, ..] => {
                for number in 0..times.parse().unwrap() {
                    self.call(&words[2..].join(" ").replace("NUMBER", &format!("{number:02}"))).await;
                }
            }
            ["often", ..] => {
                let mut all = BTreeSet::new();
                for _ in 0..20 {
                    all.insert(said(&self.call(&words[1..].join(" ")).await).0);
                }
                let all = all.into_iter().collect::<Vec<_>>().join(" ");
                return if all == seen { Ok(()) } else { Err(all) };
            }
            _ => return self.see(what, seen).await,
        }
        Ok(())
    }

    /// The result of a call: `ok`; the code of an error, and a part of its message; `not` and a code; a JSON pointer
    /// and the value there, which `let` and a word name; or the length of a list.
    async fn see(&mut self, call: &str, seen: &str) -> Result<(), String> {
        let seen = self.with_names(seen);
        let answer = self.call(call).await;
        let (code, message) = said(&answer);
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let value = |pointer: &str| match body.pointer(pointer) {
            None | Some(Value::Null) => "none".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(list)) => list.len().to_string(),
            Some(other) => other.to_string(),
        };
        let named = &mut self.named;
        let mut is_seen = |seen: &str| match *seen.splitn(3, ' ').collect::<Vec<_>>().as_slice() {
            ["let", name, pointer] => {
                named.insert(format!("${name}"), value(pointer));
                value(pointer) != "none"
            }
            ["not", other] => code != other,
            [pointer, wanted] if pointer.starts_with('/') => code == "ok" && value(pointer) == wanted,
            [wanted, ..] => code == wanted && message.contains(seen[wanted.len()..].trim_start()),
            [] => false,
        };
        match seen.split(" & ").find(|seen| !is_seen(seen)) {
            Some(missed) => Err(format!("not {missed}: {code} {message} {body}")),
            None => Ok(()),
        }
    }

    /// A text with its names replaced by their values.
    fn with_names(&self, text: &str) -> String {
        let named = NAMED.into_iter().chain(self.named.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        let text = named.fold(text.to_owned(), |text, (name, named)| text.replace(name, named));
        text.replace("ACCOUNT", &self.account.id).replace("X4096", &"x".repeat(4_096))
    }

    /// Makes a call, `[in REGION] [function] SERVICE OPERATION NAME=VALUE ...`; for Lambda and EKS, `METHOD PATH NAME=VALUE ...`.
    async fn call(&self, call: &str) -> Answer {
        let call = self.with_names(call);
        let mut words = call.split(' ').peekable();
        let region = words.next_if_eq(&"in").and_then(|_| words.next()).unwrap_or("us-west-2");
        let by_function = words.next_if_eq(&"function").is_some();
        let account = if by_function { &self.functions } else { &self.account }.in_region(region);
        let (service, operation) = (words.next().unwrap(), words.next().unwrap());
        let path = words.next_if(|_| service == "lambda").unwrap_or_default();
        let parameters = match service {
            "iam" | "ec2" => words.collect::<Vec<_>>().join(" "),
            _ => {
                let json = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.into());
                let pairs = words.map(|word| word.split_once('=').unwrap());
                let body: Map<_, Value> = pairs.map(|(name, value)| (name.to_owned(), json(value))).collect();
                if operation == "GET" { path.to_owned() } else { format!("{path} {}", json!(body)) }
            }
        };
        account.answer(service, operation, parameters.trim_start()).await
    }
}

/// The behaviors that these words switch on.
fn behaviors(ids: &str) -> BTreeSet<Behavior> {
    ids.split(' ').filter_map(|id| id.parse().ok()).collect()
}

/// `ok`, or the code of an error, and its message.
fn said(answer: &Answer) -> (String, String) {
    if answer.status().is_success() {
        return ("ok".to_owned(), String::new());
    }
    let text = String::from_utf8_lossy(answer.body()).into_owned();
    let header = |name| answer.headers().get(name)?.to_str().ok()?.split([';', ':']).next().map(str::to_owned);
    let element = || Some(text.split_once("<Code>")?.1.split_once('<')?.0.to_owned());
    let code = header("x-amzn-query-error").or_else(element).or_else(|| header("x-amzn-errortype"));
    (code.unwrap_or_else(|| format!("{} without a code", answer.status())), text)
}

#[test]
fn s22_a_deleted_queue_answers_on_every_other_connection() {
    Server::shared().runtime.block_on(async {
        let row = Row::of("200000000122", "held S22").await;
        row.call("sqs CreateQueue QueueName=q").await;
        row.call("sqs DeleteQueue QueueUrl=q").await;
        let client = || {
            let credentials = aws_sdk_sqs::config::Credentials::new(&row.account.id, "test", None, None, "test");
            let config = aws_sdk_sqs::Config::builder()
                .behavior_version(aws_sdk_sqs::config::BehaviorVersion::v2026_01_12())
                .region(aws_sdk_sqs::config::Region::new("us-west-2"))
                .http_client(plain_http())
                .endpoint_url(format!("http://127.0.0.1:{}", row.account.server))
                .credentials_provider(credentials);
            aws_sdk_sqs::Client::from_conf(config.build())
        };
        let finds = async |client: &aws_sdk_sqs::Client| {
            let read = client.get_queue_attributes().queue_url(format!("http://localhost/{}/q", row.account.id));
            read.send().await.is_ok()
        };
        let (first, second) = (client(), client());
        for _ in 0..3 {
            assert!(!finds(&first).await);
            assert!(finds(&second).await);
        }
        row.like.settle().await;
        assert!(!finds(&second).await);
    });
}

#[test]
fn n2_calls_share_rates() {
    Server::shared().runtime.block_on(async {
        let row = Row::of("200000000156", "N2").await;
        let tags = "ResourceType=Parameter ResourceId=/kibus/x Tags=[] TagKeys=[]";
        for (one, other, is_shared) in [
            ("GetParameter Name=/kibus/x", "GetParameters Names=[\"/kibus/x\"]", true),
            ("GetParameter Name=/kibus/x", "GetParametersByPath Path=/kibus", true),
            ("DeleteParameter Name=/kibus/x", "DeleteParameters Names=[\"/kibus/x\"]", true),
            ("ListTagsForResource", "AddTagsToResource", true),
            ("ListTagsForResource", "RemoveTagsFromResource", true),
            ("GetParameter Name=/kibus/x", "DeleteParameter Name=/kibus/x", false),
            ("GetParameter Name=/kibus/x", "ListTagsForResource", false),
        ] {
            let is_throttled = async |call: &str| {
                let more = if call.contains(' ') { "" } else { tags };
                said(&row.call(format!("ssm {call} {more}").trim_end()).await).0 == "ThrottlingException"
            };
            let mut shared = false;
            // A slow machine may make the second call when there is a token again.
            for _ in 0..5 {
                // The buckets are full again.
                row.like.switch("N2");
                while !is_throttled(one).await {}
                shared |= is_throttled(other).await;
            }
            assert_eq!(shared, is_shared, "{one} and {other}");
        }
    });
}

#[test]
fn n2_a_second_update_at_once_is_refused() {
    Server::shared().runtime.block_on(async {
        let row = Row::of("200000000157", "rates").await;
        let put = async |value: u8| {
            said(&row.call(&format!("ssm PutParameter Name=/kibus/x Type=String Overwrite=true Value=v{value}")).await)
                .0
        };
        let tag = async || {
            let tag = r#"ResourceType=Parameter ResourceId=/kibus/x Tags=[{"Key":"a","Value":"b"}]"#;
            said(&row.call(&format!("ssm AddTagsToResource {tag}")).await).0
        };
        let mut refused = 0;
        // On a busy machine, one call may be over before the next one arrives. After a second, the rate allows more.
        for _ in 0..5 {
            let (one, other, tag) = tokio::join!(put(1), put(2), tag());
            refused = [one, other, tag].iter().filter(|said| *said == "TooManyUpdates").count();
            if refused > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(refused > 0);
        assert_eq!(row.like.take_struck(), [Behavior::N2]);
        assert_eq!(put(3).await, "ok", "the one before it is over");
    });
}
