"""What each name of a finding means: for SARIF, for `ignore` comments and for the documents."""

from __future__ import annotations

from cronce.adopt.audit.rules import every_rule

FINDINGS = {
    "clock-in-copies": "A clock runs in every copy of a service, so its jobs start once per copy.",
    "clock-perhaps-in-copies": "A clock may run in a service that has several copies.",
    "clock-in-services": "A clock runs in several services that are deployed together.",
    "clock-in-web-process": "A clock runs inside the web process of a service.",
    "clock-doubles-in-deployment": "A clock runs in two copies while a deployment replaces one by the other.",
    "clock-kept-by-one-line": "A clock runs once because one line says so.",
    "clock-without-service": "A clock runs in every process that loads it, and nothing here says how many there are.",
    "clock-with-own-lock": "A clock has a lock or a cluster mode of its own.",
    "overlap-not-stated": "Nothing states whether a run may start while the last one works.",
    "deadline-not-stated": "Nothing states how late a run may start.",
    "period-from-now": "A job asks the clock which period it is for.",
    "no-unique-key": "A table of runs has no unique key on the job and the period.",
    "retries-not-stated": "Nothing states how often a failed run is tried again.",
    "lock-with-guessed-time": "A lock around scheduled work expires after a fixed time.",
    "clock-started-by-web-app": "A clock is started by the file that makes the web application.",
    "job-not-reachable": "A job cannot be started again by a person.",
    "not-read": "A file, or a part of one, could not be read.",
    "ignore-incomplete": "A comment that ignores findings gives no rule or no reason.",
    "ignore-unknown-rule": "A comment ignores a rule that does not exist.",
}
"""One sentence for each."""


def known_names() -> frozenset[str]:
    """Every name that an `ignore` comment may have: of findings, and of the tools that were found."""
    return frozenset(FINDINGS) | {rule.id for rule in every_rule()}
