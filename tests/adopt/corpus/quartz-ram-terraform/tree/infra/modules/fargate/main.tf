locals {
  container = {
    name         = var.name
    image        = var.image
    essential    = true
    portMappings = [{ containerPort = 8080 }]
  }
}
resource "aws_ecs_task_definition" "this" {
  family                = var.name
  container_definitions = jsonencode([local.container])
}
resource "aws_ecs_service" "this" {
  name            = var.name
  task_definition = aws_ecs_task_definition.this.arn
  desired_count   = var.desired_count
  launch_type     = "FARGATE"
}
