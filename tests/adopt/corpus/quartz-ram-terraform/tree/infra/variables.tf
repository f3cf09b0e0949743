variable "api_count" {
  type = number
}
variable "image_tag" { default = "latest" }
