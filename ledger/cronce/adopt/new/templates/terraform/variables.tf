variable "region" {
  description = "Region of everything"
  type        = string
  default     = "eu-west-1"
}

variable "name" {
  description = "Name of the ledger and beginning of the other names"
  type        = string
  default     = "{{stack}}"
}

variable "image" {
  description = "Image of the job, built from the Dockerfile here"
  type        = string
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
