import schedule
from app.digest import send

schedule.every().day.do(send)
