threads 1, 5
