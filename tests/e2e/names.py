"""What the deployed stacks and their deployer call things; importing it loads no CDK."""

STACK = "CronceEndToEnd"
HUNDRED = "CronceHundred"
"""A hundred jobs in one stack, with a ledger of their own."""

IMAGE = "E2E_IMAGE"
BEATS_IMAGE = "E2E_BEATS_IMAGE"
"""The environment variables that name the images of the digest and of Celery to the stacks."""

GUARD_IMAGE = "cronce-e2e/guard:latest"
LANGUAGES_IMAGE = "cronce-e2e/languages:latest"
STATIC_IMAGE = "cronce-e2e/static:latest"
"""The portable folder; Ruby and Node.js without Python; one static binary and nothing else."""

WITHOUT_PYTHON = {
    "ruby-digest": (LANGUAGES_IMAGE, ("ruby", "digest.rb")),
    "node-digest": (LANGUAGES_IMAGE, ("node", "digest.js")),
    "static-digest": (STATIC_IMAGE, ("/digest",)),
}
"""The digests whose images have no Python: image and command."""

DIGESTS = ("daily-digest", "shell-digest")
CHORE = "chore"
"""A job that does nothing, quickly."""

GONE = "gone-image"
"""A job whose image does not exist."""

UNWATCHED, CAUGHT_UP, PAUSED = "unwatched", "caught-up", "paused"
"""Jobs that are due each minute, and whose ticks nobody delivers. The ticks of the second are caught up."""

CLOCK, CLOCK_JOB, CLOCK_SECONDS = "clock", "pulse", 5
BEATS = "beats"
"""The pinned services: `cronce clock` with a job, and Celery's beat under `cronce pin`."""
