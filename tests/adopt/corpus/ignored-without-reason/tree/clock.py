import schedule

schedule.every().day.do(send)  # cronce: ignore[schedule]
