module "worker" {
  source  = "./modules/service"
  copies  = 3
  command = ["celery", "-A", "shop", "worker", "-B"]
}
