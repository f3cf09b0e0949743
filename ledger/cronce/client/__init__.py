"""The ledger for programs: `Ledger`, `Claim`, leadership, the settings of a task, and time."""
