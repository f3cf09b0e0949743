locals {
  services = {
    web = {
      count   = 3
      command = ["gunicorn", "shop.wsgi"]
    }
    beat = {
      count   = 1
      command = ["celery", "--app", "shop", "beat"]
    }
  }
}

resource "aws_ecs_task_definition" "this" {
  for_each = local.services
  family   = each.key
  container_definitions = jsonencode([{
    name    = each.key
    image   = "registry.example.com/shop/app:1"
    command = each.value.command
  }])
}

resource "aws_ecs_service" "this" {
  for_each        = local.services
  name            = each.key
  cluster         = "main"
  task_definition = aws_ecs_task_definition.this[each.key].arn
  desired_count   = each.value.count
}
