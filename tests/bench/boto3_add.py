"""A plain script that registers clusters one after another, and does not change what is already correct.

The end state is that of `kibus add-cluster`: a record, a queue, and a policy on the controller's role.
"""

import json
import os
import sys

import boto3

SQS = boto3.client("sqs")
IAM = boto3.client("iam")
SSM = boto3.client("ssm")
REGION = os.environ["AWS_REGION"]
ACCOUNT = os.environ["AWS_ACCESS_KEY_ID"]


def policy(statements, arn):
    return {"Version": "2012-10-17", "Statement": [{**statement, "Resource": arn} for statement in statements]}


def ensure_record(cluster, queue):
    name = f"/kibus/kibus/clusters/{cluster}"
    record = {"cluster": cluster, "queue": queue, "role": f"KarpenterController-{cluster}", "made-by": "script"}
    try:
        existing = json.loads(SSM.get_parameter(Name=name)["Parameter"]["Value"])
        if all(existing.get(key) == value for key, value in record.items()):
            return
    except SSM.exceptions.ParameterNotFound:
        pass
    SSM.put_parameter(Name=name, Value=json.dumps(record), Type="String", Overwrite=True)


def ensure_queue(cluster, name, arn):
    tls_only = {
        "Sid": "KibusTlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    router = f"arn:aws:iam::{ACCOUNT}:role"
    router_only = {
        "Sid": "KibusRouterOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:SendMessage",
        "Condition": {
            "ArnNotLike": {
                "aws:PrincipalArn": [f"{router}/kibus-router-{REGION}", f"{router}/*/kibus-router-{REGION}"]
            }
        },
    }
    attributes = {
        "MessageRetentionPeriod": "300",
        "VisibilityTimeout": "30",
        "DelaySeconds": "0",
        "ReceiveMessageWaitTimeSeconds": "0",
        "MaximumMessageSize": "1048576",
        "SqsManagedSseEnabled": "true",
        "Policy": json.dumps(policy([tls_only, router_only], arn)),
        "RedriveAllowPolicy": json.dumps({"redrivePermission": "denyAll"}),
    }
    tags = {"kibus:bus": "kibus", "kibus:cluster": cluster}
    try:
        url = SQS.get_queue_url(QueueName=name)["QueueUrl"]
    except SQS.exceptions.QueueDoesNotExist:
        SQS.create_queue(QueueName=name, Attributes=attributes, tags=tags)
        return
    existing = SQS.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    changed = {key: value for key, value in attributes.items() if existing.get(key) != value}
    if changed:
        SQS.set_queue_attributes(QueueUrl=url, Attributes=changed)
    if SQS.list_queue_tags(QueueUrl=url).get("Tags", {}) != tags:
        SQS.tag_queue(QueueUrl=url, Tags=tags)


def ensure_policy(cluster, arn):
    role = IAM.get_role(RoleName=f"KarpenterController-{cluster}")["Role"]["RoleName"]
    name = f"kibus.{REGION}.{cluster}"
    read = {
        "Sid": "KibusReadInterruptions",
        "Effect": "Allow",
        "Action": ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"],
    }
    document = policy([read], arn)
    try:
        if IAM.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] == document:
            return
    except IAM.exceptions.NoSuchEntityException:
        pass
    IAM.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document))


for cluster in sys.argv[1:]:
    queue = f"karpenter-{cluster}"
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}"
    ensure_record(cluster, queue)
    ensure_queue(cluster, queue, arn)
    ensure_policy(cluster, arn)
