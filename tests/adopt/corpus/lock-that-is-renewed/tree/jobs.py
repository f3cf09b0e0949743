def with_lock(redis, work):
    lock = redis.lock("daily-report", timeout=30)
    if lock.acquire(blocking=False):
        for part in work:
            part()
            lock.extend(30)
