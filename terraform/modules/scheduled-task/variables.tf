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
  description = "The ledger that admits the job's tasks: `module.ledger.ledger`, of the module `ledger` or `external-ledger`; or `{ name = \"runs\" }` for a table of another state, from whose name, account and Region the rest follows"
  type = object({
    name             = string
    url              = optional(string)
    table_arn        = optional(string)
    schedule_group   = optional(string)
    dead_letters_arn = optional(string)
    kms_keys = optional(object({
      table     = optional(string)
      queues    = optional(string)
      logs      = optional(string)
      schedules = optional(string)
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
  description = "The job's name in the ledger, unique there. Another name is another job, without the runs of this one"
  type        = string
  nullable    = false

  validation {
    condition     = trimspace(var.job) == var.job && length(var.job) > 0 && floor(length(replace(base64encode(var.job), "=", "")) * 3 / 4) <= 2048
    error_message = "job: ${jsonencode(var.job)} is not usable; allowed: 1 to 2048 bytes of UTF-8, printable, no spaces around it"
  }
  validation {
    condition     = !strcontains(var.job, "<aws.scheduler.")
    error_message = "job: ${jsonencode(var.job)} is not usable; allowed: text without <aws.scheduler....>, which EventBridge Scheduler replaces"
  }
  validation {
    condition     = can(regex("^[\\x20-\\x7e\\x{a1}-\\x{ac}\\x{ae}-\\x{ff}]*$", var.job))
    error_message = "job: ${jsonencode(var.job)} is not usable; allowed: printable characters up to U+00FF, because an IAM policy names the job"
  }
  validation {
    condition     = !startswith(var.job, "cronce:")
    error_message = "job: ${jsonencode(var.job)} is not usable; allowed: a name that does not begin with cronce:, the prefix of the watchdog's rows"
  }
}

variable "description" {
  description = "The schedule's description"
  type        = string
  default     = null

  validation {
    condition     = var.description == null ? true : length(var.description) <= 512
    error_message = "description: too long; allowed: at most 512 characters"
  }
}

variable "schedule" {
  description = "`cron(0 6 * * ? *)`, `rate(5 minutes)` or `at(2026-11-29T06:00:00)`, as EventBridge Scheduler writes it. Null for a job that only people start, with `cronce rerun` and a period"
  type        = string

  validation {
    condition     = var.schedule == null ? true : can(regex("^(cron|rate|at)\\(", var.schedule)) || !can(regex("^\\s*(\\S+\\s+){4}\\S+\\s*$|^@", var.schedule))
    error_message = "schedule: ${jsonencode(var.schedule)} is Unix cron; allowed: cron(...), rate(...) or at(...). `cronce next EXPRESSION` shows how EventBridge Scheduler writes it."
  }
  validation {
    condition     = var.schedule == null ? true : can(regex("^cron\\(\\S+( \\S+){5}\\)$|^rate\\([1-9][0-9]* (minute|hour|day)s?\\)$|^at\\([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\)$", var.schedule)) || (!can(regex("^(cron|rate|at)\\(", var.schedule)) && can(regex("^\\s*(\\S+\\s+){4}\\S+\\s*$|^@", var.schedule)))
    error_message = "schedule: ${jsonencode(var.schedule)} is not usable; allowed: cron(...) with six fields, rate(N minutes), rate(N hours), rate(N days) or at(yyyy-mm-ddThh:mm:ss)"
  }
  validation {
    condition     = var.schedule == null ? true : !can(regex("^cron\\(\\S+ \\S+ [^? ]+ \\S+ [^? ]+ \\S+\\)$", var.schedule)) && !can(regex("^cron\\(\\S+ \\S+ \\? \\S+ \\? \\S+\\)$", var.schedule))
    error_message = "schedule: ${jsonencode(var.schedule)} is not usable; allowed: ? in exactly one of day-of-month and day-of-week"
  }
  validation {
    condition     = var.schedule == null ? true : !can(regex("^cron\\(\\* [^*]", var.schedule))
    error_message = "schedule: ${jsonencode(var.schedule)} is not usable; allowed: an hour with a minute: this is due in each of its 60 minutes (0 for once, */1 for all 60)"
  }
  validation {
    condition     = var.schedule == null ? true : length(var.schedule) <= 256
    error_message = "schedule: too long; allowed: at most 256 characters"
  }
}

variable "further_schedules" {
  description = "Further expressions, each `cron(...)`, for a job such as 06:00 on weekdays and 09:00 on Sundays: it is due whenever `schedule` or one of them is, once when two are. Each becomes a schedule. At most 9"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.further_schedules) <= 9 && length(distinct(var.further_schedules)) == length(var.further_schedules)
    error_message = "further_schedules: ${jsonencode(var.further_schedules)} is not usable; allowed: at most 9, each once"
  }
  validation {
    condition     = alltrue([for each in var.further_schedules : can(regex("^cron\\(\\S+( \\S+){5}\\)$", each)) && length(each) <= 256])
    error_message = "further_schedules: ${jsonencode(var.further_schedules)} is not usable; allowed: cron(...) with six fields, at most 256 characters each"
  }
  validation {
    condition     = alltrue([for each in var.further_schedules : !can(regex("^cron\\(\\S+ \\S+ [^? ]+ \\S+ [^? ]+ \\S+\\)$", each)) && !can(regex("^cron\\(\\S+ \\S+ \\? \\S+ \\? \\S+\\)$", each))])
    error_message = "further_schedules: ${jsonencode(var.further_schedules)} is not usable; allowed: ? in exactly one of day-of-month and day-of-week"
  }
  validation {
    condition     = alltrue([for each in var.further_schedules : !can(regex("^cron\\(\\* [^*]", each))])
    error_message = "further_schedules: ${jsonencode(var.further_schedules)} is not usable; allowed: an hour with a minute: this is due in each of its 60 minutes (0 for once, */1 for all 60)"
  }
}

variable "timezone" {
  description = "The IANA time zone of the schedule. `cronce check` knows whether it exists"
  type        = string
  default     = "UTC"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9_+/-]{0,49}$", var.timezone))
    error_message = "timezone: ${jsonencode(var.timezone)} is not usable; allowed: an IANA name such as Europe/Berlin"
  }
}

variable "period" {
  description = "What the period of a run is: `time`, the nominal time of its tick, or `date`, its local day: a day then has one run, whatever the hour of the schedule. `cronce check` knows whether a day may have two ticks"
  type        = string
  default     = "time"
  nullable    = false

  validation {
    condition     = contains(["time", "date"], var.period)
    error_message = "period: ${jsonencode(var.period)} is not usable; allowed: time, date"
  }
}

variable "enabled" {
  description = "False for a schedule that does not fire. Its ticks do not count as missed"
  type        = bool
  default     = true
  nullable    = false
}

variable "start" {
  description = "No tick is earlier than this, and a rate counts from here: RFC 3339 in UTC, such as `2026-11-29T06:00:00Z`. EventBridge Scheduler refuses to create a schedule whose start is more than 5 minutes ago"
  type        = string
  default     = null

  validation {
    condition     = var.start == null ? true : can(regex("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$", var.start)) && can(timeadd(var.start, "0s"))
    error_message = "start: ${jsonencode(var.start)} is not usable; allowed: RFC 3339 in UTC, such as 2026-11-29T06:00:00Z"
  }
}

variable "end" {
  description = "No tick is later than this: RFC 3339 in UTC"
  type        = string
  default     = null

  validation {
    condition     = var.end == null ? true : can(regex("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$", var.end)) && can(timeadd(var.end, "0s"))
    error_message = "end: ${jsonencode(var.end)} is not usable; allowed: RFC 3339 in UTC, such as 2026-11-29T06:00:00Z"
  }
}

variable "flexible_window" {
  description = "How much later than its tick a task may be started, to spread load: whole minutes, such as `15m`"
  type        = string
  default     = null

  validation {
    condition     = var.flexible_window == null ? true : can(regex("^([1-9]|[1-9][0-9]|[1-9][0-9]{2}|1[0-3][0-9]{2}|14[0-3][0-9]|1440)m$|^([1-9]|1[0-9]|2[0-4])h$", var.flexible_window))
    error_message = "flexible_window: ${jsonencode(var.flexible_window)} is not usable; allowed: whole minutes, 1m to 24h"
  }
}

variable "concurrency_policy" {
  description = "What happens when a run is due while another one is alive: ALLOW (both run), FORBID (skip), WAIT (queue) or REPLACE (stop the other one)"
  type        = string
  default     = "FORBID"
  nullable    = false

  validation {
    condition     = contains(["ALLOW", "FORBID", "REPLACE", "WAIT"], var.concurrency_policy)
    error_message = "concurrency_policy: ${jsonencode(var.concurrency_policy)} is not usable; allowed: ALLOW, FORBID, REPLACE, WAIT"
  }
}

variable "exclusion_group" {
  description = "Runs of jobs of one exclusion group never overlap; with concurrency_policy FORBID or WAIT only"
  type        = string
  default     = null

  validation {
    condition     = var.exclusion_group == null ? true : can(regex("^[0-9A-Za-z_.-]{1,100}$", var.exclusion_group))
    error_message = "exclusion_group: ${jsonencode(var.exclusion_group)} is not usable; allowed: the name of a group: 1 to 100 of A-Z a-z 0-9 _ . -"
  }
}

variable "starting_deadline" {
  description = "How late after its scheduled time a run may start for the first time: one number and a unit, such as `20m`"
  type        = string
  default     = null

  validation {
    condition     = var.starting_deadline == null ? true : can(regex("^[0-9]{1,9}(ms|s|m|h|d)$", var.starting_deadline))
    error_message = "starting_deadline: ${jsonencode(var.starting_deadline)} is not usable; allowed: a number with a unit: 90s, 5m, 2h, 7d (at most 366d)"
  }
}

variable "no_success_for_seconds" {
  description = "The longest time without a success before an alert, in seconds: 60 to 31622400; 0 for no alert. Null for twice the longest time between the job's ticks, plus an hour"
  type        = number
  default     = null

  validation {
    condition     = var.no_success_for_seconds == null ? true : floor(var.no_success_for_seconds) == var.no_success_for_seconds && (var.no_success_for_seconds == 0 || (var.no_success_for_seconds >= 60 && var.no_success_for_seconds <= 31622400))
    error_message = "no_success_for_seconds: ${jsonencode(var.no_success_for_seconds)} is not usable; allowed: whole seconds, 1m to 366d, or 0 for never"
  }
}

variable "active_deadline" {
  description = "How long an attempt may run: one number and a unit, such as `25m`"
  type        = string
  default     = null

  validation {
    condition     = var.active_deadline == null ? true : can(regex("^[0-9]{1,9}(ms|s|m|h|d)$", var.active_deadline))
    error_message = "active_deadline: ${jsonencode(var.active_deadline)} is not usable; allowed: a number with a unit: 90s, 5m, 2h, 7d (at most 366d)"
  }
}

variable "backoff_limit" {
  description = "How many failed attempts are retried"
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.backoff_limit >= 0 && var.backoff_limit <= 1000 && floor(var.backoff_limit) == var.backoff_limit
    error_message = "backoff_limit: ${var.backoff_limit} is not usable; allowed: a whole number from 0 to 1000"
  }
}

variable "catch_up" {
  description = "Which missed ticks are run afterwards: NONE, LATEST or ALL"
  type        = string
  default     = "NONE"
  nullable    = false

  validation {
    condition     = contains(["NONE", "LATEST", "ALL"], var.catch_up)
    error_message = "catch_up: ${jsonencode(var.catch_up)} is not usable; allowed: NONE, LATEST, ALL"
  }
}

variable "on_lost" {
  description = "What happens to a run whose process died: RETRY (the next claim takes it over) or HOLD (it waits for a person)"
  type        = string
  default     = "RETRY"
  nullable    = false

  validation {
    condition     = contains(["RETRY", "HOLD"], var.on_lost)
    error_message = "on_lost: ${jsonencode(var.on_lost)} is not usable; allowed: RETRY, HOLD"
  }
}

variable "suspend" {
  description = "True to skip scheduled runs, and record them as skipped"
  type        = bool
  default     = false
  nullable    = false
}

variable "lease" {
  description = "How long the claim of a dead process is respected: one number and a unit"
  type        = string
  default     = "60s"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]{1,7}(ms|s|m|h)$", var.lease))
    error_message = "lease: ${jsonencode(var.lease)} is not usable; allowed: 500ms to 1h"
  }
}

variable "cluster_arn" {
  description = "ARN of the ECS cluster in which the task runs"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/[A-Za-z0-9_-]{1,255}$", var.cluster_arn))
    error_message = "cluster_arn: ${jsonencode(var.cluster_arn)} is not usable; allowed: arn:aws:ecs:REGION:ACCOUNT:cluster/NAME"
  }
}

variable "task_definition_arn" {
  description = "ARN of the task definition. With its revision, the schedule runs what this state knows; without one, the latest (then acknowledge the warning)"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:task-definition/[A-Za-z0-9_-]{1,255}(:[0-9]+)?$", var.task_definition_arn))
    error_message = "task_definition_arn: ${jsonencode(var.task_definition_arn)} is not usable; allowed: arn:aws:ecs:REGION:ACCOUNT:task-definition/FAMILY:REVISION"
  }
}

variable "container_name" {
  description = "The container that does the work"
  type        = string
  nullable    = false

  validation {
    condition     = length(var.container_name) > 0
    error_message = "container_name: \"\" is not usable; allowed: the name of a container"
  }
}

variable "command" {
  description = "The container's command, word by word, instead of its image's"
  type        = list(string)
  default     = null

  validation {
    condition     = var.command == null ? true : length(var.command) > 0
    error_message = "command: [] is not usable; allowed: a list of at least one word"
  }
}

variable "environment" {
  description = "Variables for the container, in addition to those of the task definition. Everybody with `scheduler:GetSchedule` or the state can read them: no secrets"
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
  validation {
    condition     = alltrue([for name in keys(var.environment) : !strcontains(name, "=")])
    error_message = "environment: ${jsonencode(keys(var.environment))} is not usable; allowed: names without =, which ends the name of a variable"
  }
}

variable "task_role_arn" {
  description = "ARN of the task definition's task role: it gets the claim policy, and EventBridge Scheduler may pass it"
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:iam::[0-9]{12}:role/.+$", var.task_role_arn))
    error_message = "task_role_arn: ${jsonencode(var.task_role_arn)} is not usable; allowed: arn:aws:iam::ACCOUNT:role/NAME"
  }
}

variable "execution_role_arn" {
  description = "ARN of the task definition's execution role; null if it has none"
  type        = string
  default     = null
}

variable "launch_type" {
  description = "FARGATE, EC2 or EXTERNAL. Defaults to FARGATE, or to none with `capacity_provider_strategy`"
  type        = string
  default     = null

  validation {
    condition     = var.launch_type == null ? true : contains(["FARGATE", "EC2", "EXTERNAL"], var.launch_type)
    error_message = "launch_type: ${jsonencode(var.launch_type)} is not usable; allowed: FARGATE, EC2, EXTERNAL"
  }
}

variable "capacity_provider_strategy" {
  description = "Capacity providers, such as FARGATE_SPOT, instead of a launch type"
  type = list(object({
    capacity_provider = string
    weight            = optional(number)
    base              = optional(number)
  }))
  default  = []
  nullable = false

  validation {
    condition     = length(var.capacity_provider_strategy) <= 6
    error_message = "capacity_provider_strategy: allowed: 1 to 6 providers"
  }
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
    condition     = length(distinct([for each in var.capacity_provider_strategy : contains(["FARGATE", "FARGATE_SPOT"], each.capacity_provider)])) <= 1
    error_message = "capacity_provider_strategy: allowed: Fargate's providers or others, not both"
  }
}

variable "platform_version" {
  description = "The Fargate platform version, such as `1.4.0`. Defaults to the latest"
  type        = string
  default     = null
}

variable "subnet_ids" {
  description = "Subnets of the task's network interface (network mode awsvpc). Empty for the modes bridge and host"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) <= 16
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
  description = "True for a public address (Fargate only)"
  type        = bool
  default     = false
  nullable    = false
}

variable "size" {
  description = "CPU units and MiB of the task and of its container, instead of those of the task definition: RunTask overrides them"
  type = object({
    cpu                          = optional(number)
    memory                       = optional(number)
    container_cpu                = optional(number)
    container_memory             = optional(number)
    container_memory_reservation = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for value in values(var.size) : value == null ? true : value > 0 && floor(value) == value])
    error_message = "size: ${jsonencode(var.size)} is not usable; allowed: whole numbers over 0"
  }
  validation {
    condition     = alltrue([for name in ["container_memory", "container_memory_reservation"] : coalesce(var.size[name], 6) >= 6])
    error_message = "size: ${jsonencode(var.size)} is not usable; allowed: at least 6 MiB for a container"
  }
  validation {
    condition     = coalesce(var.size.container_cpu, 0) <= coalesce(var.size.cpu, 1000000) && max(coalesce(var.size.container_memory, 0), coalesce(var.size.container_memory_reservation, 0)) <= coalesce(var.size.memory, 100000000)
    error_message = "size: ${jsonencode(var.size)} is not usable; allowed: a container that is at most as large as its task"
  }
  validation {
    condition     = coalesce(var.size.container_memory_reservation, 0) <= coalesce(var.size.container_memory, 100000000)
    error_message = "size: ${jsonencode(var.size)} is not usable; allowed: a reservation of at most container_memory, the hard limit"
  }
}

variable "enable_ecs_managed_tags" {
  description = "True for the tags that ECS manages, such as `aws:ecs:clusterName`, for cost allocation"
  type        = bool
  default     = false
  nullable    = false
}

variable "propagate_tags" {
  description = "True to give the task its task definition's tags"
  type        = bool
  default     = false
  nullable    = false
}

variable "task_tags" {
  description = "Further tags of the task"
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(var.task_tags) <= 50
    error_message = "task_tags: ${length(var.task_tags)} tags is not usable; allowed: at most 50 tags"
  }
  validation {
    condition     = alltrue([for name in keys(var.task_tags) : !startswith(lower(name), "aws:")])
    error_message = "task_tags: ${jsonencode(keys(var.task_tags))} is not usable; allowed: names that do not begin with aws:, which AWS reserves"
  }
  validation {
    condition = alltrue([
      for name, value in var.task_tags : can(regex("^[\\p{L}\\p{Z}\\p{N}_.:/=+@-]{1,128}$", name)) && can(regex("^[\\p{L}\\p{Z}\\p{N}_.:/=+@-]{1,256}$", value))
    ])
    error_message = "task_tags: ${jsonencode(var.task_tags)} is not usable; allowed: 1 to 128 (values 256) letters, digits, spaces and any of _ . : / = + - @"
  }
}

variable "enable_execute_command" {
  description = "True to allow `aws ecs execute-command` into the task"
  type        = bool
  default     = false
  nullable    = false
}

variable "metrics" {
  description = "False to keep its log lines from becoming CloudWatch metrics, which cost money per job"
  type        = bool
  default     = true
  nullable    = false
}

variable "retry_policy" {
  description = "How long and how often EventBridge Scheduler tries to start the task of a tick. By default until the starting deadline; without one, until a rate's next tick and at most an hour"
  type = object({
    maximum_event_age_in_seconds = optional(number)
    maximum_retry_attempts       = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition     = coalesce(var.retry_policy.maximum_event_age_in_seconds, 60) >= 60 && coalesce(var.retry_policy.maximum_event_age_in_seconds, 60) <= 86400 && coalesce(var.retry_policy.maximum_retry_attempts, 1) <= 185 && coalesce(var.retry_policy.maximum_retry_attempts, 1) >= 0
    error_message = "retry_policy: allowed: 60 to 86400 seconds, 0 to 185 attempts"
  }
}

variable "create_claim_policy" {
  description = "False if the roles' owner attaches `claim_policy_json` to the task role and `url_policy_json` to the execution role: where a role manages its policies exclusively, or many jobs share it"
  type        = bool
  default     = true
  nullable    = false
}

variable "iam_role_permissions_boundary" {
  description = "ARN of the permissions boundary of the schedule's role"
  type        = string
  default     = null
}

variable "acknowledged_warnings" {
  description = "Warnings that are known and intended, by name: rate-without-start, starting-deadline-beyond-retries, starting-deadline-too-short, task-definition-without-revision, default-security-group, shell-ignores-sigterm"
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
