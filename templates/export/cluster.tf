terraform {
  # The queue of an EKS cluster on a kibus bus, and the permission for its Karpenter controller.
  required_version = ">= 1.2"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

data "aws_caller_identity" "current" {}

locals {
  # SQS allows 80 characters. In a longer name, the cluster's part is shortened and ends with a hash.
  room       = 80 - length(replace(local.template, "{cluster}", ""))
  cut        = "${substr(local.cluster, 0, local.room - 9)}-${substr(sha256(local.cluster), 0, 8)}"
  queue_name = replace(local.template, "{cluster}", length(local.cluster) <= local.room ? local.cluster : local.cut)
}

resource "aws_ssm_parameter" "record" {
  # Registers the cluster on the bus.
  name  = "${local.records_path}/${local.cluster}"
  type  = "String"
  tier  = "Standard"
  value = jsonencode(local.record)
}

resource "aws_sqs_queue" "interruptions" {
  depends_on                 = [aws_ssm_parameter.record]
  name                       = local.queue_name
  message_retention_seconds  = local.queue.retention
  visibility_timeout_seconds = local.queue.visibility
  delay_seconds              = local.queue.delay
  receive_wait_time_seconds  = local.queue.receive_wait
  max_message_size           = local.queue.max_message_size
  sqs_managed_sse_enabled    = local.queue.managed_key
  kms_master_key_id          = local.queue.key
  redrive_allow_policy       = jsonencode(local.queue.redrive_allow)
  tags                       = local.tags

  lifecycle {
    postcondition {
      condition     = split(":", self.arn)[3] == local.region
      error_message = "The hub is in another Region. Use a provider of its Region."
    }
  }
}

resource "aws_sqs_queue_policy" "interruptions" {
  queue_url = aws_sqs_queue.interruptions.id
  policy    = jsonencode(local.queue_policy)
}

resource "aws_iam_role_policy" "interruptions" {
  name   = "${local.queue_name}.${local.region}"
  role   = local.controller_role
  policy = jsonencode(local.controller_policy)
}

output "queue_name" {
  description = "The value for Karpenter's settings.interruptionQueue"
  value       = aws_sqs_queue.interruptions.name
  depends_on  = [aws_sqs_queue_policy.interruptions, aws_iam_role_policy.interruptions]
}
