locals {
  apps = {
    api = { image = "acme.azurecr.io/api", max = 4 }
    web = { image = "acme.azurecr.io/web", max = 2 }
  }
}

resource "azurerm_container_app" "this" {
  for_each      = local.apps
  name          = each.key
  revision_mode = "Single"
  template {
    min_replicas = 1
    max_replicas = each.value.max
    container {
      name  = each.key
      image = each.value.image
    }
  }
}
