# Every validation and precondition of this module: `terraform test`. It needs no provider.
variables {
  image = "cronce:1"
  containers = {
    digest = { image = "shop:1", command = ["bundle", "exec", "rails", "digest:send"] }
  }
}

run "good" {
  command = plan

  assert {
    condition     = output.containers.digest.entryPoint == ["/cronce/cronce", "exec", "--"]
    error_message = "The guard before the job's command."
  }

  assert {
    condition     = [for each in jsondecode(output.container_definitions) : each.name] == ["cronce", "digest"]
    error_message = "One that fills the volume, one that does the work."
  }

  assert {
    condition     = !can(output.containers.cronce.memory) && !can(output.containers.cronce.logConfiguration)
    error_message = "What is not given is not there."
  }
}

run "what_a_container_has_is_kept" {
  command = plan

  variables {
    containers = {
      digest = {
        image        = "shop:1"
        command      = ["rails"]
        essential    = false
        environment  = [{ name = "TZ", value = "UTC" }]
        mountPoints  = [{ sourceVolume = "mails", containerPath = "/mails", readOnly = false }]
        dependsOn    = [{ containerName = "log", condition = "START" }]
        volumesFrom  = null
        portMappings = [{ containerPort = 80 }, { containerPort = 81, name = "admin" }]
      }
      beat = { image = "clock:2", command = ["clockwork"], mountPoints = null, name = "beat" }
    }
    pinned  = ["beat"]
    options = { beat = ["--lease", "20s"] }
    path    = "/opt/cronce"
    memory  = 32
    log_configuration = {
      logDriver = "awslogs"
      options   = { awslogs-group = "shop" }
    }
  }

  assert {
    condition     = output.containers.beat.entryPoint == ["/opt/cronce/cronce", "pin", "--lease", "20s", "--"] && output.program == "/opt/cronce/cronce"
    error_message = "A clock of one's own is pinned."
  }

  assert {
    condition     = output.containers.digest.mountPoints[*].containerPath == ["/mails", "/opt/cronce"] && output.containers.digest.dependsOn[*].containerName == ["log", "cronce"]
    error_message = "The guard's are added to those that are there."
  }

  assert {
    condition     = !output.containers.digest.essential && output.containers.beat.essential && length(output.containers.digest.portMappings) == 2
    error_message = "All else stays as it is."
  }

  assert {
    condition     = output.containers.cronce.memory == 32 && output.containers.cronce.logConfiguration.options.awslogs-group == "shop" && output.containers.cronce.mountPoints[0].containerPath == "/cronce"
    error_message = "In its own image the folder stays where its VOLUME is."
  }
}

run "no_image" {
  command = plan

  variables {
    image = ""
  }

  expect_failures = [var.image]
}

run "no_containers" {
  command = plan

  variables {
    containers = {}
  }

  expect_failures = [var.containers]
}

run "containers_that_are_no_object" {
  command = plan

  variables {
    containers = "digest"
  }

  expect_failures = [var.containers]
}

run "guard_named_twice" {
  command = plan

  variables {
    containers = { cronce = { image = "shop:1", command = ["x"] } }
  }

  expect_failures = [var.containers]
}

run "another_name" {
  command = plan

  variables {
    containers = { digest = { name = "report", image = "shop:1", command = ["x"] } }
  }

  expect_failures = [var.containers]
}

run "container_without_an_image" {
  command = plan

  variables {
    containers = { digest = { command = ["x"] } }
  }

  expect_failures = [var.containers]
}

run "entry_point_of_its_own" {
  command = plan

  variables {
    containers = { digest = { image = "shop:1", command = ["x"], entryPoint = ["/entry"] } }
  }

  expect_failures = [var.containers]
}

run "container_without_a_command" {
  command = plan

  variables {
    containers = { digest = { image = "shop:1" } }
  }

  expect_failures = [var.containers]
}

run "command_of_no_words" {
  command = plan

  variables {
    containers = { digest = { image = "shop:1", command = [] } }
  }

  expect_failures = [var.containers]
}

run "command_that_is_text" {
  command = plan

  variables {
    containers = { digest = { image = "shop:1", command = "rails digest:send" } }
  }

  expect_failures = [var.containers]
}

run "guard_before_the_guard" {
  command = plan

  variables {
    containers = { digest = { image = "shop:1", command = ["/cronce/cronce", "exec", "--", "x"] } }
  }

  expect_failures = [var.containers]
}

run "options_of_no_words" {
  command = plan

  variables {
    options = { digest = [] }
  }

  expect_failures = [var.options]
}

run "options_that_end" {
  command = plan

  variables {
    options = { digest = ["--grace", "60s", "--"] }
  }

  expect_failures = [var.options]
}

run "relative_path" {
  command = plan

  variables {
    path = "cronce"
  }

  expect_failures = [var.path]
}

run "path_upwards" {
  command = plan

  variables {
    path = "/a/../b"
  }

  expect_failures = [var.path]
}

run "root_as_path" {
  command = plan

  variables {
    path = "/"
  }

  expect_failures = [var.path]
}

run "too_little_memory" {
  command = plan

  variables {
    memory = 4
  }

  expect_failures = [var.memory]
}

run "pinned_without_a_container" {
  command = plan

  variables {
    pinned = ["beat"]
  }

  expect_failures = [output.containers]
}

run "options_without_a_container" {
  command = plan

  variables {
    options = { beat = ["--grace", "60s"] }
  }

  expect_failures = [output.containers]
}

run "entry_point_in_another_spelling" {
  command = plan

  variables {
    containers = { digest = { image = "shop:1", command = ["x"], entrypoint = ["/entry"] } }
  }

  expect_failures = [var.containers]
}

run "mounts_in_another_spelling" {
  command = plan

  variables {
    containers = { digest = { image = "shop:1", command = ["x"], mountpoints = [] } }
  }

  expect_failures = [var.containers]
}
