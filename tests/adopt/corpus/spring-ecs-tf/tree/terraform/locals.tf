locals {
  env = {
    staging = { count = 1 }
    production = { count = 3 }
  }
  desired = local.env[var.environment].count
}
