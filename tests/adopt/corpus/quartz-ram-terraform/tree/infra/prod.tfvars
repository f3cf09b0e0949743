api_count = 4
