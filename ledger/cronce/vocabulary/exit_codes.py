"""The exit codes of `cronce`, stable. Those of 64 and 69 are the ones of sysexits.h."""

REFUSED = 0
"""Somebody else does the work, or did it: nothing is wrong (`--refused-exit-code` changes it)."""

PROBLEM = 1
"""A command of a person could not do what it was asked, e.g. release a run that is not held, or rerun a success."""

USAGE = 64
"""A value from outside cannot be used; nothing was written."""

UNAVAILABLE = 69
"""The ledger, or the service that starts tasks, cannot be used; nothing was started."""

LEASE_LOST = 70
"""The claim was lost; the child was stopped, or its success could not be recorded."""

DEADLINE = 124
"""The active deadline is over; the child was stopped. The code of coreutils' `timeout`."""

NOT_EXECUTABLE = 126
NOT_FOUND = 127
"""The command cannot be started; the codes of a shell."""

BY_SIGNAL = 128
"""Plus the number of the signal that ended the child."""
