"""What everybody says alike; it imports nothing of ours: errors, names, durations, policy, states, exit codes, ..."""
