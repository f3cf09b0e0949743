variable "web_count" {
  type    = number
  default = 4
}

resource "aws_ecs_task_definition" "web" {
  family = "web"
  container_definitions = jsonencode([
    {
      name    = "web"
      image   = "${aws_ecr_repository.shop.repository_url}:latest"
      command = ["gunicorn", "shop.web:app"]
    },
  ])
}

resource "aws_ecs_service" "web" {
  name            = "web"
  cluster         = aws_ecs_cluster.main.id
  task_definition = aws_ecs_task_definition.web.arn
  desired_count   = var.web_count
}
