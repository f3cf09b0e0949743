ROOT_URLCONF = "site1.urls"
INSTALLED_APPS = ["news"]
