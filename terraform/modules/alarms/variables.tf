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
  description = "The ledger that admits the job's tasks: `module.ledger.ledger`; or `{ name = \"runs\" }` for one of another state, from whose name, account and Region the rest follows"
  type        = object({ name = string })
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.ledger.name))
    error_message = "ledger: the name is not usable; allowed: 3 to 255 of A-Z a-z 0-9 _ . -"
  }
}

variable "jobs" {
  description = "Jobs with alarms of their own, by name; each kind can be turned off"
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
