//! The steps of a scenario: commands, and what happens around them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kibus::model::{parse_duration, tags::DELETING};
use serde_json::json;

use super::Scenario;
use super::account::{self, REGIONS};
use super::command::{self, Signals};
use super::interference::Interference;
use crate::aws_like::Behavior;
use crate::support::account::Account;

/// How long the router may take to make a call that triggers a behavior.
const LONGEST_STRIKE: Duration = Duration::from_secs(60);

impl Scenario {
    /// Runs a step, and returns what it wrote.
    pub(super) async fn step(&mut self, line: &str) -> String {
        if let Some(command) = line.strip_prefix("$ ") {
            return command::run(command, self).await.to_string();
        }
        if let Some(command) = line.strip_prefix("% quietly ") {
            let came = command::run(command, self).await;
            assert!(came.succeeded(), "{line}\n{came}");
            self.proxy.take_writes();
            return String::new();
        }
        if let Some(command) = line.strip_prefix("% last ") {
            return command::run(command, self).await.last().to_string();
        }
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        match *words.as_slice() {
            ["tries", service, operation, ..] => {
                let account = Account { server: self.proxy.port, ..self.account.clone() };
                let parameters = words[3..].join(" ");
                match account.send(service, operation, &parameters).await {
                    (true, _) => String::new(),
                    (false, error) => {
                        let error: serde_json::Value = serde_json::from_str(&error).unwrap();
                        error["message"].as_str().unwrap().to_owned()
                    }
                }
            }
            ["take", queue] => {
                let mut taken: BTreeMap<String, usize> = BTreeMap::new();
                for message in self.account.take_messages(queue).await {
                    *taken.entry(message).or_default() += 1;
                }
                let twice = taken.values().filter(|times| **times > 1).count();
                format!("{} messages, {twice} of them more than once", taken.len())
            }
            ["aws-like", id, ..] if id != "settled" => {
                self.proxy.like.switch(&words[1..].join(" "));
                self.explain(&words[1..])
            }
            ["struck", ..] => {
                let mut struck = Vec::new();
                let mut missed = words[1..].to_vec();
                let begun = Instant::now();
                loop {
                    struck.extend(self.proxy.like.take_struck().iter().map(|behavior| behavior.id()));
                    missed.retain(|id| !struck.contains(id));
                    if missed.is_empty() || begun.elapsed() > LONGEST_STRIKE {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                assert!(missed.is_empty(), "{missed:?} did not strike, only {struck:?}");
                if words.len() > 1 {
                    return self.explain(&words[1..]);
                }
                let words = self.explain(&struck);
                format!("{}\n{words}", struck.join(" "))
            }
            ["partitions"] => self.proxy.take_partitions().join("\n"),
            ["writes", ..] => {
                let mut writes = self.proxy.take_writes();
                if words.len() == 1 {
                    writes.sort();
                }
                if writes.is_empty() { "none".to_owned() } else { writes.join("\n") }
            }
            ["compare"] => differences(&self.saved, &account::dump(&self.account).await),
            ["alarms", queue] => alarms_fire_and_end(&self.account, queue).await,
            ["messages", queue] => match self.account.messages(queue).await.join("\n") {
                none if none.is_empty() => "none".to_owned(),
                some => some,
            },
            _ => {
                self.act(&words).await;
                String::new()
            }
        }
    }

    /// A step that writes nothing.
    async fn act(&mut self, words: &[&str]) {
        match *words {
            ["times", times, service, operation, ..] => {
                for number in 1..=times.parse().unwrap() {
                    let number: usize = number;
                    let parameters = words[4..].join(" ").replace("NUMBER", &number.to_string());
                    self.account.call(service, operation, &parameters).await;
                }
            }
            [
                service @ ("sqs" | "iam" | "events" | "logs" | "lambda" | "ec2" | "eks" | "ssm" | "sns" | "cloudwatch"),
                operation,
                ..,
            ] => {
                let parameters = words[2..].join(" ");
                self.account.call(service, operation, &parameters).await;
                if operation == "SendMessage" {
                    // Kibus shows messages by the millisecond of their send.
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
            ["in", region, "karpenter", queue] => self.read(&self.account.in_region(region), queue, None),
            ["in", region, service, operation, ..] => {
                assert!(REGIONS.contains(&region), "{region}");
                let account = self.account.in_region(region);
                let answer = account.call(service, operation, &words[4..].join(" ")).await;
                if (service, operation) == ("kms", "CreateKey") {
                    let made: serde_json::Value = serde_json::from_str(&answer).unwrap();
                    self.key = made["KeyMetadata"]["KeyId"].as_str().map(str::to_owned);
                }
            }
            ["aws-like", "settled"] => self.proxy.like.settle().await,
            ["partition", partition] => self.proxy.speak_of(partition),
            ["mark", queue, seconds] => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                let since = since - Duration::from_secs(seconds.parse().unwrap());
                let mark = json!({"QueueUrl": queue, "Tags": {DELETING: since.as_secs().to_string()}});
                self.account.call("sqs", "TagQueue", &mark.to_string()).await;
            }
            ["in", "full"] => {
                self.in_full = true;
            }
            ["remember"] => {
                self.saved = account::dump(&self.account).await;
            }
            ["refuse", "nothing"] => drop(self.proxy.take_interferences()),
            ["refuse", operation, times, status, code, ..] => {
                let (status, message) = (status.parse().unwrap(), words[5..].join(" "));
                let refusal = Interference::Refuse(status, code.to_owned(), message);
                self.proxy.interfere(operation, times.parse().unwrap(), refusal);
            }
            ["pass", operation, times] => self.proxy.interfere(operation, times.parse().unwrap(), Interference::Pass),
            ["lose", operation, times] => self.proxy.interfere(operation, times.parse().unwrap(), Interference::Lose),
            ["silence", operation, times] => {
                self.proxy.interfere(operation, times.parse().unwrap(), Interference::Silence);
            }
            ["answer", operation, times, ..] => {
                let answer = Interference::Answer(words[3..].join(" "));
                self.proxy.interfere(operation, times.parse().unwrap(), answer);
            }
            ["before", call, service, operation, ..] => {
                let made = [service.to_owned(), operation.to_owned(), words[4..].join(" ")];
                self.proxy.interfere(call, 1, Interference::Before(self.account.clone(), made));
            }
            ["say", "the", "truth"] => self.proxy.say_the_truth(),
            ["say", operation, member, time, "ago"] => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
                let then = now - parse_duration(time).unwrap();
                self.proxy.say(operation, member, &then.to_string());
            }
            ["say", operation, member, ..] => self.proxy.say(operation, member, &words[3..].join(" ")),
            [signal, "when", "slowed"] => {
                self.signals = Some(Signals::when_it_says(signal, "slowed down by "));
            }
            [signal, "during", operation, ..] => {
                let says = words[3..].join(" ").replace("once it says ", "");
                let (signals, hold) = Signals::when_held(signal, &says);
                self.proxy.interfere(operation, 1, hold);
                self.signals = Some(signals);
            }
            ["file", name, what] => std::fs::write(self.directory.path().join(name), no_router(what)).unwrap(),
            ["profile", name, account] => {
                let keys = format!("[{name}]\naws_access_key_id = {account}\naws_secret_access_key = test\n");
                std::fs::create_dir(self.directory.path().join(".aws")).unwrap();
                std::fs::write(self.directory.path().join(".aws/credentials"), keys).unwrap();
            }
            ["upload", name] => {
                let router = std::fs::read(self.directory.path().join(name)).unwrap();
                account::upload(&self.account, &router).await;
            }
            ["publish"] => account::publish(&self.account).await,
            // Sums that SQS reported for a queue, or the router for a bus: a metric, its value, and its age.
            ["metric", of, ..] => {
                let (name, value, namespace) =
                    if of == "bus" { ("bus", "kibus", "Kibus") } else { ("QueueName", of, "AWS/SQS") };
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
                let datum = |one: &[&str]| {
                    json!({
                        "MetricName": one[0], "Value": one[1].parse::<f64>().unwrap(),
                        "Timestamp": now - parse_duration(one[2]).unwrap(), "Dimensions": [{"Name": name, "Value": value}],
                    })
                };
                let data: Vec<serde_json::Value> = words[2..].chunks(3).map(datum).collect();
                let data = json!({ "Namespace": namespace, "MetricData": data });
                self.account.call("cloudwatch", "PutMetricData", &data.to_string()).await;
            }
            ["settle"] => self.account.settle("kibus-hub").await,
            ["settle", queue] => self.account.settle(queue).await,
            ["launch", cluster, pool, ..] => {
                let market = if words.contains(&"on-demand") { "" } else { "InstanceMarketOptions.MarketType=spot " };
                let tags = [
                    (format!("kubernetes.io/cluster/{cluster}"), "owned"),
                    ("eks:eks-cluster-name".to_owned(), cluster),
                    ("karpenter.sh/nodepool".to_owned(), pool),
                    (if words.contains(&"tagged") { "name" } else { "aws:eks:cluster-name" }.to_owned(), cluster),
                ];
                let tag = |((key, value), n): (&(String, &str), usize)| {
                    format!("TagSpecification.1.Tag.{n}.Key={key} TagSpecification.1.Tag.{n}.Value={value}")
                };
                let tags: Vec<String> = tags.iter().zip(1..).map(tag).collect();
                let launch = format!(
                    "ImageId=ami-12345678 InstanceType=m5.large MinCount=1 MaxCount=1 {market}TagSpecification.1.ResourceType=instance {}",
                    tags.join(" ")
                );
                let answer = self.account.call("ec2", "RunInstances", &launch).await;
                let id = answer.split_once("<instanceId>").unwrap().1.split_once('<').unwrap().0;
                self.instances.push(id.to_owned());
                // The newest is known by the second of its launch.
                tokio::time::sleep(Duration::from_millis(1_100)).await;
            }
            ["karpenter", queue] => self.read(&self.account.clone(), queue, None),
            ["karpenter", queue, seconds] => {
                self.read(&self.account.clone(), queue, Some(Duration::from_secs(seconds.parse().unwrap())));
            }
            ["visible", queue] => self.account.until_visible(queue).await,
            _ => panic!("what is `{}`?", words.join(" ")),
        }
    }
}

impl Scenario {
    /// Receives the messages of a queue until the scenario ends, and deletes them, or does so after a time.
    fn read(&mut self, account: &Account, queue: &str, holds: Option<Duration>) {
        let (account, queue) = (account.clone(), queue.to_owned());
        self.karpenters.spawn(async move {
            loop {
                match holds {
                    Some(time) => account.hold_messages(&queue, time).await,
                    None => drop(account.take_messages(&queue).await),
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
    }

    /// The description of each of these behaviors that the scenario names for the first time.
    fn explain(&mut self, ids: &[&str]) -> String {
        let behaviors = ids.iter().filter_map(|id| id.parse::<Behavior>().ok());
        let new: Vec<_> = behaviors.filter(|behavior| self.explained.insert(*behavior)).collect();
        let lines = new.iter().map(|behavior| format!("{}: {}", behavior.id(), behavior.what()));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// How long the last breach of a threshold stays in the window of an alarm: all breaches are counted before that.
const BREACH: Duration = Duration::from_secs(8);

/// Sends a value beyond the threshold to the metric of every alarm, and a normal value once the breach is too old to
/// count. Returns the states of each alarm in the messages of its topic, which this queue receives.
async fn alarms_fire_and_end(account: &Account, queue: &str) -> String {
    let alarms = account.json("cloudwatch", "DescribeAlarms", "{}").await;
    let alarms = alarms["MetricAlarms"].as_array().unwrap();
    account.take_messages(queue).await;
    let begun = SystemTime::now();
    let mut changes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for is_breach in [true, false] {
        let mut data: BTreeMap<&str, Vec<serde_json::Value>> = BTreeMap::new();
        for alarm in alarms {
            let number = |member: &str| alarm[member].as_f64().unwrap();
            let window = Duration::from_secs_f64(number("Period") * number("EvaluationPeriods"));
            // The emulator ignores dimensions, so the metrics of two queues are one.
            let of_metric = alarms.iter().filter(|other| other["MetricName"] == alarm["MetricName"]);
            let lowest = of_metric.map(|alarm| alarm["Threshold"].as_f64().unwrap());
            let (value, time) = if !is_breach {
                (lowest.fold(f64::MAX, f64::min), SystemTime::now())
            } else if alarm["ComparisonOperator"] == "LessThanThreshold" {
                (number("Threshold") - 1.0, begun - window + BREACH)
            } else {
                (number("Threshold") + 1.0, begun - window + BREACH)
            };
            data.entry(alarm["Namespace"].as_str().unwrap()).or_default().push(json!({
                "MetricName": alarm["MetricName"],
                "Dimensions": alarm["Dimensions"],
                "Timestamp": time.duration_since(UNIX_EPOCH).unwrap().as_secs_f64(),
                "Value": value,
            }));
        }
        for (namespace, data) in data {
            let data = json!({ "Namespace": namespace, "MetricData": data });
            account.call("cloudwatch", "PutMetricData", &data.to_string()).await;
        }
        for message in account.take_messages(queue).await {
            let message: serde_json::Value = serde_json::from_str(&message).unwrap();
            let [name, state] = ["AlarmName", "NewStateValue"].map(|member| message[member].as_str().unwrap());
            changes.entry(name.to_owned()).or_default().push(state.to_owned());
        }
        if is_breach {
            let left = BREACH.saturating_sub(begun.elapsed().unwrap());
            tokio::time::sleep(left + Duration::from_secs(1)).await;
        }
    }
    assert_eq!(changes.len(), alarms.len(), "{changes:?}");
    let lines = changes.iter().map(|(name, states)| format!("{name}: {}", states.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

/// The entries that differ, or exist on one side only.
fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let changed = before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key));
    let changed: BTreeSet<_> = changed.map(String::as_str).collect();
    match changed.into_iter().collect::<Vec<_>>().join("\n") {
        none if none.is_empty() => "all as it was".to_owned(),
        some => some,
    }
}

/// A file that is not a valid router, or not the built one.
fn no_router(what: &str) -> Vec<u8> {
    let mut router = std::fs::read(env!("CARGO_BIN_EXE_kibus-router")).unwrap();
    match what {
        "text" => b"not a program".to_vec(),
        "cut" => router[..router.len() / 2].to_vec(),
        "arm64" => {
            // e_machine of the ELF header: EM_AARCH64.
            router[18] = 183;
            router
        }
        "other-build" => {
            router.push(0);
            router
        }
        "kibus" => std::fs::read(env!("CARGO_BIN_EXE_kibus")).unwrap(),
        other => panic!("what is a router that is `{other}`?"),
    }
}
