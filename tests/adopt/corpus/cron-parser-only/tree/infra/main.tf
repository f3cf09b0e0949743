resource "aws_ecs_service" "plans" {
  desired_count   = 4
  task_definition = aws_ecs_task_definition.plans.arn
}
resource "aws_ecs_task_definition" "plans" {
  family                = "plans"
  container_definitions = jsonencode([{ name = "plans", image = "${var.image}" }])
}
resource "aws_scheduler_schedule" "nightly" {
  schedule_expression = "cron(0 2 * * ? *)"
  flexible_time_window { mode = "OFF" }
  target {
    arn      = "arn:aws:ecs:eu-west-1:1:cluster/main"
    role_arn = aws_iam_role.scheduler.arn
  }
}
