//! The calls to AWS in one table: the action that IAM checks, whether it reads, and for which changes of which kind of resource it
//! is made, about which ARN. An action is written here and nowhere else. The documents of an operator are templates, which the
//! tests compare with this table; the preflight and the log of calls read it.

use super::{Kind, ResourceId};
use crate::model::{PermissionsBoundary, RolePath, Scope, Signal, scope::LIVE};

#[derive(Clone, Copy, Debug)]
pub struct ApiCall {
    pub action: &'static str,
    pub access: Access,
    /// The kinds of resources that it belongs to; none for a call that only finds resources, or is about none.
    pub kinds: &'static [Kind],
    /// What it is about, as AWS compares it with a policy.
    pub arn: Arn,
}

/// What a call does, and for which changes of its kind it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// It reads, and only commands that change something make it.
    ReadForChange,
    Create,
    Update,
    CreateOrUpdate,
    Delete,
    UpdateOrDelete,
    /// It sets the field at this path, also of a new resource.
    Set(&'static str),
    /// It sets the field at this path. A new resource gets it from the call that creates it.
    SetLater(&'static str),
    Unset(&'static str),
}

use Access::{Create, CreateOrUpdate, Delete, Read, ReadForChange, Set, SetLater, Unset, Update, UpdateOrDelete};

impl Access {
    pub fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::ReadForChange)
    }
}

/// Makes the ARN that a call about a resource is compared with, where the hub's role has this path.
type Arn = fn(&Scope, &RolePath, &ResourceId) -> String;

macro_rules! calls {
    ($(
        $service:ident {
            $($name:ident = $action:literal, $access:expr $(, $kind:ident $(or $other:ident)? $(at $arn:ident)?)?;)*
        }
    )*) => {
        $(
            pub mod $service {
                $(
                    #[doc = concat!("`", $action, "`")]
                    pub const $name: &str = $action;
                )*
            }
        )*

        /// Every call.
        pub const CALLS: &[ApiCall] = &[$($(
            ApiCall {
                action: $action,
                access: $access,
                kinds: &[$(Kind::$kind, $(Kind::$other)?)?],
                arn: [$($($arn as Arn,)?)? itself][0],
            },
        )*)*];
    };
}

calls! {
    ssm {
        // AWS asks for it beside a create with tags.
        ADD_TAGS_TO_RESOURCE = "ssm:AddTagsToResource", Create, Parameter or Record;
        DELETE_PARAMETER = "ssm:DeleteParameter", Delete, Parameter;
        DELETE_PARAMETERS = "ssm:DeleteParameters", Delete, Record;
        GET_PARAMETER = "ssm:GetParameter", Read, Parameter;
        GET_PARAMETERS = "ssm:GetParameters", Read, Record;
        GET_PARAMETER_HISTORY = "ssm:GetParameterHistory", ReadForChange, Parameter;
        GET_PARAMETERS_BY_PATH = "ssm:GetParametersByPath", Read;
        PUT_PARAMETER = "ssm:PutParameter", CreateOrUpdate, Parameter or Record;
    }
    sqs {
        CHANGE_MESSAGE_VISIBILITY = "sqs:ChangeMessageVisibility", Update;
        CREATE_QUEUE = "sqs:CreateQueue", Create, Queue;
        DELETE_MESSAGE = "sqs:DeleteMessage", Delete;
        DELETE_QUEUE = "sqs:DeleteQueue", Delete, Queue;
        GET_QUEUE_ATTRIBUTES = "sqs:GetQueueAttributes", Read, Queue;
        GET_QUEUE_URL = "sqs:GetQueueUrl", Read;
        LIST_DEAD_LETTER_SOURCE_QUEUES = "sqs:ListDeadLetterSourceQueues", Read;
        LIST_QUEUE_TAGS = "sqs:ListQueueTags", Read, Queue;
        LIST_QUEUES = "sqs:ListQueues", Read;
        // It hides the message from its consumer.
        RECEIVE_MESSAGE = "sqs:ReceiveMessage", Update;
        SEND_MESSAGE = "sqs:SendMessage", Update;
        SET_QUEUE_ATTRIBUTES = "sqs:SetQueueAttributes", Update, Queue;
        TAG_QUEUE = "sqs:TagQueue", CreateOrUpdate, Queue;
        UNTAG_QUEUE = "sqs:UntagQueue", Update, Queue;
    }
    iam {
        CREATE_ROLE = "iam:CreateRole", Create, Role;
        DELETE_ROLE = "iam:DeleteRole", Delete, Role;
        DELETE_ROLE_PERMISSIONS_BOUNDARY = "iam:DeleteRolePermissionsBoundary", Unset("permissions_boundary"), Role;
        DELETE_ROLE_POLICY = "iam:DeleteRolePolicy", Delete, RolePolicy;
        GET_ACCOUNT_AUTHORIZATION_DETAILS = "iam:GetAccountAuthorizationDetails", Read;
        GET_ROLE = "iam:GetRole", Read, Role;
        GET_ROLE_POLICY = "iam:GetRolePolicy", Read, RolePolicy;
        LIST_ROLE_POLICIES = "iam:ListRolePolicies", Read;
        LIST_ROLES = "iam:ListRoles", Read;
        // Lambda makes no call of this name: AWS checks the permission when a function takes its role.
        PASS_ROLE = "iam:PassRole", CreateOrUpdate, Function at router_role;
        PUT_ROLE_PERMISSIONS_BOUNDARY = "iam:PutRolePermissionsBoundary", SetLater("permissions_boundary"), Role;
        PUT_ROLE_POLICY = "iam:PutRolePolicy", CreateOrUpdate, RolePolicy;
        SIMULATE_PRINCIPAL_POLICY = "iam:SimulatePrincipalPolicy", Read;
        TAG_ROLE = "iam:TagRole", CreateOrUpdate, Role;
        UNTAG_ROLE = "iam:UntagRole", Update, Role;
        UPDATE_ASSUME_ROLE_POLICY = "iam:UpdateAssumeRolePolicy", Update, Role;
    }
    logs {
        CREATE_LOG_GROUP = "logs:CreateLogGroup", Create, LogGroup at log_streams;
        DELETE_LOG_GROUP = "logs:DeleteLogGroup", Delete, LogGroup at log_streams;
        DELETE_RETENTION_POLICY = "logs:DeleteRetentionPolicy", Unset("retention_days"), LogGroup at log_streams;
        DESCRIBE_LOG_GROUPS = "logs:DescribeLogGroups", Read, LogGroup at log_streams;
        FILTER_LOG_EVENTS = "logs:FilterLogEvents", Read;
        LIST_TAGS_FOR_RESOURCE = "logs:ListTagsForResource", Read, LogGroup;
        PUT_RETENTION_POLICY = "logs:PutRetentionPolicy", CreateOrUpdate, LogGroup at log_streams;
        TAG_RESOURCE = "logs:TagResource", CreateOrUpdate, LogGroup;
        UNTAG_RESOURCE = "logs:UntagResource", Update, LogGroup;
    }
    lambda {
        CREATE_ALIAS = "lambda:CreateAlias", Create, Alias;
        CREATE_EVENT_SOURCE_MAPPING = "lambda:CreateEventSourceMapping", Create, EventSourceMapping;
        CREATE_FUNCTION = "lambda:CreateFunction", Create, Function;
        DELETE_ALIAS = "lambda:DeleteAlias", Delete, Alias;
        DELETE_EVENT_SOURCE_MAPPING = "lambda:DeleteEventSourceMapping", Delete, EventSourceMapping;
        DELETE_FUNCTION = "lambda:DeleteFunction", Delete, Function;
        DELETE_FUNCTION_CONCURRENCY = "lambda:DeleteFunctionConcurrency", Unset("reserved_concurrency"), Function;
        GET_ACCOUNT_SETTINGS = "lambda:GetAccountSettings", ReadForChange;
        GET_ALIAS = "lambda:GetAlias", Read, Alias;
        GET_EVENT_SOURCE_MAPPING = "lambda:GetEventSourceMapping", ReadForChange, EventSourceMapping;
        GET_FUNCTION = "lambda:GetFunction", Read, Function;
        GET_POLICY = "lambda:GetPolicy", Read, Function;
        INVOKE_FUNCTION = "lambda:InvokeFunction", CreateOrUpdate, Alias at live_alias;
        LIST_EVENT_SOURCE_MAPPINGS = "lambda:ListEventSourceMappings", Read, EventSourceMapping;
        LIST_TAGS = "lambda:ListTags", Read, Function;
        LIST_VERSIONS_BY_FUNCTION = "lambda:ListVersionsByFunction", Read, Alias;
        PUBLISH_VERSION = "lambda:PublishVersion", CreateOrUpdate, Alias;
        PUT_FUNCTION_CONCURRENCY = "lambda:PutFunctionConcurrency", Set("reserved_concurrency"), Function;
        TAG_RESOURCE = "lambda:TagResource", CreateOrUpdate, Function;
        UNTAG_RESOURCE = "lambda:UntagResource", Update, Function;
        UPDATE_ALIAS = "lambda:UpdateAlias", Update, Alias;
        UPDATE_EVENT_SOURCE_MAPPING = "lambda:UpdateEventSourceMapping", Update, EventSourceMapping;
        UPDATE_FUNCTION_CODE = "lambda:UpdateFunctionCode", Update, Function;
        UPDATE_FUNCTION_CONFIGURATION = "lambda:UpdateFunctionConfiguration", Update, Function;
    }
    events {
        DELETE_RULE = "events:DeleteRule", Delete, Rule;
        DESCRIBE_RULE = "events:DescribeRule", Read, Rule;
        LIST_RULES = "events:ListRules", Read;
        LIST_TAGS_FOR_RESOURCE = "events:ListTagsForResource", Read, Rule;
        LIST_TARGETS_BY_RULE = "events:ListTargetsByRule", Read, Rule;
        PUT_EVENTS = "events:PutEvents", Update;
        PUT_RULE = "events:PutRule", CreateOrUpdate, Rule;
        PUT_TARGETS = "events:PutTargets", CreateOrUpdate, Rule;
        REMOVE_TARGETS = "events:RemoveTargets", UpdateOrDelete, Rule;
        TAG_RESOURCE = "events:TagResource", CreateOrUpdate, Rule;
        UNTAG_RESOURCE = "events:UntagResource", Update, Rule;
    }
    kms {
        DECRYPT = "kms:Decrypt", Update;
        GENERATE_DATA_KEY = "kms:GenerateDataKey", Update;
        GET_KEY_POLICY = "kms:GetKeyPolicy", Read;
    }
    cloudwatch {
        DELETE_ALARMS = "cloudwatch:DeleteAlarms", Delete, Alarm;
        DELETE_DASHBOARDS = "cloudwatch:DeleteDashboards", Delete, Dashboard;
        DESCRIBE_ALARMS = "cloudwatch:DescribeAlarms", Read, Alarm at any_alarm;
        GET_DASHBOARD = "cloudwatch:GetDashboard", Read, Dashboard;
        GET_METRIC_DATA = "cloudwatch:GetMetricData", Read;
        LIST_TAGS_FOR_RESOURCE = "cloudwatch:ListTagsForResource", Read, Alarm;
        PUT_DASHBOARD = "cloudwatch:PutDashboard", CreateOrUpdate, Dashboard;
        PUT_METRIC_ALARM = "cloudwatch:PutMetricAlarm", CreateOrUpdate, Alarm;
        TAG_RESOURCE = "cloudwatch:TagResource", CreateOrUpdate, Alarm;
        UNTAG_RESOURCE = "cloudwatch:UntagResource", Update, Alarm;
    }
    ec2 {
        DESCRIBE_INSTANCES = "ec2:DescribeInstances", Read;
        DESCRIBE_TAGS = "ec2:DescribeTags", Read;
    }
    eks {
        DESCRIBE_CLUSTER = "eks:DescribeCluster", Read;
        DESCRIBE_POD_IDENTITY_ASSOCIATION = "eks:DescribePodIdentityAssociation", Read;
        LIST_CLUSTERS = "eks:ListClusters", Read;
        LIST_POD_IDENTITY_ASSOCIATIONS = "eks:ListPodIdentityAssociations", Read;
    }
    fis {
        CREATE_EXPERIMENT_TEMPLATE = "fis:CreateExperimentTemplate", Update;
        DELETE_EXPERIMENT_TEMPLATE = "fis:DeleteExperimentTemplate", Update;
        GET_EXPERIMENT = "fis:GetExperiment", Read;
        LIST_EXPERIMENT_TEMPLATES = "fis:ListExperimentTemplates", Read;
        LIST_EXPERIMENTS = "fis:ListExperiments", Read;
        START_EXPERIMENT = "fis:StartExperiment", Update;
        STOP_EXPERIMENT = "fis:StopExperiment", Update;
    }
    sns {
        GET_TOPIC_ATTRIBUTES = "sns:GetTopicAttributes", Read;
        PUBLISH = "sns:Publish", Update;
    }
    sts {
        ASSUME_ROLE_WITH_WEB_IDENTITY = "sts:AssumeRoleWithWebIdentity", Update;
        GET_CALLER_IDENTITY = "sts:GetCallerIdentity", Read;
    }
    tag {
        GET_RESOURCES = "tag:GetResources", Read;
    }
}

/// Patterns of actions, which a document that is too long names instead. The actions in the table of calls that match one are all that AWS has for it (Service Authorization
/// Reference). In actions, case does not count.
pub const PATTERNS: &[&str] = &[
    "events:*Targets",
    "events:*tagResource",
    "iam:*tagRole",
    "lambda:*Alias",
    "lambda:*eFunction",
    "lambda:*tagResource",
    "lambda:UpdateFunctionCo*",
    "logs:*tagResource",
    "sqs:*eMessage",
    "sqs:*tagQueue",
];

pub fn call_of(action: &str) -> Option<&'static ApiCall> {
    CALLS.iter().find(|call| call.action == action)
}

pub fn is_read(action: &str) -> bool {
    call_of(action).is_some_and(|call| call.access.is_read())
}

/// The ARN of a resource; `*` if AWS gives it a name that is not known before.
fn itself(scope: &Scope, path: &RolePath, id: &ResourceId) -> String {
    match id {
        ResourceId::Parameter(name) | ResourceId::Record(name) => scope.parameter_arn(name),
        ResourceId::Queue(name) => scope.queue_arn(name),
        ResourceId::Role(name) | ResourceId::RolePolicy(name, _) => scope.role_arn(path, name),
        ResourceId::LogGroup(name) => scope.log_group_arn(name),
        ResourceId::Function(name) | ResourceId::Alias(name, _) => scope.function_arn(name),
        ResourceId::EventSourceMapping(..) => "*".to_owned(),
        ResourceId::Rule(name) => scope.rule_arn(name),
        ResourceId::Alarm(name) => scope.alarm_arn(name),
        ResourceId::Dashboard(name) => scope.dashboard_arn(name),
    }
}

/// Only calls about tags take the ARN of a log group without this end (CloudWatch Logs user guide, "Identity-based policies").
fn log_streams(scope: &Scope, path: &RolePath, id: &ResourceId) -> String {
    format!("{}:*", itself(scope, path, id))
}

/// AWS compares the alarms that a list may have with a pattern of all.
fn any_alarm(scope: &Scope, _: &RolePath, _: &ResourceId) -> String {
    scope.arn("cloudwatch", "alarm:*")
}

fn live_alias(scope: &Scope, _: &RolePath, _: &ResourceId) -> String {
    scope.alias_arn(&scope.router_function(), LIVE)
}

fn router_role(scope: &Scope, path: &RolePath, _: &ResourceId) -> String {
    scope.role_arn(path, &scope.router_role())
}

/// The condition keys of requests that the options of a hub decide about, beside those of tags, and whether a request can have
/// several values of one (Service Authorization Reference).
pub const CONDITION_KEYS: [(&str, bool); 6] = [
    (TAG_KEYS, true),
    (TARGET_ARN, true),
    (EVENT_SOURCE, true),
    (PASSED_TO, false),
    (BOUNDARY, false),
    (FUNCTION_ARN, false),
];

/// The keys of the tags in a request.
pub const TAG_KEYS: &str = "aws:TagKeys";
const TARGET_ARN: &str = "events:TargetArn";
const EVENT_SOURCE: &str = "events:source";
const PASSED_TO: &str = "iam:PassedToService";
const BOUNDARY: &str = "iam:PermissionsBoundary";
const FUNCTION_ARN: &str = "lambda:FunctionArn";

/// What requests about a kind of resource hold for conditions, by key, where the router's role has this boundary. `passes` stands for
/// the request that passes a role.
pub fn conditions(
    kind: Kind,
    passes: bool,
    scope: &Scope,
    boundary: Option<&PermissionsBoundary>,
) -> Vec<(&'static str, Vec<String>)> {
    match kind {
        _ if passes => vec![(PASSED_TO, vec!["lambda.amazonaws.com".to_owned()])],
        Kind::Rule => {
            let mut sources: Vec<String> = Signal::ALL.map(|signal| signal.source().to_owned()).into();
            sources.sort();
            sources.dedup();
            vec![(EVENT_SOURCE, sources), (TARGET_ARN, vec![scope.queue_arn(&scope.hub_queue())])]
        }
        Kind::EventSourceMapping => vec![(FUNCTION_ARN, vec![scope.alias_arn(&scope.router_function(), LIVE)])],
        Kind::Role | Kind::RolePolicy => {
            let boundary = boundary.map(|boundary| (BOUNDARY, vec![boundary.to_string()]));
            boundary.into_iter().collect()
        }
        Kind::Parameter
        | Kind::Record
        | Kind::Queue
        | Kind::LogGroup
        | Kind::Function
        | Kind::Alias
        | Kind::Alarm
        | Kind::Dashboard => Vec::new(),
    }
}

/// The members of a request that name a resource of a kind.
pub fn request_members(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Parameter => &["Name", "Path"],
        Kind::Record => &["Names"],
        Kind::Queue => &["QueueName", "QueueUrl", "QueueNamePrefix"],
        Kind::Role | Kind::RolePolicy => &["RoleName"],
        Kind::LogGroup => &["logGroupName", "logGroupNamePrefix", "resourceArn"],
        Kind::Function | Kind::Alias | Kind::EventSourceMapping => &["FunctionName"],
        Kind::Rule => &["Name", "Rule", "ResourceARN"],
        Kind::Alarm => &["AlarmName", "AlarmNames", "ResourceARN"],
        Kind::Dashboard => &["DashboardName", "DashboardNames"],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn sources() -> Vec<(PathBuf, String)> {
        let mut paths = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut sources = Vec::new();
        while let Some(path) = paths.pop() {
            if path.is_dir() && path.file_name().is_none_or(|name| name != "tests") {
                paths.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap().to_owned();
                sources.push((path, code));
            }
        }
        sources
    }

    #[test]
    fn an_action_is_written_once() {
        let services: BTreeSet<&str> = CALLS.iter().map(|call| call.action.split_once(':').unwrap().0).collect();
        let is_action = |word: &str| {
            let name = word.split_once(':').filter(|(service, _)| services.contains(service));
            name.is_some_and(|(_, name)| {
                name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphabetic())
            }) && !CONDITION_KEYS.iter().any(|(key, _)| *key == word)
        };
        let mut written: Vec<String> = Vec::new();
        for (path, code) in sources() {
            let code: Vec<&str> = code.lines().filter(|line| !line.trim().starts_with("//")).collect();
            for word in code.join("\n").split('"').filter(|word| is_action(word)) {
                assert!(path.ends_with("resource/calls.rs"), "{}: `{word}`", path.display());
                written.push(word.to_owned());
            }
        }
        let table: Vec<&str> = CALLS.iter().map(|call| call.action).collect();
        assert_eq!(written, table);
        assert_eq!(table.iter().collect::<BTreeSet<_>>().len(), table.len(), "written twice");
    }

    #[test]
    fn a_read_changes_nothing() {
        for (action, read) in [
            ("iam:ListRoles", true),
            ("logs:FilterLogEvents", true),
            ("iam:SimulatePrincipalPolicy", true),
            ("sqs:CreateQueue", false),
            ("sqs:ReceiveMessage", false),
        ] {
            assert_eq!(is_read(action), read, "{action}");
        }
    }

    /// What the preflight and the operator's document need of a new kind.
    #[test]
    fn every_kind_has_calls_that_read_create_and_delete_it() {
        for kind in Kind::ALL {
            let of_kind: Vec<Access> =
                CALLS.iter().filter(|call| call.kinds.contains(kind)).map(|call| call.access).collect();
            let has = |accesses: &[Access]| accesses.iter().any(|access| of_kind.contains(access));
            assert!(has(&[Read]), "{kind:?}");
            assert!(has(&[Create, CreateOrUpdate]), "{kind:?}");
            assert!(has(&[Update, CreateOrUpdate]), "{kind:?}");
            assert!(has(&[Delete]), "{kind:?}");
        }
    }
}
