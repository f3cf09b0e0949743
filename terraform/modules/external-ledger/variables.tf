variable "create" {
  description = "False to create nothing. All outputs are then null"
  type        = bool
  default     = true
  nullable    = false
}

variable "region" {
  description = "Region of the resources. Defaults to the provider's"
  type        = string
  default     = null
}

variable "name" {
  description = "The ledger's name in logs, metrics and events, which follows from its URL: the database of PostgreSQL, or `HOST:PORT` of Redis as the URL has them. With another name, alarms have no data"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[^@/\\p{C}\\p{Zl}\\p{Zp}]{1,255}$", var.name))
    error_message = "name: not usable; allowed: the database of a PostgreSQL URL, or HOST:PORT of a Redis URL"
  }
}

variable "url_secret_arn" {
  description = "ARN of the secret (Secrets Manager) or parameter (Systems Manager) with the ledger's URL, as [docs/stores.md](../../../docs/stores.md) describes it; behind a secret's ARN, also the JSON key and version that ECS accepts. `cronce init` must have prepared the database"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:(secretsmanager:[^:]+:[0-9]{12}:secret:[^:]+(:[^:]*:[^:]*:[^:]*)?|ssm:[^:]+:[0-9]{12}:parameter/[^:]+)$", var.url_secret_arn))
    error_message = "url_secret_arn: not usable; allowed: the ARN of a secret or parameter: the URL has a password"
  }
}

variable "url_kms_key_arn" {
  description = "ARN of the customer-managed KMS key of that secret or parameter; null for a key of AWS"
  type        = string
  default     = null

  validation {
    condition     = var.url_kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/[A-Za-z0-9-]+$", var.url_kms_key_arn))
    error_message = "url_kms_key_arn: ${jsonencode(var.url_kms_key_arn)} is not usable; allowed: arn:aws:kms:REGION:ACCOUNT:key/ID; a policy cannot name a key by its alias"
  }
}

variable "schedule_group_name" {
  description = "Name of the schedule group, for `cronce rerun --schedule-group`; the names of the queue, the log and the service follow from it. Defaults to the ledger's name and `-external`. Two ledgers of one account and Region need two names"
  type        = string
  default     = null

  validation {
    condition     = var.schedule_group_name == null ? true : can(regex("^[0-9A-Za-z_.-]{1,64}$", var.schedule_group_name)) && var.schedule_group_name != "default"
    error_message = "schedule_group_name: ${jsonencode(var.schedule_group_name)} is not usable; allowed: 1 to 64 of A-Z a-z 0-9 _ . -, other than default"
  }
}

variable "cluster_arn" {
  description = "ARN of the ECS cluster in which the watchdog runs"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/[A-Za-z0-9_-]{1,255}$", var.cluster_arn))
    error_message = "cluster_arn: ${jsonencode(var.cluster_arn)} is not usable; allowed: arn:aws:ecs:REGION:ACCOUNT:cluster/NAME"
  }
}

variable "image" {
  description = "An image with cronce installed. The execution role may pull it if it is in ECR"
  type        = string
  nullable    = false

  validation {
    condition     = length(var.image) > 0
    error_message = "image: \"\" is not usable; allowed: an image with cronce installed"
  }
}

variable "cluster_arns" {
  description = "ARNs of the clusters of the jobs: the watchdog may look at tasks of these only. Empty for all clusters of the account and Region"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.cluster_arns : can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/[A-Za-z0-9_-]{1,255}$", arn))])
    error_message = "cluster_arns: ${jsonencode(var.cluster_arns)} is not usable; allowed: arn:aws:ecs:REGION:ACCOUNT:cluster/NAME"
  }
}

variable "missed_after" {
  description = "How long after its time (and its flexible window) a tick without a run counts as missed: one number and a unit, such as `5m`"
  type        = string
  default     = "5m"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]{1,5}[smh]$", var.missed_after)) ? tonumber(trim(var.missed_after, "smh")) * { s = 1, m = 60, h = 3600 }[substr(var.missed_after, -1, 1)] >= 60 && tonumber(trim(var.missed_after, "smh")) * { s = 1, m = 60, h = 3600 }[substr(var.missed_after, -1, 1)] <= 86400 : false
    error_message = "missed_after: ${jsonencode(var.missed_after)} is not usable; allowed: whole seconds, from 1m (the precision of EventBridge Scheduler) to 24h"
  }
}

variable "runtime_platform" {
  description = "Processor of the watchdog; the operating system is Linux"
  type = object({
    cpu_architecture = optional(string, "X86_64")
  })
  default = null

  validation {
    condition     = var.runtime_platform == null ? true : contains(["X86_64", "ARM64"], var.runtime_platform.cpu_architecture)
    error_message = "runtime_platform: allowed: X86_64 or ARM64"
  }
}

variable "subnet_ids" {
  description = "Subnets of the watchdog's network interface, from which it reaches the database, EventBridge Scheduler, ECS and EventBridge"
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) >= 1 && length(var.subnet_ids) <= 16
    error_message = "subnet_ids: ${length(var.subnet_ids)} subnets is not usable; allowed: 1 to 16 subnets"
  }
}

variable "security_group_ids" {
  description = "Security groups of that interface; the database must admit them. If there are none, ECS takes the VPC's default group"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.security_group_ids) <= 5
    error_message = "security_group_ids: ${length(var.security_group_ids)} groups is not usable; allowed: at most 5 groups"
  }
}

variable "assign_public_ip" {
  description = "True for a public address"
  type        = bool
  default     = false
  nullable    = false
}

variable "log_retention_in_days" {
  description = "How many days the watchdog's log is kept"
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_in_days)
    error_message = "log_retention_in_days: ${var.log_retention_in_days} is not usable; allowed: 0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653"
  }
}

variable "iam_role_permissions_boundary" {
  description = "ARN of the permissions boundary of every role of this module"
  type        = string
  default     = null
}

variable "acknowledged_warnings" {
  description = "Warnings that are known and intended, by name: default-security-group"
  type        = list(string)
  default     = []
  nullable    = false
}

variable "tags" {
  description = "Tags of all resources"
  type        = map(string)
  default     = {}
  nullable    = false
}
