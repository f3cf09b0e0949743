"""The version. pyproject.toml reads it from here; the portable folder has no package metadata."""

VERSION = "0.1.0"
