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
  description = "Name of the ledger: its table has it, and the names of the schedule group, the queues and the functions follow from it. Jobs of other states, CDK apps and the command line know the ledger by it. Another name is a new, empty ledger"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.name))
    error_message = "name: ${jsonencode(var.name)} is not usable; allowed: 3 to 255 of A-Z a-z 0-9 _ . -"
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

variable "cluster_arns" {
  description = "ARNs of the clusters of the jobs, to limit the task events that invoke the recorder, and the tasks that the watchdog may look at. Empty for all clusters"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.cluster_arns : can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/[A-Za-z0-9_-]{1,255}$", arn))])
    error_message = "cluster_arns: ${jsonencode(var.cluster_arns)} is not usable; allowed: arn:aws:ecs:REGION:ACCOUNT:cluster/NAME"
  }
}

variable "pinned_services" {
  description = "Pinned clocks by job: the watchdog checks the count of each service, and the recorder frees its lease when its task stops. Write the service's name here; a reference to the module `pinned-clock` would be a cycle"
  type = map(object({
    cluster_arn  = string
    service_name = string
  }))
  default  = {}
  nullable = false
}

variable "create_rerun_function" {
  description = "True to create the function behind `cronce rerun --through`: people who may invoke it start runs of every job of the ledger, and no other command"
  type        = bool
  default     = false
  nullable    = false
}

variable "lambda_archive" {
  description = "Path of the functions' code, relative to the root module; `cronce lambda-archive FILE` writes it. Defaults to `cronce-lambdas.zip` in the folder of this module, where a release of the modules has it"
  type        = string
  default     = null
}

variable "lambda_archive_s3" {
  description = "The archive in a bucket, instead of `lambda_archive`. `cronce lambda-archive` prints `sha256_base64`: without it, Terraform does not see that the object changed"
  type = object({
    bucket         = string
    key            = string
    object_version = optional(string)
    sha256_base64  = string
  })
  default = null

  validation {
    condition     = var.lambda_archive_s3 == null ? true : can(regex("^[A-Za-z0-9+/]{43}=$", var.lambda_archive_s3.sha256_base64))
    error_message = "lambda_archive_s3: sha256_base64 is not usable; allowed: the 44 characters that `cronce lambda-archive` prints"
  }
}

variable "lambda_archive_sha256" {
  description = "The SHA-256 in base64 of the archive that you expect. A check compares it with the file"
  type        = string
  default     = null
}

variable "lambda_runtime" {
  description = "Runtime of the functions"
  type        = string
  default     = "python3.13"
  nullable    = false

  validation {
    condition     = can(regex("^python3\\.1[1-9]$", var.lambda_runtime))
    error_message = "lambda_runtime: ${jsonencode(var.lambda_runtime)} is not usable; allowed: python3.11 or newer"
  }
}

variable "log_retention_in_days" {
  description = "How many days the logs of the functions are kept"
  type        = number
  default     = 30
  nullable    = false
}

variable "deletion_protection_enabled" {
  description = "False lets `terraform destroy` delete the table, which is the only record of what ran. Apply this change before the destroy"
  type        = bool
  default     = true
  nullable    = false
}

variable "iam_role_permissions_boundary" {
  description = "ARN of the permissions boundary of every role of this module"
  type        = string
  default     = null
}

variable "acknowledged_warnings" {
  description = "Warnings that are known and intended, by name: archive-differs"
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
