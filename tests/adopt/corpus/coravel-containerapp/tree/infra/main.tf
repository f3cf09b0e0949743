resource "azurerm_container_app" "shop" {
  name                         = "shop"
  container_app_environment_id = azurerm_container_app_environment.main.id
  resource_group_name          = azurerm_resource_group.main.name
  revision_mode                = "Single"

  template {
    min_replicas = 2
    max_replicas = 5
    container {
      name   = "shop"
      image  = "acme.azurecr.io/shop:${var.tag}"
      cpu    = 0.5
      memory = "1Gi"
    }
  }
}
