resource "aws_ecs_task_definition" "web" {
  family                = "web"
  container_definitions = file("web.json")
}

resource "aws_ecs_service" "web" {
  task_definition = aws_ecs_task_definition.web.arn
  desired_count   = 1
}

resource "aws_appautoscaling_target" "web" {
  min_capacity = 1
  max_capacity = 6
  resource_id  = "service/main/${aws_ecs_service.web.name}"
}
