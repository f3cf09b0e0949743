INSTALLED_APPS = ["django_crontab", "django_q", "mail"]
CRONJOBS = [
    ("0 6 * * *", "mail.cron.send_digest"),
]
Q_CLUSTER = {"name": "proj", "orm": "default"}
