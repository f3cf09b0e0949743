"""What the commands for people do, without a terminal."""
