resource "aws_ecs_task_definition" "worker" {
  family = "worker"
  container_definitions = jsonencode([
    {
      name    = "worker"
      image   = "registry.example.com/shop/app:1"
      command = ["celery", "-A", "shop", "worker", "-B", "-l", "info"]
    }
  ])
}

resource "aws_ecs_service" "worker" {
  name            = "worker"
  task_definition = aws_ecs_task_definition.worker.arn
  desired_count   = var.worker_count
}
