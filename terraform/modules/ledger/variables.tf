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

variable "create_table" {
  description = "False if the table exists already. It needs `job` (S) as partition key and `key` (S) as sort key, and should have time to live on `expires_at`: `cronce init` checks that"
  type        = bool
  default     = true
  nullable    = false
}

variable "kms_keys" {
  description = "ARNs of customer-managed KMS keys for the table, the queues, the logs of the functions and of clocks, and the schedules of the jobs; null for keys of AWS. With `create_table = false`, the key of the table that exists. The policy of the key for logs must allow `logs.REGION.amazonaws.com`; see the output `logs_key_statement_json`"
  type = object({
    table     = optional(string)
    queues    = optional(string)
    logs      = optional(string)
    schedules = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for arn in values(var.kms_keys) : arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/[A-Za-z0-9-]+$", arn))])
    error_message = "kms_keys: ${jsonencode(var.kms_keys)} is not usable; allowed: arn:aws:kms:REGION:ACCOUNT:key/ID; a policy cannot name a key by its alias"
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

variable "create_board_function" {
  description = "True to create the function behind a custom widget that shows the runs on a CloudWatch dashboard: output `board_widget`"
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
  description = "The SHA-256 in base64 of the archive that you expect. A check compares it with the archive. Defaults to that of the version of this module: a release has it in `cronce-lambdas.sha256`"
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

variable "lambda_architecture" {
  description = "Processor of the functions, `x86_64` or `arm64`; the code runs on both. Defaults to Lambda's, `x86_64`"
  type        = string
  default     = null

  validation {
    condition     = var.lambda_architecture == null ? true : contains(["x86_64", "arm64"], var.lambda_architecture)
    error_message = "lambda_architecture: ${jsonencode(var.lambda_architecture)} is not usable; allowed: x86_64, arm64"
  }
}

variable "lambda_memory_size" {
  description = "MiB of each function. CPU is in proportion to it; with less than 512 the imports take seconds"
  type        = number
  default     = 512
  nullable    = false

  validation {
    condition     = var.lambda_memory_size >= 128 && var.lambda_memory_size <= 10240 && floor(var.lambda_memory_size) == var.lambda_memory_size
    error_message = "lambda_memory_size: ${var.lambda_memory_size} is not usable; allowed: a whole number of MiB, 128 to 10240"
  }
}

variable "lambda_timeouts" {
  description = "Timeout of each function in seconds. The visibility timeout of the dead-letter queue is six times that of the recorder"
  type = object({
    recorder = optional(number, 60)
    watchdog = optional(number, 300)
    rerun    = optional(number, 30)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for seconds in values(var.lambda_timeouts) : seconds >= 10 && seconds <= 900 && floor(seconds) == seconds])
    error_message = "lambda_timeouts: ${jsonencode(var.lambda_timeouts)} is not usable; allowed: whole seconds, 10 to 900"
  }
}

variable "lambda_reserved_concurrency" {
  description = "How many invocations of each function can run at the same time; the account reserves them for it. At least 2. Null: no limit and no reservation"
  type        = number
  default     = null

  validation {
    condition     = var.lambda_reserved_concurrency == null ? true : var.lambda_reserved_concurrency >= 2 && floor(var.lambda_reserved_concurrency) == var.lambda_reserved_concurrency
    error_message = "lambda_reserved_concurrency: ${coalesce(var.lambda_reserved_concurrency, 0)} is not usable; allowed: null, or a whole number of at least 2, because 2 invocations read the dead-letter queue at once"
  }
}

variable "lambda_subnet_ids" {
  description = "Private subnets of the functions, with a way to DynamoDB, EventBridge Scheduler, ECS and EventBridge: NAT, or endpoints. Empty for functions outside of a VPC"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.lambda_subnet_ids) <= 16
    error_message = "lambda_subnet_ids: ${length(var.lambda_subnet_ids)} subnets is not usable; allowed: at most 16 subnets"
  }
}

variable "lambda_security_group_ids" {
  description = "Security groups of the functions in these subnets. They need no incoming traffic"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.lambda_security_group_ids) <= 5
    error_message = "lambda_security_group_ids: ${length(var.lambda_security_group_ids)} groups is not usable; allowed: at most 5 groups"
  }
}

variable "log_retention_in_days" {
  description = "How many days the logs of the functions are kept; 0 to keep them forever"
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_in_days)
    error_message = "log_retention_in_days: ${var.log_retention_in_days} is not usable; allowed: 0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653"
  }
}

variable "keep_logs" {
  description = "True to keep the logs of the functions when the module is removed"
  type        = bool
  default     = false
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
  description = "Warnings that are known and intended, by name: archive-differs, key-of-another-account"
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
