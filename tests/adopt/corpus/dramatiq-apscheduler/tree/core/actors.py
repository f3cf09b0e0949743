import dramatiq


@dramatiq.actor
def recount():
    ...
