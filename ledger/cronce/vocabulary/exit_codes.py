"""The exit codes of `cronce`; they do not change. 64, 69, 71 and 75 are those of sysexits.h."""

REFUSED = 0
"""Another process does the work or has done it: no error (`--refused-exit-code` changes this code)."""

PROBLEM = 1
"""A person's command could not be carried out, for example to release a run that is not held, or rerun a success."""

USAGE = 64
"""A given value cannot be used; nothing was written."""

UNAVAILABLE = 69
"""The ledger, or the service that starts tasks, is unavailable; nothing was started."""

LEASE_LOST = 70
"""The claim was lost; the child was stopped, or its success could not be recorded."""

GUARD_FAILED = 71
"""The guard itself failed, for example without a free process or thread; the command was not started, or was stopped.

The run was given back, and the failure is not counted.
"""

TRY_LATER = 75
"""What a command under `cronce once` ends with if its effect certainly did not happen: EX_TEMPFAIL of sysexits.h."""

DEADLINE = 124
"""The active deadline passed; the child was stopped. The same code as coreutils' `timeout`."""

NOT_EXECUTABLE = 126
NOT_FOUND = 127
"""The command cannot be started; the same codes as a shell."""

BY_SIGNAL = 128
"""Plus the number of the signal that ended the child."""
