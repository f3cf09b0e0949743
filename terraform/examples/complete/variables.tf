variable "region" {
  description = "Region of everything"
  type        = string
  default     = "eu-west-1"
}

variable "name" {
  description = "Name of the ledger and beginning of the other names"
  type        = string
  default     = "digests"
}

variable "image" {
  description = "Image of the digest, with cronce in it"
  type        = string
}

variable "command" {
  description = "Command of the digest"
  type        = list(string)
  default     = ["cronce", "exec", "--", "./digest"]
}

variable "schedule" {
  description = "When the digest is due"
  type        = string
  default     = "cron(0 6 * * ? *)"
}

variable "lambda_archive" {
  description = "What `cronce lambda-archive` wrote"
  type        = string
  default     = "cronce-lambdas.zip"
}

variable "deletion_protection_enabled" {
  description = "False before `terraform destroy`"
  type        = bool
  default     = true
}

variable "alarm_email" {
  description = "Where the alarms go"
  type        = string
  default     = null
}
