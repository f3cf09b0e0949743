resource "aws_ecs_task_definition" "beat" {
  family                = "beat"
  container_definitions = jsonencode([{ name = "beat", image = "shop", command = ["celery", "--app", "shop", "beat"] }])
}

resource "aws_ecs_service" "beat" {
  task_definition                    = aws_ecs_task_definition.beat.arn
  desired_count                      = 1
  deployment_minimum_healthy_percent = 0
  deployment_maximum_percent         = 100
}
