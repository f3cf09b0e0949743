"""What the deployed stack and its deployer call things; importing it loads no CDK."""

STACK = "CronceEndToEnd"

IMAGE = "E2E_IMAGE"
"""The environment variable that names the digest's image to the stack."""
