resource "aws_ecs_task_definition" "web" {
  family = "web"
  container_definitions = jsonencode([{
    name        = "app"
    image       = local.image
    environment = [{ name = "ROLE", value = "web" }]
  }])
}
resource "aws_ecs_service" "web" {
  name            = "web"
  task_definition = aws_ecs_task_definition.web.arn
  desired_count   = 3
}
resource "aws_ecs_task_definition" "scheduler" {
  family = "scheduler"
  container_definitions = jsonencode([{
    name        = "app"
    image       = local.image
    environment = [{ name = "ROLE", value = "scheduler" }]
  }])
}
resource "aws_ecs_service" "scheduler" {
  name            = "scheduler"
  task_definition = aws_ecs_task_definition.scheduler.arn
  desired_count   = 1
}
locals {
  image = "${data.aws_ecr_repository.app.repository_url}:${var.tag}"
}
