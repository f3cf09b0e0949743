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
  description = "The ledger to watch: `module.ledger.ledger`, of the module `ledger` or `external-ledger`; or `{ name = \"runs\" }` for a table of another state. One in PostgreSQL or Redis has no alarms on what only a Lambda function reports"
  type = object({
    name       = string
    url_secret = optional(object({ arn = string }))
  })
  nullable = false

  validation {
    condition     = var.ledger.url_secret != null || can(regex("^[A-Za-z0-9_.-]{3,255}$", var.ledger.name))
    error_message = "ledger: the name is not usable; allowed: 3 to 255 of A-Z a-z 0-9 _ . -"
  }
}

variable "jobs" {
  description = "Jobs with alarms of their own, by name; each kind can be turned off. There is no `launch_failed` for a ledger in PostgreSQL or Redis"
  type = map(object({
    failed        = optional(bool, true)
    missed        = optional(bool, true)
    launch_failed = optional(bool, true)
    lost          = optional(bool, true)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for job in keys(var.jobs) : can(regex("^[\\x20-\\x7e]+$", job)) && length(job) <= 1024])
    error_message = "jobs: allowed: names in ASCII, at most 1024 characters, as CloudWatch takes a dimension; cronce writes é as \\xe9"
  }
}

variable "clocks" {
  description = "Clocks whose silence is an alarm, by the name of the lease: `no_leader` for every clock, `no_tick` (the longest time without a tick) for `cronce clock`; each a duration from 1m to 7d, or null"
  type = map(object({
    no_leader = optional(string, "5m")
    no_tick   = optional(string)
  }))
  default  = {}
  nullable = false

  validation {
    condition = alltrue([
      for within in compact(flatten([for clock in values(var.clocks) : [clock.no_leader, clock.no_tick]])) :
      can(regex("^[0-9]{1,6}[smhd]$", within)) ? tonumber(trim(within, "smhd")) * { s = 1, m = 60, h = 3600, d = 86400 }[substr(within, -1, 1)] >= 60 && tonumber(trim(within, "smhd")) * { s = 1, m = 60, h = 3600, d = 86400 }[substr(within, -1, 1)] <= 604800 : false
    ])
    error_message = "clocks: allowed: 1m to 7d, the longest time that CloudWatch evaluates"
  }
}

variable "rerun_function" {
  description = "True if the ledger has the rerun function (`create_rerun_function`), for an alarm on its errors"
  type        = bool
  default     = false
  nullable    = false
}

variable "alarm_actions" {
  description = "ARNs of the actions of an alarm, such as an SNS topic"
  type        = list(string)
  default     = []
  nullable    = false
}

variable "ok_actions" {
  description = "ARNs of the actions when an alarm ends"
  type        = list(string)
  default     = []
  nullable    = false
}

variable "notify_topic_arns" {
  description = "ARNs of SNS topics that get a message with job, period and reason for each run that needs attention. Their policies must let `events.amazonaws.com` publish, and `cloudwatch.amazonaws.com` for the alarms"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.notify_topic_arns) <= 5
    error_message = "notify_topic_arns: at most 5, as a rule of EventBridge has at most 5 targets."
  }
}

variable "webhook" {
  description = "A webhook that gets the same messages: the ARN of an EventBridge connection, which holds the secret; an https URL without a secret; and a channel for Slack's `chat.postMessage`"
  type = object({
    connection_arn = string
    url            = string
    channel        = optional(string)
  })
  default = null

  validation {
    condition     = var.webhook == null ? true : can(regex("^https://[^/@\\s?#*]+(/[^\\s*]*)?$", var.webhook.url)) && length(var.webhook.url) <= 2048
    error_message = "webhook: the url is not usable; allowed: https://HOST/PATH, at most 2048 characters, without user and password"
  }

  validation {
    condition     = var.webhook == null ? true : can(regex("^arn:[^:]+:events:[^:]+:[0-9]{12}:connection/.+$", var.webhook.connection_arn))
    error_message = "webhook: the connection_arn is not usable; allowed: arn:aws:events:REGION:ACCOUNT:connection/NAME/ID"
  }
}

variable "iam_role_permissions_boundary" {
  description = "ARN of the permissions boundary of the role of the webhook"
  type        = string
  default     = null
}

variable "name_prefix" {
  description = "Beginning of each alarm's name. Defaults to the ledger's name"
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of all resources"
  type        = map(string)
  default     = {}
  nullable    = false
}
