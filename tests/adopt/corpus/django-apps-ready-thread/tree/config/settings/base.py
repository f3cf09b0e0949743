INSTALLED_APPS = [
    "django.contrib.auth",
    "subscriptions.apps.SubscriptionsConfig",
]
WSGI_APPLICATION = "config.wsgi.application"
