INSTALLED_APPS = ["django_crontab"]

CRONJOBS = [
    ("0 6 * * *", "shop.cron.digest"),
]
