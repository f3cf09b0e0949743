variable "create" {
  description = "False to create nothing. All outputs are then null"
  type        = bool
  default     = true
  nullable    = false
}

variable "region" {
  description = "Region of the ledger. Defaults to the provider's"
  type        = string
  default     = null
}

variable "ledger" {
  description = "The ledger to look at: `module.ledger.ledger`; or `{ name = \"runs\" }` for one of another state, from whose name, account and Region the rest follows"
  type = object({
    name             = string
    table_arn        = optional(string)
    schedule_group   = optional(string)
    dead_letters_arn = optional(string)
    url_secret       = optional(object({ arn = string }))
  })
  nullable = false

  validation {
    condition     = var.ledger.url_secret == null
    error_message = "ledger: it is in PostgreSQL or Redis; allowed: one in DynamoDB. For another, write the statements of docs/iam.md, without those on the table"
  }
  validation {
    condition     = var.ledger.url_secret != null || can(regex("^[A-Za-z0-9_.-]{3,255}$", var.ledger.name))
    error_message = "ledger: the name is not usable; allowed: 3 to 255 of A-Z a-z 0-9 _ . -"
  }
}

variable "role_name" {
  description = "Name of the role of people on call, which gets the policy"
  type        = string
  nullable    = false
}

variable "cluster_arns" {
  description = "ARNs of the clusters whose tasks may be described. A description includes the task's variables. Empty for all clusters"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.cluster_arns : can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/[A-Za-z0-9_-]{1,255}$", arn))])
    error_message = "cluster_arns: ${jsonencode(var.cluster_arns)} is not usable; allowed: arn:aws:ecs:REGION:ACCOUNT:cluster/NAME"
  }
}

variable "log_group_arns" {
  description = "ARNs of the log groups that may be read. Empty for no log"
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.log_group_arns : can(regex("^arn:[^:]+:logs:[^:]+:[0-9]{12}:log-group:[^:]+(:[*])?$", arn))])
    error_message = "log_group_arns: allowed: ARNs of log groups"
  }
}

variable "name" {
  description = "Name of the policy. Defaults to the ledger's name and `-operate`"
  type        = string
  default     = null
}

variable "tags" {
  description = "Not used, because an inline policy has no tags"
  type        = map(string)
  default     = {}
  nullable    = false
}
