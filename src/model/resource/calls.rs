//! The calls to AWS in one table: the action that IAM checks, and whether it reads. Actions are listed only here. The
//! operator documents are templates, which the tests compare with this table; the pacing and logging of calls use it.

use super::Kind;

#[derive(Clone, Copy, Debug)]
pub struct ApiCall {
    pub action: &'static str,
    pub access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// A read that only changing commands make.
    ReadForChange,
    Change,
}

use Access::{Change, Read, ReadForChange};

macro_rules! calls {
    ($($service:ident { $($name:ident = $action:literal, $access:expr;)* })*) => {
        $(
            pub mod $service {
                $(
                    #[doc = concat!("`", $action, "`")]
                    pub const $name: &str = $action;
                )*
            }
        )*

        /// Every call.
        pub const CALLS: &[ApiCall] = &[$($(ApiCall { action: $action, access: $access },)*)*];
    };
}

calls! {
    ssm {
        // AWS requires it for a create with tags.
        ADD_TAGS_TO_RESOURCE = "ssm:AddTagsToResource", Change;
        DELETE_PARAMETER = "ssm:DeleteParameter", Change;
        DELETE_PARAMETERS = "ssm:DeleteParameters", Change;
        GET_PARAMETER = "ssm:GetParameter", Read;
        GET_PARAMETERS = "ssm:GetParameters", Read;
        GET_PARAMETER_HISTORY = "ssm:GetParameterHistory", ReadForChange;
        GET_PARAMETERS_BY_PATH = "ssm:GetParametersByPath", Read;
        PUT_PARAMETER = "ssm:PutParameter", Change;
    }
    sqs {
        CHANGE_MESSAGE_VISIBILITY = "sqs:ChangeMessageVisibility", Change;
        CREATE_QUEUE = "sqs:CreateQueue", Change;
        DELETE_MESSAGE = "sqs:DeleteMessage", Change;
        DELETE_QUEUE = "sqs:DeleteQueue", Change;
        GET_QUEUE_ATTRIBUTES = "sqs:GetQueueAttributes", Read;
        GET_QUEUE_URL = "sqs:GetQueueUrl", Read;
        LIST_DEAD_LETTER_SOURCE_QUEUES = "sqs:ListDeadLetterSourceQueues", Read;
        LIST_QUEUE_TAGS = "sqs:ListQueueTags", Read;
        LIST_QUEUES = "sqs:ListQueues", Read;
        // It temporarily hides the message from its consumer.
        RECEIVE_MESSAGE = "sqs:ReceiveMessage", Change;
        SEND_MESSAGE = "sqs:SendMessage", Change;
        SET_QUEUE_ATTRIBUTES = "sqs:SetQueueAttributes", Change;
        TAG_QUEUE = "sqs:TagQueue", Change;
        UNTAG_QUEUE = "sqs:UntagQueue", Change;
    }
    iam {
        CREATE_ROLE = "iam:CreateRole", Change;
        DELETE_ROLE = "iam:DeleteRole", Change;
        DELETE_ROLE_PERMISSIONS_BOUNDARY = "iam:DeleteRolePermissionsBoundary", Change;
        DELETE_ROLE_POLICY = "iam:DeleteRolePolicy", Change;
        GET_ACCOUNT_AUTHORIZATION_DETAILS = "iam:GetAccountAuthorizationDetails", Read;
        GET_ROLE = "iam:GetRole", Read;
        GET_ROLE_POLICY = "iam:GetRolePolicy", Read;
        LIST_ROLE_POLICIES = "iam:ListRolePolicies", Read;
        LIST_ROLES = "iam:ListRoles", Read;
        // There is no API call of this name: AWS checks the permission when a function is given its role.
        PASS_ROLE = "iam:PassRole", Change;
        PUT_ROLE_PERMISSIONS_BOUNDARY = "iam:PutRolePermissionsBoundary", Change;
        PUT_ROLE_POLICY = "iam:PutRolePolicy", Change;
        TAG_ROLE = "iam:TagRole", Change;
        UNTAG_ROLE = "iam:UntagRole", Change;
        UPDATE_ASSUME_ROLE_POLICY = "iam:UpdateAssumeRolePolicy", Change;
    }
    logs {
        CREATE_LOG_GROUP = "logs:CreateLogGroup", Change;
        DELETE_LOG_GROUP = "logs:DeleteLogGroup", Change;
        DELETE_RETENTION_POLICY = "logs:DeleteRetentionPolicy", Change;
        DESCRIBE_LOG_GROUPS = "logs:DescribeLogGroups", Read;
        FILTER_LOG_EVENTS = "logs:FilterLogEvents", Read;
        LIST_TAGS_FOR_RESOURCE = "logs:ListTagsForResource", Read;
        PUT_RETENTION_POLICY = "logs:PutRetentionPolicy", Change;
        TAG_RESOURCE = "logs:TagResource", Change;
        UNTAG_RESOURCE = "logs:UntagResource", Change;
    }
    lambda {
        CREATE_ALIAS = "lambda:CreateAlias", Change;
        CREATE_EVENT_SOURCE_MAPPING = "lambda:CreateEventSourceMapping", Change;
        CREATE_FUNCTION = "lambda:CreateFunction", Change;
        DELETE_ALIAS = "lambda:DeleteAlias", Change;
        DELETE_EVENT_SOURCE_MAPPING = "lambda:DeleteEventSourceMapping", Change;
        DELETE_FUNCTION = "lambda:DeleteFunction", Change;
        DELETE_FUNCTION_CONCURRENCY = "lambda:DeleteFunctionConcurrency", Change;
        GET_ACCOUNT_SETTINGS = "lambda:GetAccountSettings", ReadForChange;
        GET_ALIAS = "lambda:GetAlias", Read;
        GET_EVENT_SOURCE_MAPPING = "lambda:GetEventSourceMapping", ReadForChange;
        GET_FUNCTION = "lambda:GetFunction", Read;
        GET_POLICY = "lambda:GetPolicy", Read;
        INVOKE_FUNCTION = "lambda:InvokeFunction", Change;
        LIST_EVENT_SOURCE_MAPPINGS = "lambda:ListEventSourceMappings", Read;
        LIST_TAGS = "lambda:ListTags", Read;
        LIST_VERSIONS_BY_FUNCTION = "lambda:ListVersionsByFunction", Read;
        PUBLISH_VERSION = "lambda:PublishVersion", Change;
        PUT_FUNCTION_CONCURRENCY = "lambda:PutFunctionConcurrency", Change;
        TAG_RESOURCE = "lambda:TagResource", Change;
        UNTAG_RESOURCE = "lambda:UntagResource", Change;
        UPDATE_ALIAS = "lambda:UpdateAlias", Change;
        UPDATE_EVENT_SOURCE_MAPPING = "lambda:UpdateEventSourceMapping", Change;
        UPDATE_FUNCTION_CODE = "lambda:UpdateFunctionCode", Change;
        UPDATE_FUNCTION_CONFIGURATION = "lambda:UpdateFunctionConfiguration", Change;
    }
    events {
        DELETE_RULE = "events:DeleteRule", Change;
        DESCRIBE_RULE = "events:DescribeRule", Read;
        LIST_RULES = "events:ListRules", Read;
        LIST_TAGS_FOR_RESOURCE = "events:ListTagsForResource", Read;
        LIST_TARGETS_BY_RULE = "events:ListTargetsByRule", Read;
        PUT_EVENTS = "events:PutEvents", Change;
        PUT_RULE = "events:PutRule", Change;
        PUT_TARGETS = "events:PutTargets", Change;
        REMOVE_TARGETS = "events:RemoveTargets", Change;
        TAG_RESOURCE = "events:TagResource", Change;
        UNTAG_RESOURCE = "events:UntagResource", Change;
    }
    kms {
        DECRYPT = "kms:Decrypt", Change;
        DESCRIBE_KEY = "kms:DescribeKey", Read;
        GENERATE_DATA_KEY = "kms:GenerateDataKey", Change;
        GET_KEY_POLICY = "kms:GetKeyPolicy", Read;
    }
    cloudwatch {
        DELETE_ALARMS = "cloudwatch:DeleteAlarms", Change;
        DELETE_DASHBOARDS = "cloudwatch:DeleteDashboards", Change;
        DESCRIBE_ALARMS = "cloudwatch:DescribeAlarms", Read;
        GET_DASHBOARD = "cloudwatch:GetDashboard", Read;
        GET_METRIC_DATA = "cloudwatch:GetMetricData", Read;
        LIST_TAGS_FOR_RESOURCE = "cloudwatch:ListTagsForResource", Read;
        PUT_DASHBOARD = "cloudwatch:PutDashboard", Change;
        PUT_METRIC_ALARM = "cloudwatch:PutMetricAlarm", Change;
        TAG_RESOURCE = "cloudwatch:TagResource", Change;
        UNTAG_RESOURCE = "cloudwatch:UntagResource", Change;
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
        CREATE_EXPERIMENT_TEMPLATE = "fis:CreateExperimentTemplate", Change;
        DELETE_EXPERIMENT_TEMPLATE = "fis:DeleteExperimentTemplate", Change;
        GET_EXPERIMENT = "fis:GetExperiment", Read;
        GET_EXPERIMENT_TEMPLATE = "fis:GetExperimentTemplate", Read;
        LIST_EXPERIMENT_TEMPLATES = "fis:ListExperimentTemplates", Read;
        LIST_EXPERIMENTS = "fis:ListExperiments", Read;
        START_EXPERIMENT = "fis:StartExperiment", Change;
        STOP_EXPERIMENT = "fis:StopExperiment", Change;
    }
    sns {
        GET_TOPIC_ATTRIBUTES = "sns:GetTopicAttributes", Read;
        PUBLISH = "sns:Publish", Change;
    }
    sts {
        ASSUME_ROLE_WITH_WEB_IDENTITY = "sts:AssumeRoleWithWebIdentity", Change;
        GET_CALLER_IDENTITY = "sts:GetCallerIdentity", Read;
    }
    tag {
        GET_RESOURCES = "tag:GetResources", Read;
    }
}

pub fn call_of(action: &str) -> Option<&'static ApiCall> {
    CALLS.iter().find(|call| call.action == action)
}

pub fn is_read(action: &str) -> bool {
    call_of(action).is_some_and(|call| call.access != Change)
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

    use super::*;
    use crate::error::tests::code_lines;

    #[test]
    fn an_action_is_written_once() {
        let services: BTreeSet<&str> = CALLS.iter().map(|call| call.action.split_once(':').unwrap().0).collect();
        let is_action = |word: &str| {
            let name = word.split_once(':').filter(|(service, _)| services.contains(service));
            name.is_some_and(|(_, name)| {
                name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphabetic())
            })
        };
        let mut written: Vec<String> = Vec::new();
        for (path, line) in code_lines() {
            for word in line.split('"').filter(|word| is_action(word)) {
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
        for (actions, read) in
            [("iam:ListRoles logs:FilterLogEvents", true), ("sqs:CreateQueue sqs:ReceiveMessage", false)]
        {
            assert!(actions.split(' ').all(|action| is_read(action) == read), "{actions}");
        }
    }
}
