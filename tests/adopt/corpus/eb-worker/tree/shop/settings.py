INSTALLED_APPS = ["catalog.apps.CatalogConfig"]
