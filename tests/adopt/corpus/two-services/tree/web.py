import jobs
