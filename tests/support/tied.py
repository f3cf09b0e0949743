"""Starts servers that end with their starter, also if that is killed."""

from __future__ import annotations

TIED_TO_STARTER = ("/bin/sh", "-c", 'exec 3<&0; (read -r _ <&3; kill $$ 2>/dev/null) & exec "$@" 3<&- </dev/null', "sh")
"""A prefix for a command, whose stdin must be a pipe to the starter.

A shell waits for the end of that pipe, then ends the command. `exec` makes the command the process that was started.
"""
