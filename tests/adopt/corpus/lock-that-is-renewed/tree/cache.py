def remember(redis, key, value):
    redis.set(key, value, ex=600)
    redis.set(f"session:{key}", value, nx=True, ex=3600)
