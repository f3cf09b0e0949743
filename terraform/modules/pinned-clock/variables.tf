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

variable "ledger" {
  description = "The ledger with the lease, and with a row per tick that was sent: `module.ledger.ledger`, of the module `ledger` or `external-ledger`; or `{ name = \"runs\" }` for a table of another state, from whose name, account and Region the rest follows"
  type = object({
    name           = string
    url            = optional(string)
    table_arn      = optional(string)
    schedule_group = optional(string)
    kms_keys = optional(object({
      table = optional(string)
      logs  = optional(string)
    }), {})
    # Of a ledger in PostgreSQL or Redis only.
    url_secret = optional(object({
      arn         = string
      policy_json = optional(string)
    }))
  })
  nullable = false

  validation {
    condition     = var.ledger.url_secret != null || can(regex("^[A-Za-z0-9_.-]{3,255}$", var.ledger.name))
    error_message = "ledger: the name is not usable; allowed: 3 to 255 of A-Z a-z 0-9 _ . -"
  }
}

variable "job" {
  description = "The name of the clock's lease in the ledger, and of its service"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,200}$", var.job)) && var.job != "cronce"
    error_message = "job: ${jsonencode(var.job)} is not usable; allowed: a name other than cronce and without a colon, which separates clock and job: 1 to 200 of A-Z a-z 0-9 _ -, because ECS names a service with it"
  }
}

variable "cluster_arn" {
  description = "ARN of the ECS cluster in which the clock runs"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/[A-Za-z0-9_-]{1,255}$", var.cluster_arn))
    error_message = "cluster_arn: ${jsonencode(var.cluster_arn)} is not usable; allowed: arn:aws:ecs:REGION:ACCOUNT:cluster/NAME"
  }
}

variable "image" {
  description = "The clock's image, with cronce installed (or see `guard_image`). The execution role may pull it if it is in ECR"
  type        = string
  nullable    = false

  validation {
    condition     = length(var.image) > 0
    error_message = "image: \"\" is not usable; allowed: an image"
  }
}

variable "guard_image" {
  description = "For an `image` without Python, with the full `command`: an image that contains the portable folder, see the module `guard`. Defaults to none: the image has cronce installed"
  type        = string
  default     = null

  validation {
    condition     = var.guard_image == null ? true : length(var.guard_image) > 0
    error_message = "guard_image: \"\" is not usable; allowed: an image that contains the portable folder"
  }
}

variable "config" {
  description = "The configuration of `cronce clock`, an object with `jobs` as in clock.toml. Grant what its targets need by `task_role_policies`. Exactly one of `config`, `config_file` and `command`"
  type        = any
  default     = null

  validation {
    condition     = var.config == null ? true : can(keys(var.config.jobs))
    error_message = "config: allowed: an object with jobs, as in clock.toml"
  }
}

variable "config_file" {
  description = "Path in the image of the configuration of `cronce clock`"
  type        = string
  default     = null

  validation {
    condition     = var.config_file == null ? true : length(var.config_file) > 0
    error_message = "config_file: \"\" is not usable; allowed: the configuration's path in the image"
  }
}

variable "command" {
  description = "The command of any other clock, such as `[\"celery\", \"beat\"]`; it runs under `cronce pin --`"
  type        = list(string)
  default     = null

  validation {
    condition     = var.command == null ? true : length(var.command) > 0
    error_message = "command: [] is not usable; allowed: a list of at least one word"
  }
  validation {
    condition     = try(reverse(split("/", var.command[0]))[0], "") != "cronce"
    error_message = "command: ${jsonencode(var.command)} is not usable; allowed: the other clock's own command: it runs under cronce pin -- already"
  }
}

variable "task_role_policies" {
  description = "What the clock's targets need, in addition to its rows in the ledger: name of an inline policy to its JSON, which may be known only after the apply"
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "environment" {
  description = "Variables for the clock. Everybody with `ecs:DescribeTaskDefinition` or the state can read them: no secrets"
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.environment) : !startswith(name, "CRONCE_")])
    error_message = "environment: ${jsonencode(keys(var.environment))} is not usable; allowed: names that do not begin with CRONCE_: the module sets those"
  }
  validation {
    condition     = alltrue([for name, value in var.environment : name != "" && value != null])
    error_message = "environment: allowed: names and values that are text"
  }
}

variable "secrets" {
  description = "Secret variables: name to ARN of a secret (Secrets Manager) or parameter (Systems Manager). The execution role may read them"
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.secrets) : !startswith(name, "CRONCE_")])
    error_message = "secrets: ${jsonencode(keys(var.secrets))} is not usable; allowed: names that do not begin with CRONCE_: the module sets those"
  }
  validation {
    condition     = alltrue([for arn in values(var.secrets) : can(regex("^arn:[^:]+:(secretsmanager:[^:]+:[0-9]{12}:secret:|ssm:[^:]+:[0-9]{12}:parameter/)", arn))])
    error_message = "secrets: allowed: ARNs of secrets or parameters"
  }
}

variable "cpu" {
  description = "CPU units, 1024 per vCPU"
  type        = number
  default     = 256
  nullable    = false

  validation {
    condition     = contains([256, 512, 1024, 2048, 4096, 8192, 16384], var.cpu)
    error_message = "cpu: ${var.cpu} is not usable; allowed: 256, 512, 1024, 2048, 4096, 8192, 16384"
  }
}

variable "memory" {
  description = "Memory in MiB"
  type        = number
  default     = 512
  nullable    = false
}

variable "runtime_platform" {
  description = "Processor; the operating system is Linux"
  type = object({
    cpu_architecture = optional(string, "X86_64")
  })
  default = null

  validation {
    condition     = var.runtime_platform == null ? true : contains(["X86_64", "ARM64"], var.runtime_platform.cpu_architecture)
    error_message = "runtime_platform: allowed: X86_64 or ARM64"
  }
}

variable "capacity_provider_strategy" {
  description = "Capacity providers instead of Fargate on demand. Spot alone is refused, because a Spot task can be taken away without a replacement"
  type = list(object({
    capacity_provider = string
    weight            = optional(number)
    base              = optional(number)
  }))
  default  = []
  nullable = false

  validation {
    condition     = length(distinct(var.capacity_provider_strategy[*].capacity_provider)) == length(var.capacity_provider_strategy)
    error_message = "capacity_provider_strategy: allowed: each provider once"
  }
  validation {
    condition     = alltrue([for each in var.capacity_provider_strategy : coalesce(each.weight, 0) >= 0 && coalesce(each.weight, 0) <= 1000])
    error_message = "capacity_provider_strategy: allowed: a weight from 0 to 1000"
  }
  validation {
    condition     = alltrue([for each in var.capacity_provider_strategy : coalesce(each.base, 0) >= 0 && coalesce(each.base, 0) <= 100000])
    error_message = "capacity_provider_strategy: allowed: a base from 0 to 100000"
  }
  validation {
    condition     = length(var.capacity_provider_strategy) == 0 || anytrue([for each in var.capacity_provider_strategy : coalesce(each.weight, 0) > 0])
    error_message = "capacity_provider_strategy: allowed: a weight over 0 on at least one; by default it is 0, and no task starts"
  }
  validation {
    condition     = length([for each in var.capacity_provider_strategy : each if coalesce(each.base, 0) > 0]) <= 1
    error_message = "capacity_provider_strategy: allowed: a base on at most one"
  }
  validation {
    condition     = alltrue([for each in var.capacity_provider_strategy : contains(["FARGATE", "FARGATE_SPOT"], each.capacity_provider)])
    error_message = "capacity_provider_strategy: allowed: FARGATE, with or without FARGATE_SPOT"
  }
  validation {
    condition     = length(var.capacity_provider_strategy) == 0 || anytrue([for each in var.capacity_provider_strategy : each.capacity_provider == "FARGATE" && (coalesce(each.weight, 0) > 0 || coalesce(each.base, 0) > 0)])
    error_message = "capacity_provider_strategy: allowed: FARGATE with a weight or base: a Spot task can be taken away without a replacement"
  }
}

variable "subnet_ids" {
  description = "Subnets of its network interface"
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) >= 1 && length(var.subnet_ids) <= 16
    error_message = "subnet_ids: ${length(var.subnet_ids)} subnets is not usable; allowed: 1 to 16 subnets"
  }
}

variable "security_group_ids" {
  description = "Security groups of that interface. If there are none, ECS takes the VPC's default group"
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

variable "enable_execute_command" {
  description = "True to allow `aws ecs execute-command` into the clock"
  type        = bool
  default     = false
  nullable    = false
}

variable "stop_timeout" {
  description = "How many seconds the clock may take to stop"
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.stop_timeout > 5 && var.stop_timeout <= 120 && floor(var.stop_timeout) == var.stop_timeout
    error_message = "stop_timeout: ${var.stop_timeout} is not usable; allowed: whole seconds, more than 5s (to release the lease), at most 2m"
  }
}

variable "lease" {
  description = "How long the lease lasts after the clock dies: one number and a unit"
  type        = string
  default     = "60s"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]{1,7}(ms|s|m|h)$", var.lease))
    error_message = "lease: ${jsonencode(var.lease)} is not usable; allowed: 500ms to 1h"
  }
}

variable "log_retention_in_days" {
  description = "How many days the clock's log is kept"
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
  description = "Warnings that are known and intended, by name: default-security-group, pauses-of-jobs-not-seen"
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
