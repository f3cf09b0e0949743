"""The ways to work under a claim: a function, a command, a pinned command."""
