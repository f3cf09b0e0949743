import dramatiq
from dramatiq.brokers.redis import RedisBroker
from periodiq import PeriodiqMiddleware, cron

broker = RedisBroker()
broker.add_middleware(PeriodiqMiddleware(skip_delay=30))
dramatiq.set_broker(broker)


@dramatiq.actor(periodic=cron("0 5 * * *"))
def rebuild():
    ...
