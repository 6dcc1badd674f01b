data "aws_caller_identity" "current" {}

variable "clusters" {
  description = "Names of EKS clusters"
  type        = set(string)
  default     = []
}

locals {
  # SQS allows 80 characters. In a longer name, the cluster's part is shortened and ends with a hash.
  room = 80 - length(replace(local.hub.queue_template, "{cluster}", ""))
  parts = {
    for cluster in var.clusters :
    cluster => length(cluster) <= local.room ? cluster : "${substr(cluster, 0, local.room - 9)}-${substr(sha256(cluster), 0, 8)}"
  }
  queue_names = { for cluster, part in local.parts : cluster => replace(local.hub.queue_template, "{cluster}", part) }
}

output "hub" {
  description = "The resources of the kibus hub, which kibus creates and changes"
  value       = local.hub
}

output "queue_names" {
  description = "For each cluster, the value for Karpenter's settings.interruptionQueue"
  value       = local.queue_names
}
