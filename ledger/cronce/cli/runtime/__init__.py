"""The commands that run beside the work, on the standard library alone: exec, pin, clock, health, checkpoint."""
