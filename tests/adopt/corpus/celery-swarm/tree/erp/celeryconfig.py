beat_schedule = {
    "close-books": {"task": "erp.tasks.close_books", "schedule": 86400.0},
}
