"""What the deployed stacks and their deployer call things; importing it loads no CDK."""

STACK = "CronceEndToEnd"
HUNDRED = "CronceHundred"
"""A hundred jobs in one stack, with a ledger of their own."""

IMPORTED, IMPORTED_FILES = "CronceImported", "E2E_IMPORTED"
"""A stack of jobs that `cronce import` wrote, and the environment variable with the paths of their modules."""

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
FIRSTS = "cron(0 6 1 * ? *)"
"""The further schedule of each: on the first of a month both schedules have the tick of 06:00."""

CHORE = "chore"
"""A job that does nothing, quickly."""

BROKEN = "broken"
"""A job that fails each time, unless a person starts it."""

GONE = "gone-image"
"""A job whose image does not exist."""
UNGUARDED = "unguarded"
"""A job that waits for a guard whose image fails: it does not contain the portable folder."""

SLEEPER, BARE, MISTYPED, LATE, OLD = "sleeper", "bare", "mistyped", "late", "old-revision"
"""Jobs to break: one that works for ten minutes, and is held when it is lost; one without the guard; one whose command
does not exist; one with a starting deadline; one whose task definition is its own."""

UNWATCHED, CAUGHT_UP, PAUSED = "unwatched", "caught-up", "paused"
"""Jobs that are due each minute, and whose ticks nobody delivers. The ticks of the second are caught up."""

CLOCK, CLOCK_JOB, CLOCK_SECONDS = "clock", "pulse", 5
BEATS = "beats"
"""The pinned services: `cronce clock` with a job, and Celery's beat under `cronce pin`."""
