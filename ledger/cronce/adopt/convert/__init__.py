"""`cronce import`: read the schedules of other tools, and write the jobs as code of cronce."""
