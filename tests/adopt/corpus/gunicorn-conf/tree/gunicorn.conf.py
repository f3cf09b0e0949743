bind = "0.0.0.0:8000"
workers = 4


def when_ready(server):
    from jobs import start
    start()
