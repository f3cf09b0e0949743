variable "environment" {
  type    = string
  default = "production"
}
