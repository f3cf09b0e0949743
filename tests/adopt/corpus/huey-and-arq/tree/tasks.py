from huey import RedisHuey, crontab

huey = RedisHuey("shop")


@huey.periodic_task(crontab(hour="6", minute="0"))
def digest():
    ...
