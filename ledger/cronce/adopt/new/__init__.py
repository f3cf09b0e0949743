"""`cronce new`: the files of a small project that can be deployed."""
