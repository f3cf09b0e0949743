from croniter import croniter


def digest(event, context):
    return croniter("0 6 * * *").get_next()
