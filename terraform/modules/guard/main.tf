# No resources: the containers go into a task definition of yours.
locals {
  name    = "cronce"
  program = "${var.path}/cronce"

  bringer = merge(
    {
      name      = local.name
      image     = var.image
      essential = false
      # The folder's path in its image, and the VOLUME there: ECS copies the content of that path into an empty volume.
      mountPoints = [{ sourceVolume = local.name, containerPath = "/cronce", readOnly = false }]
    },
    { for name, value in { memory = var.memory } : name => value if value != null },
    { for name, value in { logConfiguration = var.log_configuration } : name => value if value != null },
  )

  jobs = { for name, container in var.containers : name => merge({ essential = true }, container, {
    name       = name
    entryPoint = concat([local.program, contains(var.pinned, name) ? "pin" : "exec"], lookup(var.options, name, []), ["--"])
    dependsOn = concat(
      try([for each in container.dependsOn : each], []),
      [{ containerName = local.name, condition = "SUCCESS" }],
    )
    mountPoints = concat(
      try([for each in container.mountPoints : each], []),
      [{ sourceVolume = local.name, containerPath = var.path, readOnly = true }],
    )
  }) }

  containers = merge({ (local.name) = local.bringer }, local.jobs)
}
