resource "aws_ecs_task_definition" "shop" {
  family                   = "shop"
  requires_compatibilities = ["FARGATE"]
  container_definitions = jsonencode([{
    name  = "shop"
    image = "${aws_ecr_repository.shop.repository_url}:latest"
  }])
}
resource "aws_ecs_service" "shop" {
  name            = "shop"
  task_definition = aws_ecs_task_definition.shop.arn
  desired_count   = local.desired
}
