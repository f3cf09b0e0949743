def parse(cron):
    """Explain `0 6 * * *` to people."""
    minute, hour, *_ = cron.split()
    return f"at {hour}:{minute}"
