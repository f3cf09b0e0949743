import psycopg
from apscheduler.schedulers.background import BackgroundScheduler
from flask import Flask

app = Flask(__name__)


def digest():
    with psycopg.connect() as db:
        if not db.execute("SELECT pg_try_advisory_lock(42)").fetchone()[0]:
            return
        send()


def send():
    pass


scheduler = BackgroundScheduler()
scheduler.add_job(digest, "cron", hour=6, max_instances=1, misfire_grace_time=60)
scheduler.start()
