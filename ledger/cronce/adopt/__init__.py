"""Bring scheduled work to cronce: find it in a project, convert what describes it, start a new project."""
