#!/usr/bin/env bash
# Records facts of AWS that take more time, more calls or more rights than the program in this folder has:
#
#   tests/real_account/by_hand.sh counts|idle-metrics|rates|pod-identities|parameter
#
# Kibus depends on these facts, and no source settles them. The ids are rows of tests/aws-behavior.md.
#
#   | fact | rows | how |
#   | --- | --- | --- |
#   | how often one message is in an answer, and with which receive counts | S28 | counts |
#   | how long the counts of a queue lag behind sends and deletes | S12 | counts |
#   | which metrics a queue has after seven hours without calls, and in the 20 minutes after the next call | S30, W3 | idle-metrics |
#   | the rates at which AWS first throttles | S27, I10, L21, T4 | rates |
#   | what EKS answers about the pod identities of a missing cluster, with and without the permission | | pod-identities |
#   | what a read of a parameter shows right after its write | N4 | parameter |
#   | what a create of a parameter answers within 30 seconds of its delete | N3 | parameter |
#   | whether a drill works with the printed document (aws:ResourceTag at creation) | F3 | kibus drill |
#   | whether the role of a drill needs ec2:DescribeInstances | F4 | kibus drill, without that statement |
#   | which ARN lambda:FunctionArn holds | M13 | the program |
#   | whether EventBridge sends to a queue that denies other senders | S24, S26 | the program: a probe is delivered |
#   | whether a source redrives into a queue with denyAll | S24, S26 | the program |
#   | the seconds from a policy on a role to the first send that it allows | P7, S15, S16 | the program |
#   | the delays of creates | S22, S23, L1 | the program: these rows, and the times of its steps |
#
# Use a test account. Credentials and Region are those of the AWS CLI. Keep the output verbatim. `idle-metrics` needs the queue of `counts`,
# after seven hours without a call, and deletes it. `rates` needs kibus in PATH, throttles others in the account, and prints the calls on
# standard error. Run `pod-identities` as an administrator, and again as a role without permissions for EKS.
set -euo pipefail

queue=kibus-rt-00000000-hand

url() {
  aws sqs get-queue-url --queue-name "$queue" --query QueueUrl --output text
}

# Prints the counts of the queue every second or so, 90 times.
watch_counts() {
  local look
  for ((look = 0; look < 90; look++)); do
    date -u +%T
    aws sqs get-queue-attributes --queue-url "$1" --query Attributes --output text \
      --attribute-names ApproximateNumberOfMessages ApproximateNumberOfMessagesNotVisible
    sleep 1
  done
}

counts() {
  local at handle look
  at=$(aws sqs create-queue --queue-name "$queue" --query QueueUrl --output text)
  aws sqs send-message --queue-url "$at" --message-body one
  for ((look = 0; look < 4; look++)); do
    date -u +%T
    aws sqs receive-message --queue-url "$at" --max-number-of-messages 10 --visibility-timeout 0 --attribute-names ApproximateReceiveCount \
      --query 'Messages[].[MessageId, Attributes.ApproximateReceiveCount]' --output text
  done
  aws sqs send-message --queue-url "$at" --message-body two
  watch_counts "$at"
  echo "receive and delete both messages"
  # A receive may show one message or none.
  for ((look = 0; look < 4; look++)); do
    for handle in $(aws sqs receive-message --queue-url "$at" --max-number-of-messages 10 --wait-time-seconds 5 \
      --query 'Messages[].ReceiptHandle' --output text); do
      [ "$handle" = None ] || aws sqs delete-message --queue-url "$at" --receipt-handle "$handle"
    done
  done
  watch_counts "$at"
}

idle_metrics() {
  local at metric minute now
  at=$(url)
  aws sqs receive-message --queue-url "$at" --wait-time-seconds 20
  for ((minute = 0; minute < 20; minute++)); do
    now=$(date +%s)
    date -u +%T
    for metric in NumberOfMessagesReceived NumberOfEmptyReceives ApproximateAgeOfOldestMessage; do
      # The AWS CLI takes times in Unix seconds too.
      aws cloudwatch get-metric-statistics --namespace AWS/SQS --metric-name "$metric" --dimensions "Name=QueueName,Value=$queue" \
        --period 60 --statistics SampleCount Sum --start-time "$((now - 8 * 3600))" --end-time "$now"
    done
    sleep 60
  done
  aws sqs delete-queue --queue-url "$at"
}

# -vv prints every call, its milliseconds, and the code of its answer. The calls of a kind before its first throttle give the rate.
rates() {
  local clusters=() number
  for ((number = 1; number <= 200; number++)); do
    clusters+=("$(printf 'kibus-rt-%03d' "$number")")
  done
  trap 'kibus teardown --bus kibus-rt-rates --yes -vv' EXIT
  kibus bootstrap-hub --bus kibus-rt-rates --queue-name 'kibus-rt-rates-c-{cluster}' --yes
  kibus add-cluster --bus kibus-rt-rates "${clusters[@]}" --no-controller-role --no-eks-check --yes -vv
}

pod_identities() {
  # Both answers are errors.
  { aws eks list-pod-identity-associations --cluster-name kibus-rt-missing --debug 2>&1 || true; } | grep -E 'Response (headers|body)' -A 1
}

parameter() {
  local name=/kibus/kibus-rt-00000000 second
  aws ssm put-parameter --name "$name" --type String --value one
  aws ssm get-parameter --name "$name" --query Parameter.Value
  aws ssm put-parameter --name "$name" --type String --value two --overwrite
  aws ssm get-parameter --name "$name" --query Parameter.Value
  aws ssm delete-parameter --name "$name"
  for ((second = 0; second < 40; second++)); do
    date -u +%T
    if aws ssm put-parameter --name "$name" --type String --value three; then
      break
    fi
    sleep 1
  done
  aws ssm delete-parameter --name "$name"
}

case ${1-} in
  counts) counts ;;
  idle-metrics) idle_metrics ;;
  rates) rates ;;
  pod-identities) pod_identities ;;
  parameter) parameter ;;
  *)
    echo "usage: tests/real_account/by_hand.sh counts|idle-metrics|rates|pod-identities|parameter" >&2
    exit 64
    ;;
esac
