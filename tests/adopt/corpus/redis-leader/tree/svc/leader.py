import threading
import time
import uuid

import redis


class Leader:
    """Holds a key as long as this process lives."""

    def __init__(self, url):
        self.redis = redis.from_url(url)
        self.me = str(uuid.uuid4())

    def acquire(self):
        return self.redis.set("svc:leader", self.me, nx=True, ex=30)

    def keep(self):
        while True:
            self.redis.expire("svc:leader", 30)
            time.sleep(10)

    def keep_alive(self):
        threading.Thread(target=self.keep, daemon=True).start()
