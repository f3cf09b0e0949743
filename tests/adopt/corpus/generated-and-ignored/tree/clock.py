import schedule

# cronce: ignore[schedule] one copy only: see deploy/clock.yml
schedule.every().day.do(send)
