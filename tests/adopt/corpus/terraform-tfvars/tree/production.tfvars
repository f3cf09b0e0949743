worker_count = 3
