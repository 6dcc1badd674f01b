//! Evaluates exported code: Terraform's language and CloudFormation's functions.

use std::collections::BTreeMap;

use hcl::eval::{Context, Evaluate, FuncArgs, FuncDef, ParamType};
use kibus::model::{ClusterRecord, Document, Encryption, ParameterName, Queue, Tags};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The record and the queue that an export creates, and the role and policy of its controller.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) record: (ParameterName, ClusterRecord),
    pub(crate) queue: Queue,
    pub(crate) controller: (String, Document),
}

/// A record from the name and the value of its parameter.
fn record(name: &Value, value: &Value) -> (ParameterName, ClusterRecord) {
    let (name, value) = (name.as_str().unwrap(), value.as_str().unwrap());
    let cluster = name.rsplit('/').next().unwrap().parse().unwrap();
    (name.parse().unwrap(), ClusterRecord::from_document(value, &cluster).unwrap())
}

/// A queue from its attributes under these names, as in SQS.
fn queue(of: &Map<String, Value>, names: [&str; 9], policy: Document, tags: BTreeMap<String, String>) -> Queue {
    let number = |name: &str| {
        let text = of[name].as_str().map(str::to_owned);
        text.unwrap_or_else(|| of[name].to_string()).parse().unwrap()
    };
    let [name, retention, visibility, delay, wait, size, managed, key, redrive_allow] = names;
    let managed = of.get(managed).filter(|value| !value.is_null());
    let encryption = match of.get(key).and_then(Value::as_str) {
        Some(key) => Encryption::Kms(key.parse().unwrap()),
        None => Encryption::SqsManaged,
    };
    assert_eq!(managed.is_some(), encryption == Encryption::SqsManaged);
    Queue {
        name: of[name].as_str().unwrap().parse().unwrap(),
        retention: number(retention),
        visibility: number(visibility),
        delay: number(delay),
        receive_wait: number(wait),
        max_message_size: number(size),
        redrive: None,
        redrive_allow: Some(document(&of[redrive_allow])),
        encryption,
        policy: Some(policy),
        tags: Tags(tags),
        created: 0,
    }
}

fn document(value: &Value) -> Document {
    match value {
        Value::String(text) => Document::parse(text).unwrap(),
        other => Document::new(other.clone()),
    }
}

/// The resources of a Terraform module with these variables.
pub(crate) fn terraform(text: &str, variables: &Value, queue_arn: &str) -> Asked {
    let (locals, body) = evaluated(text, variables, queue_arn);
    let context = context(variables, &locals, queue_arn);
    let resource = |kind: &str| {
        let blocks = body.blocks().filter(|block| block.identifier() == "resource");
        let mut blocks = blocks.filter(|block| block.labels()[0].as_str() == kind);
        let block = blocks.next().unwrap();
        let attributes = block.body().attributes();
        let attributes = attributes.map(|one| (one.key().to_owned(), json!(one.expr().evaluate(&context).unwrap())));
        attributes.collect::<Map<_, _>>()
    };
    let (parameter, of_queue) = (resource("aws_ssm_parameter"), resource("aws_sqs_queue"));
    let policy = resource("aws_sqs_queue_policy");
    let controller = resource("aws_iam_role_policy");
    let names = [
        "name",
        "message_retention_seconds",
        "visibility_timeout_seconds",
        "delay_seconds",
        "receive_wait_time_seconds",
        "max_message_size",
        "sqs_managed_sse_enabled",
        "kms_master_key_id",
        "redrive_allow_policy",
    ];
    let tags = serde_json::from_value(of_queue["tags"].clone()).unwrap();
    let role = controller["role"].as_str().unwrap().to_owned();
    Asked {
        record: record(&parameter["name"], &parameter["value"]),
        queue: queue(&of_queue, names, document(&policy["policy"]), tags),
        controller: (role, document(&controller["policy"])),
    }
}

/// The locals of a module with these variables, and the module.
pub(crate) fn evaluated(text: &str, variables: &Value, queue_arn: &str) -> (Map<String, Value>, hcl::Body) {
    let body = hcl::parse(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let blocks = body.blocks().filter(|block| block.identifier() == "locals");
    let mut open: Vec<&hcl::Attribute> = blocks.flat_map(|block| block.body().attributes()).collect();
    let mut locals = Map::new();
    while !open.is_empty() {
        let before = open.len();
        let context = context(variables, &locals, queue_arn);
        let mut known = Map::new();
        open.retain(|local| match local.expr().evaluate(&context) {
            Ok(value) => known.insert(local.key().to_owned(), json!(value)).is_some(),
            Err(_) => true,
        });
        locals.extend(known);
        assert!(open.len() < before, "{open:?}");
    }
    (locals, body)
}

fn context(variables: &Value, locals: &Map<String, Value>, queue_arn: &str) -> Context<'static> {
    let mut context = Context::new();
    let value = |value: Value| serde_json::from_value::<hcl::Value>(value).unwrap();
    context.declare_var("var", value(variables.clone()));
    context.declare_var("local", value(locals.clone().into()));
    let data = json!({ "aws_caller_identity": { "current": { "account_id": account(queue_arn) } } });
    context.declare_var("data", value(data));
    let queue = json!({ "interruptions": { "arn": queue_arn, "id": "url", "name": "name" } });
    context.declare_var("aws_sqs_queue", value(queue));
    context.declare_var("aws_ssm_parameter", value(json!({ "record": "record" })));
    let any = |count: usize| (0..count).fold(FuncDef::builder(), |builder, _| builder.param(ParamType::Any));
    context.declare_func("length", any(1).build(|args| Ok(text(&args, 0).len().into())));
    context.declare_func("sha256", any(1).build(|args| Ok(hex::encode(&Sha256::digest(text(&args, 0))[..]).into())));
    context.declare_func(
        "substr",
        any(3).build(|args| {
            let number = |at: usize| usize::try_from(args[at].as_u64().unwrap_or_default()).unwrap();
            Ok(text(&args, 0).chars().skip(number(1)).take(number(2)).collect::<String>().into())
        }),
    );
    context.declare_func(
        "replace",
        any(3).build(|args| Ok(text(&args, 0).replace(&text(&args, 1), &text(&args, 2)).into())),
    );
    context.declare_func(
        "jsondecode",
        any(1).build(|args| serde_json::from_str(&text(&args, 0)).map_err(|e| e.to_string())),
    );
    context.declare_func("jsonencode", any(1).build(|args| Ok(json!(args[0]).to_string().into())));
    context
}

fn account(arn: &str) -> &str {
    arn.split(':').nth(4).unwrap_or_default()
}

fn text(args: &FuncArgs, at: usize) -> String {
    args[at].as_str().unwrap_or_default().to_owned()
}

/// The resources of a CloudFormation template.
pub(crate) fn cloud_formation(template: &str, role: Option<&str>, queue_arn: &str) -> Asked {
    let template: Value = yaml(template);
    let role = role.or(template.pointer("/Parameters/ControllerRole/Default").and_then(Value::as_str));
    let role = role.unwrap().to_owned();
    let resource = |id: &str| resolved(&template["Resources"][id]["Properties"], &role, queue_arn);
    let (of_queue, policy, controller) = (resource("Queue"), resource("QueuePolicy"), resource("ControllerPolicy"));
    let names = [
        "QueueName",
        "MessageRetentionPeriod",
        "VisibilityTimeout",
        "DelaySeconds",
        "ReceiveMessageWaitTimeSeconds",
        "MaximumMessageSize",
        "SqsManagedSseEnabled",
        "KmsMasterKeyId",
        "RedriveAllowPolicy",
    ];
    let tags = of_queue["Tags"].as_array().unwrap().iter();
    let tags = tags.map(|tag| (tag["Key"].as_str().unwrap().to_owned(), tag["Value"].as_str().unwrap().to_owned()));
    assert_eq!(controller["Roles"], json!([role]));
    let parameter = resource("Record");
    Asked {
        record: record(&parameter["Name"], &parameter["Value"]),
        queue: queue(of_queue.as_object().unwrap(), names, document(&policy["PolicyDocument"]), tags.collect()),
        controller: (role.clone(), document(&controller["PolicyDocument"])),
    }
}

/// The value without the functions that an export uses.
fn resolved(value: &Value, role: &str, queue_arn: &str) -> Value {
    let resolve = |value: &Value| resolved(value, role, queue_arn);
    match value {
        Value::Array(items) => items.iter().map(resolve).collect(),
        Value::Object(members) => match members.iter().next() {
            Some((key, value)) if key == "Ref" => match value.as_str().unwrap() {
                "ControllerRole" => role.into(),
                "Queue" => "url".into(),
                other => panic!("{other}"),
            },
            Some((key, value)) if key == "Fn::GetAtt" && *value == json!(["Queue", "Arn"]) => queue_arn.into(),
            Some((key, value)) if key == "Fn::Sub" => {
                let text = value.as_str().unwrap().replace("${AWS::AccountId}", account(queue_arn));
                assert!(!text.contains("${"), "{text}");
                text.into()
            }
            Some((key, value)) if key == "Fn::Split" => {
                let whole = resolve(&value[1]);
                whole.as_str().unwrap().split(value[0].as_str().unwrap()).collect()
            }
            Some((key, value)) if key == "Fn::Join" => {
                let parts: Vec<String> = serde_json::from_value(resolve(&value[1])).unwrap();
                parts.join(value[0].as_str().unwrap()).into()
            }
            _ => members.iter().map(|(key, value)| (key, resolve(value))).collect(),
        },
        other => other.clone(),
    }
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}
