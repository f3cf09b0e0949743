variable "url_secret_arn" {
  description = "Secret with the URL of the ledger; `cronce init` has prepared the database"
  type        = string
  default     = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:cronce-AbCdEf:url::"
}

variable "cluster_arn" {
  description = "Cluster of the job and of the watchdog"
  type        = string
  default     = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
}

variable "image" {
  description = "Image of the digest, with cronce in it"
  type        = string
  default     = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/digest:1"
}

variable "command" {
  description = "Command of the digest"
  type        = list(string)
  default     = ["cronce", "exec", "--", "./digest"]
}

variable "task_role_arn" {
  description = "Role of the digest. It needs nothing for the ledger"
  type        = string
  default     = "arn:aws:iam::111122223333:role/digest-task"
}

variable "execution_role_arn" {
  description = "Execution role of the digest. The module lets it read the secret"
  type        = string
  default     = "arn:aws:iam::111122223333:role/digest-execution"
}

variable "subnet_ids" {
  description = "Subnets that reach the database"
  type        = list(string)
  default     = ["subnet-0a1b2c3d4e5f60001"]
}

variable "security_group_ids" {
  description = "Groups that the database admits"
  type        = list(string)
  default     = ["sg-0a1b2c3d4e5f60001"]
}

variable "alarm_actions" {
  description = "What alarms call"
  type        = list(string)
  default     = []
}
