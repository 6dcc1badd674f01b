//! A hub, and what it needs from a cluster, in infrastructure-as-code languages. All values are those of the queues that kibus
//! creates. Pure: it reads nothing and prints nothing.

use std::fmt;

use serde_json::{Value, json};

use crate::model::{
    ClusterName, ClusterRecord, Document, Encryption, Maker, Moment, Queue, RoleName, Scope, Settings, Signal, Tags,
    document::yaml, fill_template, hub, policy, tags::CLUSTER,
};

/// The language of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Format {
    /// A Terraform module.
    Terraform,
    /// A CloudFormation template.
    #[value(name = "cloudformation")]
    CloudFormation,
}

/// The name of the tool.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terraform => "Terraform",
            Self::CloudFormation => "CloudFormation",
        })
    }
}

impl Format {
    /// Its name in options and tags.
    pub fn word(self) -> String {
        self.to_string().to_lowercase()
    }
}

/// What a hub needs from a cluster: the queue, and the permission for its controller.
pub struct Contract<'a> {
    scope: &'a Scope,
    settings: &'a Settings,
    cluster: &'a ClusterName,
    role: Option<&'a RoleName>,
    /// The record that the tool creates.
    record: Value,
    queue: Queue,
    queue_policy: Document,
    controller_policy: Document,
}

impl<'a> Contract<'a> {
    /// The contract of a queue that a tool of this format owns. Without the role, its name is an input of the tool.
    pub fn new(
        scope: &'a Scope,
        settings: &'a Settings,
        cluster: &'a ClusterName,
        role: Option<&'a RoleName>,
        format: Format,
    ) -> Self {
        let options = &settings.options;
        let name = scope.cluster_queue(&options.queue_template(), cluster);
        let tags = Tags::of_cluster(&scope.bus, cluster);
        let record = ClusterRecord {
            made_by: Maker::Tool(format.word()),
            since: None,
            external: true,
            ..ClusterRecord::new(scope, options, cluster.clone(), Moment::default())
        };
        let controller = policy::controller_policy(scope, &name, options.key());
        let old_keys = settings.old_keys();
        let controller = policy::with_old_keys(controller, policy::KeyUse::Receive, scope, &old_keys);
        let queue = hub::cluster_queue(scope, name, options, tags);
        Self {
            // A record is a valid document.
            record: serde_json::from_str(&record.document()).unwrap_or_default(),
            queue_policy: of_owner(queue.policy.clone().unwrap_or_else(|| Document::new(Value::Null))),
            controller_policy: of_owner(controller),
            scope,
            settings,
            cluster,
            role,
            queue,
        }
    }

    /// As a Terraform module: of this cluster, or with variables for any.
    pub fn terraform(&self, any: bool) -> String {
        let write = |text: &str| {
            if self.is_own_arn(text) {
                "${aws_sqs_queue.interruptions.arn}".into()
            } else {
                terraform_text(self.scope, text)
            }
        };
        let mut variables = String::new();
        let mut given = |name: &str, about: &str, value: Option<&str>| match value.filter(|_| !any) {
            Some(value) => write(value),
            None => {
                let body = format!("  description = {about:?}\n  type        = string");
                variables.push_str(&format!("variable {name:?} {{\n{body}\n}}\n\n"));
                Value::from(format!("${{var.{name}}}"))
            }
        };
        let cluster = given("cluster", "Name of the EKS cluster", Some(self.cluster.as_str()));
        let about = "Name of the Karpenter controller's IAM role";
        let controller_role = given("controller_role", about, self.role.map(RoleName::as_str));
        let mut tags = rewritten(&json!(self.queue.tags.0), &write);
        tags[CLUSTER] = "${local.cluster}".into();
        let mut record = self.record.clone();
        record["cluster"] = "${local.cluster}".into();
        record["queue"] = "${local.queue_name}".into();
        let locals = json!({
            "cluster": cluster,
            "controller_policy": rewritten(self.controller_policy.value(), &write),
            "controller_role": controller_role,
            "queue": self.attributes().map(|(name, value)| (name, rewritten(&value, &write))).collect::<Value>(),
            "queue_policy": rewritten(self.queue_policy.value(), &write),
            "record": record,
            "records_path": self.scope.records_path(),
            "region": self.scope.region,
            "tags": tags,
            "template": self.settings.options.queue_template(),
        });
        let rest = include_str!("../templates/export/cluster.tf");
        format!("{variables}{}\n{rest}", terraform_locals(&locals))
    }

    /// As a CloudFormation template.
    pub fn cloud_formation(&self) -> String {
        let write = |text: &str| {
            if self.is_own_arn(text) {
                json!({ "Fn::GetAtt": ["Queue", "Arn"] })
            } else {
                match own_account(self.scope, &text.replace("${", "${!"), "${AWS::AccountId}") {
                    Some(data) => json!({ "Fn::Sub": data }),
                    None => text.into(),
                }
            }
        };
        let tags = rewritten(&json!(self.queue.tags.0), &write);
        let tags = tags.as_object().into_iter().flatten();
        let tags: Value = tags.map(|(key, value)| json!({ "Key": key, "Value": value })).collect();
        let mut values = vec![
            ("controller_role", json!(self.role)),
            ("controller_policy", rewritten(self.controller_policy.value(), &write)),
            ("queue_name", json!(self.queue.name)),
            ("queue_policy", rewritten(self.queue_policy.value(), &write)),
            ("record", self.record.to_string().into()),
            ("record_name", self.scope.record_parameter(self.cluster).as_str().into()),
            ("region", json!(self.scope.region)),
            ("tags", tags),
        ];
        values.extend(self.attributes().map(|(name, value)| (name, rewritten(&value, &write))));
        let template = include_str!("../templates/export/cluster.cloudformation.json");
        yaml(&without_nulls(fill_template(template, &values).value()))
    }

    /// The attributes of the queue besides its name, its policy and its tags. It has no dead-letter queue.
    fn attributes(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let Queue {
            retention,
            visibility,
            delay,
            receive_wait,
            max_message_size,
            redrive_allow,
            encryption,
            name: _,
            redrive: _,
            policy: _,
            tags: _,
            created: _,
        } = &self.queue;
        let managed = (*encryption == Encryption::SqsManaged).then_some(true);
        let redrive_allow = redrive_allow.as_ref().map(Document::value);
        [
            ("retention", json!(retention)),
            ("visibility", json!(visibility)),
            ("delay", json!(delay)),
            ("receive_wait", json!(receive_wait)),
            ("max_message_size", json!(max_message_size)),
            ("redrive_allow", json!(redrive_allow)),
            ("key", json!(encryption.key())),
            ("managed_key", json!(managed)),
        ]
        .into_iter()
    }

    fn is_own_arn(&self, text: &str) -> bool {
        text == self.scope.queue_arn(&self.queue.name)
    }
}

/// A hub as data for Terraform: names, ARNs, and the names of the queues of clusters.
pub fn hub(scope: &Scope, settings: &Settings) -> String {
    let options = &settings.options;
    let rules = Signal::ALL.into_iter().filter(|signal| options.has_rule(*signal));
    let rules: Vec<_> = rules.map(|signal| scope.rule_arn(&scope.rule(signal))).collect();
    let hub = json!({
        "bus": scope.bus,
        "region": scope.region,
        "queue_template": options.queue_template(),
        "kms_key_arn": options.key(),
        "hub_queue_arn": scope.queue_arn(&scope.hub_queue()),
        "dead_letter_queue_arn": scope.queue_arn(&scope.dead_letter_queue()),
        "router_role_arn": scope.role_arn(&options.role_path(), &scope.router_role()),
        "router_function_arn": scope.function_arn(&scope.router_function()),
        "rule_arns": rules,
    });
    let locals = json!({ "hub": rewritten(&hub, &|text| terraform_text(scope, text)) });
    let rest = include_str!("../templates/export/hub.tf");
    format!("{}\n{rest}", terraform_locals(&locals))
}

/// A policy without the Sids of kibus: a statement with one would make it a policy of kibus.
fn of_owner(mut policy: Document) -> Document {
    let statements = policy.value_mut().get_mut("Statement").and_then(Value::as_array_mut);
    for sid in statements.into_iter().flatten().filter_map(|one| one.get_mut("Sid")) {
        *sid = sid.as_str().unwrap_or_default().trim_start_matches("Kibus").into();
    }
    policy
}

/// The value with each text replaced by what `write` gives for it.
fn rewritten(value: &Value, write: &impl Fn(&str) -> Value) -> Value {
    match value {
        Value::String(text) => write(text),
        Value::Array(items) => items.iter().map(|item| rewritten(item, write)).collect(),
        Value::Object(members) => members.iter().map(|(key, of)| (key, rewritten(of, write))).collect(),
        other => other.clone(),
    }
}

/// A text as Terraform writes it between quotes, with Terraform's data source for the account in ARNs.
fn terraform_text(scope: &Scope, text: &str) -> Value {
    let text = text.replace("${", "$${").replace("%{", "%%{");
    let data = own_account(scope, &text, "${data.aws_caller_identity.current.account_id}");
    data.unwrap_or(text).into()
}

/// An ARN of the account with this text in place of the account; `None` for any other text.
fn own_account(scope: &Scope, text: &str, data: &str) -> Option<String> {
    let account = format!(":{}:", scope.account);
    let is_own = text.starts_with("arn:") && text.contains(&account);
    is_own.then(|| text.replacen(&account, &format!(":{data}:"), 1))
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(members) => {
            let set = members.iter().filter(|(_, value)| !value.is_null());
            set.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        other => other.clone(),
    }
}

/// Locals as `terraform fmt` lays them out. In their JSON, `${...}` is an expression.
fn terraform_locals(locals: &Value) -> String {
    let lines = locals.as_object().into_iter().flatten().map(|(name, value)| match value {
        Value::Object(_) => {
            let json = format!("{value:#}").replace('\n', "\n    ");
            format!("  {name} = jsondecode(<<-JSON\n    {json}\n  JSON\n  )\n")
        }
        Value::String(text) if text.starts_with("${var.") => {
            format!("  {name} = {}\n", text.trim_start_matches("${").trim_end_matches('}'))
        }
        _ => format!("  {name} = {value}\n"),
    });
    format!("locals {{\n{}}}\n", lines.collect::<Vec<_>>().join("\n"))
}
