module "api" {
  source        = "./modules/fargate"
  name          = "api"
  desired_count = var.api_count
  image         = "${aws_ecr_repository.api.repository_url}:${var.image_tag}"
}
