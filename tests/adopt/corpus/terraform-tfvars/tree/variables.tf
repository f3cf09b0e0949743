variable "worker_count" {
  type    = number
  default = 1
}
