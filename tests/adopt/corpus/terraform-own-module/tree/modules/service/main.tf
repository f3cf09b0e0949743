variable "copies" { default = 1 }
variable "command" { type = list(string) }

resource "aws_ecs_task_definition" "this" {
  family                = "x"
  container_definitions = jsonencode([{ name = "x", image = "shop", command = var.command }])
}

resource "aws_ecs_service" "this" {
  task_definition = aws_ecs_task_definition.this.arn
  desired_count   = var.copies
}
