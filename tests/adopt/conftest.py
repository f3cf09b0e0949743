"""What is not collected here."""

collect_ignore = ["corpus"]
"""Projects of the corpus have tests of their own, which are never run."""
