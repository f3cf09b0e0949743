"""What the commands for people print."""
