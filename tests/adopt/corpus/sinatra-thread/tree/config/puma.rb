workers 3
threads 1, 5
