module "portal" {
  source  = "terraform-aws-modules/ecs/aws//modules/service"
  version = "~> 5.11"

  name        = "portal"
  cluster_arn = module.cluster.arn

  desired_count = 2

  container_definitions = {
    portal = {
      image     = "${module.ecr.repository_url}:${var.tag}"
      essential = true
      port_mappings = [{ containerPort = 3000 }]
    }
  }
}
