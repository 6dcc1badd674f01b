data "aws_caller_identity" "current" {}

variable "clusters" {
  description = "Names of EKS clusters"
  type        = set(string)
  default     = []
}

locals {
  names = { for cluster in var.clusters : cluster => "${local.hub.queue_prefix}${cluster}" }
  # SQS allows 80 characters. A longer name is cut, and ends in a hash.
  queue_names = {
    for cluster, name in local.names :
    cluster => length(name) <= 80 ? name : "${substr(name, 0, 71)}-${substr(sha256(name), 0, 8)}"
  }
}

output "hub" {
  description = "What the hub of kibus has: kibus creates and changes it"
  value       = local.hub
}

output "queue_names" {
  description = "For each cluster, the value for Karpenter's settings.interruptionQueue"
  value       = local.queue_names
}
