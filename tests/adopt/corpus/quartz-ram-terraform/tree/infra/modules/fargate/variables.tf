variable "name" {}
variable "image" {}
variable "desired_count" { default = 1 }
