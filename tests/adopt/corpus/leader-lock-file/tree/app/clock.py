import psycopg
from apscheduler.schedulers.background import BackgroundScheduler

LOCK = 8842001
scheduler = BackgroundScheduler()


def report():
    ...


def start_if_leader():
    conn = psycopg.connect()
    got = conn.execute("select pg_try_advisory_lock(%s)", [LOCK]).fetchone()[0]
    if not got:
        return
    scheduler.add_job(report, "cron", day_of_week="mon", max_instances=1, misfire_grace_time=60)
    scheduler.start()
