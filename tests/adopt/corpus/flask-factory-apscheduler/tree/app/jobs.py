from app.extensions import db, scheduler


@scheduler.task("cron", id="expire_trials", hour=2, max_instances=1, misfire_grace_time=300)
def expire_trials():
    with scheduler.app.app_context():
        db.session.execute("update trials set expired = true where ends < now()")
