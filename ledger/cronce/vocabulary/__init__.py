"""Words that every room uses: errors, names, durations, policy, states, exit codes. Imports no other room."""
