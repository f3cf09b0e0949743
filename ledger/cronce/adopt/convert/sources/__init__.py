"""One reader per kind of file: from text to jobs, with a decision about each field."""
