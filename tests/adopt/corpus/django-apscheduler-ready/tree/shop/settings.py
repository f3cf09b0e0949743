INSTALLED_APPS = ["django.contrib.auth", "django_apscheduler", "news.apps.NewsConfig"]
