module "worker" {
  source                   = "terraform-aws-modules/ecs/aws//modules/service"
  name                     = "worker"
  desired_count            = 1
  autoscaling_max_capacity = 5
  container_definitions = {
    worker = { image = "${var.registry}/worker:${var.tag}" }
  }
}
