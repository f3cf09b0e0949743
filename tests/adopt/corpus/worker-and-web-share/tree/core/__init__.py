from core.clock import scheduler

scheduler.start()
