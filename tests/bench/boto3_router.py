"""A plain router, as in a blog post: one DescribeInstances, one GetQueueUrl and one SendMessage for each event.

It includes what Lambda's Python runtime does: get the next event from the Runtime API, call the handler, answer.
"""

import http.client
import json
import os

import boto3

EC2 = boto3.client("ec2")
SQS = boto3.client("sqs")
TEMPLATE = os.environ["_HANDLER"].partition("/")[2]


def cluster_of(instance):
    for reservation in EC2.describe_instances(InstanceIds=[instance])["Reservations"]:
        for found in reservation["Instances"]:
            for tag in found.get("Tags", []):
                if tag["Key"].startswith("kubernetes.io/cluster/"):
                    return tag["Key"].rsplit("/", 1)[1]
    return None


def handler(event):
    failures = []
    for record in event["Records"]:
        try:
            message = json.loads(record["body"])
            cluster = cluster_of(message["detail"]["instance-id"])
            if cluster is None:
                continue
            queue = SQS.get_queue_url(QueueName=TEMPLATE.replace("{cluster}", cluster))["QueueUrl"]
            SQS.send_message(QueueUrl=queue, MessageBody=record["body"])
        except Exception as error:
            print(json.dumps({"level": "error", "message": str(error)}), flush=True)
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


def main():
    api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    base = "/2018-06-01/runtime/invocation/"
    while True:
        api.request("GET", base + "next")
        answer = api.getresponse()
        request = answer.headers["Lambda-Runtime-Aws-Request-Id"]
        event = json.loads(answer.read())
        result = json.dumps(handler(event))
        api.request("POST", f"{base}{request}/response", result, {"Content-Type": "application/json"})
        api.getresponse().read()


main()
