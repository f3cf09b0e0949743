"""One writer per target: from jobs to code."""
