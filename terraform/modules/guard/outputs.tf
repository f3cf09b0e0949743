output "container_definitions" {
  description = "All containers as JSON: `container_definitions` of an `aws_ecs_task_definition`"
  value       = jsonencode(concat([local.bringer], values(local.jobs)))
}

output "containers" {
  description = "The same by name, for modules that take them so, and to add containers without a guard"
  value       = local.containers

  precondition {
    condition     = length(setsubtract(var.pinned, keys(var.containers))) == 0
    error_message = "pinned: ${jsonencode(var.pinned)} is not usable; allowed: names of containers: ${join(", ", keys(var.containers))}"
  }
  precondition {
    condition     = length(setsubtract(keys(var.options), keys(var.containers))) == 0
    error_message = "options: ${jsonencode(keys(var.options))} is not usable; allowed: names of containers: ${join(", ", keys(var.containers))}"
  }
}

output "volume_name" {
  description = "Name of the empty volume that the task definition must have: `volume { name = module.guard.volume_name }`"
  value       = local.name
}

output "program" {
  description = "Path of the program `cronce` in the jobs' containers, such as for a health check"
  value       = local.program
}
