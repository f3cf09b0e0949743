from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.cron import CronTrigger

from core.actors import recount


def main():
    scheduler = BlockingScheduler()
    scheduler.add_job(recount.send, CronTrigger.from_crontab("0 * * * *"), max_instances=1, misfire_grace_time=60)
    try:
        scheduler.start()
    except KeyboardInterrupt:
        scheduler.shutdown()


if __name__ == "__main__":
    main()
