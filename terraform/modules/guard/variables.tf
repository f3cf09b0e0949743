variable "image" {
  description = "An image that contains the portable folder in a VOLUME `/cronce`, for the processor of the task definition. The execution role must be able to pull it"
  type        = string
  nullable    = false

  validation {
    condition     = length(var.image) > 0
    error_message = "image: \"\" is not usable; allowed: an image that contains the portable folder"
  }
}

variable "containers" {
  description = "The definitions of the jobs' containers by name, in the words of ECS and without `name`: `image`, `logConfiguration` and so on. `command` is the full command: the image's ENTRYPOINT, if it has one, and then its CMD. ECS ignores both where the entry point is the guard"
  type        = any
  nullable    = false

  validation {
    condition     = can(keys(var.containers)) && length(var.containers) > 0
    error_message = "containers: allowed: an object with at least one container definition by name"
  }
  validation {
    condition     = !can(var.containers["cronce"])
    error_message = "containers: \"cronce\" is not usable; allowed: one guard, and no other container named cronce"
  }
  validation {
    condition     = try(alltrue([for name, container in var.containers : try(container.name, name) == name]), false)
    error_message = "containers: allowed: container definitions without a name, because it is the key"
  }
  validation {
    condition     = try(alltrue([for container in var.containers : length(container.image) > 0]), false)
    error_message = "containers: allowed: an image in each"
  }
  validation {
    # The provider reads names in any spelling, so that another one would replace what the module writes.
    condition     = try(alltrue(flatten([for container in var.containers : [for key in keys(container) : lower(key) != "entrypoint"]])), false)
    error_message = "containers: allowed: no entryPoint, because it is the guard; put the image's before the command"
  }
  validation {
    condition     = try(alltrue(flatten([for container in var.containers : [for key in keys(container) : !contains(["dependson", "mountpoints", "essential", "name"], lower(key)) || contains(["dependsOn", "mountPoints", "essential", "name"], key)]])), false)
    error_message = "containers: allowed: the spelling of ECS: dependsOn, mountPoints, essential"
  }
  validation {
    condition     = try(alltrue([for container in var.containers : length(container.command) > 0 && alltrue([for word in container.command : can(tostring(word)) && word != null])]), false)
    error_message = "containers: allowed: in each, the full command, a list of at least one word. The image's own words do not apply under the guard; `docker inspect --format '{{json .Config.Entrypoint}} {{json .Config.Cmd}}' IMAGE` prints them"
  }
  validation {
    condition     = alltrue([for container in try(values(var.containers), []) : try(reverse(split("/", container.command[0]))[0], "") != "cronce"])
    error_message = "containers: allowed: the work's own command: the entry point is the guard already"
  }
}

variable "pinned" {
  description = "Names of those containers that are clocks of your own, of which one process runs at a time: `cronce pin` instead of `cronce exec`"
  type        = list(string)
  default     = []
  nullable    = false
}

variable "options" {
  description = "Options of `cronce exec` (or `cronce pin`) by the container's name, such as `{ digest = [\"--grace\", \"60s\"] }`"
  type        = map(list(string))
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for words in values(var.options) : try(length(words) > 0 && !contains(words, "--"), false)])
    error_message = "options: allowed: lists of at least one word, without the -- that ends them"
  }
}

variable "path" {
  description = "Where the folder is mounted in the jobs' containers"
  type        = string
  default     = "/cronce"
  nullable    = false

  validation {
    condition     = can(regex("^(/[^/\\s]+)+$", var.path)) && length(setintersection(split("/", var.path), [".", ".."])) == 0
    error_message = "path: ${jsonencode(var.path)} is not usable; allowed: an absolute path below /, such as /cronce"
  }
}

variable "memory" {
  description = "MiB of the container that fills the volume. Containers on instances of your own need a limit: 32 is enough. On Fargate, null"
  type        = number
  default     = null

  validation {
    condition     = var.memory == null ? true : var.memory >= 6 && floor(var.memory) == var.memory
    error_message = "memory: ${jsonencode(var.memory)} is not usable; allowed: whole MiB, at least 6"
  }
}

variable "log_configuration" {
  description = "The log of the container that fills the volume, in the words of ECS. Defaults to none"
  type = object({
    logDriver = string
    options   = optional(map(string), {})
  })
  default = null
}
