"""The ledger as a program uses it: `Ledger`, `Claim`, leadership, the settings of a task, and time."""
