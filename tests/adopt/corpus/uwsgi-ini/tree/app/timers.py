from uwsgidecorators import cron


@cron(30, 4, -1, -1, -1)
def purge(signum):
    ...
