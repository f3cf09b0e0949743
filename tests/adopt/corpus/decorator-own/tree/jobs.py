from lib.periodic import every


@every(hours=6)
def refresh():
    ...
