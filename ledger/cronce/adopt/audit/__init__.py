"""`cronce audit`: find the clocks in a project and how many copies of each run."""
