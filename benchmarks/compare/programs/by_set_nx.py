"""Redis `SET NX EX`: one key for the job that its owner deletes, or one key per tick that stays."""

from __future__ import annotations

import os
import uuid

import redis
from story import clock, work

REDIS = redis.Redis.from_url(os.environ["STORY_URL"], socket_timeout=2)
PER_TICK = os.environ["STORY_KEY"] == "tick"
RELEASE = REDIS.register_script("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end")


def fire(tick: int) -> None:
    """Work if the key is ours."""
    if PER_TICK:
        if REDIS.set(f"tick:{tick}", "", nx=True, ex=600):
            work(tick)
        return
    token = uuid.uuid4().hex
    if REDIS.set("lock:tick", token, nx=True, ex=4):
        try:
            work(tick)
        finally:
            RELEASE(keys=["lock:tick"], args=[token])


clock(fire)
