from meetings import schedule
from meetings.cron_parser import parse

# schedule.every().day.at("06:00").do(send)
EXAMPLE = """
import schedule
schedule.every().day.do(job)
"""


def show(request):
    return schedule.schedule.every(request.GET["day"]), parse("0 6 * * *")
