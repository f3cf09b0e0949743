import os


def flag(name, default="false"):
    return os.environ.get(name, default).lower() in ("1", "true", "yes")


SCHEDULER_ENABLED = flag("SCHEDULER_ENABLED")
