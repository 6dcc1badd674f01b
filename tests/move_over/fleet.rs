//! The clusters of one account, with what their tools created, and kibus commands for them.

use std::collections::BTreeMap;

use kibus::model::{Document, Scope};
use serde_json::{Value, json};

use super::setups::{Grant, MISSPELLED_STATE, Setup, Way};
use crate::aws_like::{Proxy, Server};
use crate::external_clusters::languages;
use crate::hostile::process::{Ran, kibus};
use crate::permissions::scope;
use crate::support::account::Account;
use crate::support::policy_simulator::Caller;

const REGION: &str = "us-west-2";

pub(super) struct Fleet {
    pub(super) account: Account,
    pub(super) scope: Scope,
    pub(super) setups: Vec<&'static Setup>,
    proxy: Proxy,
}

impl Fleet {
    /// Creates the setups, and one instance of each cluster.
    pub(super) async fn open(server: &Server, account: &str, setups: &[&'static Setup]) -> Self {
        let fleet = Self {
            account: Account::new(account, server.port(), REGION),
            scope: Scope { account: account.parse().unwrap(), ..scope() },
            setups: setups.to_vec(),
            proxy: Proxy::start(server.port(), "none").await,
        };
        for setup in setups {
            let role = format!("RoleName={} AssumeRolePolicyDocument={{}}", setup.role);
            fleet.account.call("iam", "CreateRole", &role).await;
            let tags = [("eks:eks-cluster-name", setup.cluster), ("karpenter.sh/nodepool", "default")];
            fleet.account.tag_instance(&fleet.instance(setup), tags).await;
            fleet.create(setup).await;
        }
        fleet
    }

    pub(super) fn instance(&self, setup: &Setup) -> String {
        let at = self.setups.iter().position(|other| std::ptr::eq(*other, setup));
        format!("i-{:017x}", at.unwrap() + 1)
    }

    /// The queue of a cluster on the bus.
    pub(super) fn queue(&self, setup: &Setup) -> String {
        let template = setup.template.parse().unwrap();
        let queue = self.scope.cluster_queue(&template, &setup.cluster.parse().unwrap());
        queue.as_str().to_owned()
    }

    fn queue_arn(&self, setup: &Setup) -> String {
        self.scope.queue_arn(&setup.queue.parse().unwrap())
    }

    fn old_policy(&self, setup: &Setup) -> Value {
        let text = setup.queue_policy.replace("${queue_arn}", &self.queue_arn(setup));
        serde_json::from_str(&text.replace("${rule_arn}", &self.rule_arn(""))).unwrap()
    }

    /// Creates what the tool creates. An existing queue receives the policy of the tool, and keeps everything else.
    pub(super) async fn create(&self, setup: &Setup) {
        let attributes = json!({"MessageRetentionPeriod": "300", "SqsManagedSseEnabled": "true"});
        let tags = as_map(setup.queue_tags);
        let queue = json!({"QueueName": setup.queue, "Attributes": attributes, "tags": tags});
        self.account.call("sqs", "CreateQueue", &queue.to_string()).await;
        let policy = json!({"Policy": self.old_policy(setup).to_string()});
        let set = json!({"QueueUrl": setup.queue, "Attributes": policy});
        self.account.call("sqs", "SetQueueAttributes", &set.to_string()).await;
        if !self.has_permission(setup).await {
            self.grant(setup).await;
        }
        for (rule, pattern) in setup.rules {
            let tags: Vec<Value> =
                setup.rule_tags.iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect();
            let put = json!({"Name": rule, "EventPattern": pattern, "Tags": tags});
            self.account.call("events", "PutRule", &put.to_string()).await;
            let target = json!({"Id": setup.target_id, "Arn": self.queue_arn(setup)});
            let put = json!({"Rule": rule, "Targets": [target]});
            self.account.call("events", "PutTargets", &put.to_string()).await;
        }
    }

    /// Adds the two tags of a cluster to the queue, as its tool would.
    pub(super) async fn tag(&self, setup: &Setup) {
        let tags = json!({"kibus:bus": "kibus", "kibus:cluster": setup.cluster});
        self.account.call("sqs", "TagQueue", &json!({"QueueUrl": setup.queue, "Tags": tags}).to_string()).await;
    }

    pub(super) async fn untag(&self, setup: &Setup) {
        let untag = json!({"QueueUrl": setup.queue, "TagKeys": ["kibus:bus", "kibus:cluster"]});
        self.account.call("sqs", "UntagQueue", &untag.to_string()).await;
    }

    /// Applies the settings of an export to the queue, as its tool would.
    async fn apply_export(&self, setup: &Setup) {
        let line = format!("export cluster {} --format cloudformation --controller-role {}", setup.cluster, setup.role);
        let queue = languages::cloud_formation(&self.run(&line, 0).await.stdout, None, &self.queue_arn(setup)).queue;
        let document = |document: Option<Document>| document.unwrap().compact();
        let attributes = json!({
            "Policy": document(queue.policy),
            "RedriveAllowPolicy": document(queue.redrive_allow),
            "MessageRetentionPeriod": queue.retention.to_string(),
            "VisibilityTimeout": queue.visibility.to_string(),
        });
        let set = json!({"QueueUrl": setup.queue, "Attributes": attributes});
        self.account.call("sqs", "SetQueueAttributes", &set.to_string()).await;
    }

    /// Removes the rules as the tool would; the permission and the queue too, unless they stay. An external queue
    /// receives the settings that the hub needs.
    pub(super) async fn remove(&self, setup: &Setup) {
        if setup.way == Way::External {
            self.apply_export(setup).await;
        }
        for (rule, _) in setup.rules {
            let remove = json!({"Rule": rule, "Ids": [setup.target_id]});
            self.account.call("events", "RemoveTargets", &remove.to_string()).await;
            self.account.call("events", "DeleteRule", &json!({"Name": rule}).to_string()).await;
        }
        if setup.way != Way::External {
            self.revoke(setup).await;
        }
        if setup.way == Way::NewQueue {
            let delete = json!({"QueueUrl": setup.queue}).to_string();
            self.account.call("sqs", "DeleteQueue", &delete).await;
        }
    }

    fn policy_arn(&self, name: &str) -> String {
        format!("arn:aws:iam::{}:policy/{name}", self.account.id)
    }

    async fn has_permission(&self, setup: &Setup) -> bool {
        let role = setup.role;
        let (get, of) = match setup.grant {
            Grant::Inline(name) => ("GetRolePolicy", format!("RoleName={role} PolicyName={name}")),
            Grant::Managed(name) => ("GetPolicy", format!("PolicyArn={}", self.policy_arn(name))),
        };
        self.account.send("iam", get, &of).await.0
    }

    pub(super) async fn grant(&self, setup: &Setup) {
        let actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage"];
        let statement = json!({"Effect": "Allow", "Action": actions, "Resource": self.queue_arn(setup)});
        let document = json!({"Version": "2012-10-17", "Statement": [statement]});
        let role = setup.role;
        match setup.grant {
            Grant::Inline(name) => {
                let put = format!("RoleName={role} PolicyName={name} PolicyDocument={document}");
                self.account.call("iam", "PutRolePolicy", &put).await;
            }
            Grant::Managed(name) => {
                let create = format!("PolicyName={name} PolicyDocument={document}");
                self.account.call("iam", "CreatePolicy", &create).await;
                let attach = format!("RoleName={role} PolicyArn={}", self.policy_arn(name));
                self.account.call("iam", "AttachRolePolicy", &attach).await;
            }
        }
    }

    async fn revoke(&self, setup: &Setup) {
        let role = setup.role;
        match setup.grant {
            Grant::Inline(name) => {
                let delete = format!("RoleName={role} PolicyName={name}");
                self.account.call("iam", "DeleteRolePolicy", &delete).await;
            }
            Grant::Managed(name) => {
                let arn = self.policy_arn(name);
                let detach = format!("RoleName={role} PolicyArn={arn}");
                self.account.call("iam", "DetachRolePolicy", &detach).await;
                self.account.call("iam", "DeletePolicy", &format!("PolicyArn={arn}")).await;
            }
        }
    }

    /// `discover` names the cluster of each queue where a tag or a role does; all matching rules can be removed, except
    /// those of a queue that nothing connects with Karpenter.
    pub(super) async fn is_discovered(&self) {
        let found: Value = serde_json::from_str(&self.run("discover --output json", 0).await.stdout).unwrap();
        let found = &found["hubs"][0]["discovery"];
        let of = |members: &Value| members.as_array().unwrap().clone();
        for setup in &self.setups {
            let queue = of(&found["queues"]).into_iter().find(|queue| queue["name"] == setup.queue);
            let queue = queue.unwrap_or_else(|| panic!("{} is not found: {found:?}", setup.queue));
            assert_eq!(queue["cluster"].as_str(), setup.is_named.then_some(setup.cluster), "{queue}");
            let rules = of(&found["rules"]).into_iter().filter(|rule| rule["targets"][0]["queue"] == setup.queue);
            let rules: BTreeMap<_, _> =
                rules.map(|rule| (rule["name"].to_string(), rule["verdict"].to_string())).collect();
            let matching = setup.rules.iter().filter(|(_, pattern)| *pattern != MISSPELLED_STATE);
            let names_karpenter = setup.queue != "blueprints";
            let verdict = if names_karpenter { "replace" } else { "keep" };
            let expected = matching.map(|(rule, _)| (format!("{rule:?}"), format!("{verdict:?}")));
            assert_eq!(rules, expected.collect(), "{}", setup.queue);
        }
    }

    /// The policy of a queue; nothing if it has none, or does not exist.
    pub(super) async fn policy(&self, queue: &str) -> Option<Document> {
        let get = json!({"QueueUrl": queue, "AttributeNames": ["Policy"]}).to_string();
        let (exists, answer) = self.account.send("sqs", "GetQueueAttributes", &get).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let policy = answer["Attributes"]["Policy"].as_str().filter(|_| exists)?;
        Some(Document::new(serde_json::from_str(policy).unwrap()))
    }

    /// Whether the rules of the tool may send to the queue that the cluster has on the bus.
    pub(super) async fn accepts_old_rules(&self, setup: &Setup) -> bool {
        let queue = self.queue(setup);
        let policy = self.policy(&queue).await;
        policy.is_some_and(|policy| setup.rules.iter().any(|(rule, _)| self.may_send(rule, &queue, &policy)))
    }

    /// Whether EventBridge may send to a queue with this policy, on behalf of a rule.
    pub(super) fn may_send(&self, rule: &str, queue: &str, policy: &Document) -> bool {
        let queue = self.scope.queue_arn(&queue.parse().unwrap());
        Caller::service("events.amazonaws.com", self.rule_arn(rule)).may_send(&queue, policy)
    }

    fn rule_arn(&self, name: &str) -> String {
        format!("arn:aws:events:{REGION}:{}:rule/{name}", self.account.id)
    }

    /// The queue of the tool has its policy and its tags, and nothing from kibus.
    pub(super) async fn is_as_before(&self, setup: &Setup) {
        let (cluster, queue) = (setup.cluster, setup.queue);
        let policy = self.policy(queue).await;
        assert_eq!(policy, Some(Document::new(self.old_policy(setup))), "{cluster}: the policy");
        let tags = self.account.json("sqs", "ListQueueTags", &json!({"QueueUrl": queue}).to_string()).await;
        let tags = if tags["Tags"].is_null() { json!({}) } else { tags["Tags"].clone() };
        assert_eq!(tags, as_map(setup.queue_tags), "{cluster}: the tags");
    }

    /// The number of messages in a queue, received or not.
    pub(super) async fn messages(&self, queue: &str) -> u32 {
        let counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
        let get = json!({"QueueUrl": queue, "AttributeNames": counts}).to_string();
        let answer = self.account.json("sqs", "GetQueueAttributes", &get).await;
        let count = |name: &str| answer["Attributes"][name].as_str().unwrap().parse::<u32>().unwrap();
        counts.into_iter().map(count).sum()
    }

    /// Runs a command that succeeds, and returns its output.
    pub(super) async fn kibus(&self, line: &str) -> String {
        self.run(line, 0).await.text()
    }

    pub(super) async fn run(&self, line: &str, code: i32) -> Ran {
        let ran = kibus(line, &[("AWS_ACCESS_KEY_ID", &self.account.id), ("AWS_ENDPOINT_URL", &self.proxy.url)]).await;
        assert_eq!(ran.code, Some(code), "kibus {line}: {}", ran.text());
        ran
    }
}

fn as_map(tags: &[(&str, &str)]) -> Value {
    tags.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect::<serde_json::Map<_, _>>().into()
}
