"""The emulated AWS with real containers: deploy, fire, kill, look. `python -m tests.e2e` runs it all."""
