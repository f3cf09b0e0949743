"""Starts servers that never outlive whoever started them, not even one that was killed."""

from __future__ import annotations

TIED_TO_STARTER = ("/bin/sh", "-c", 'exec 3<&0; (read -r _ <&3; kill $$ 2>/dev/null) & exec "$@" 3<&- </dev/null', "sh")
"""Put before a command, whose stdin is then a pipe that only the starter holds the other end of.

A shell waits for the end of that pipe, then ends the command. `exec` makes the command the process
that was started.
"""
