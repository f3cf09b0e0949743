"""What the guard costs, compared with what people use today: one command, one run, everything interleaved.

- `__main__`: `python -m benchmarks.guard`; makes the environment, runs the parts, writes the report
- `world`: DynamoDB Local, its tables, and the environment that contenders run in
- `starting`: processes from start to decision, their memory; imports
- `rates`: warm claim+complete cycles per second
- `contention`: many processes and one key
- `costs`: requests and capacity units
- `wrappers`: scripts that guard a command as people write them by hand
- `cycles`, `worker`: the same in a long-lived process, driven over its stdin
- `targets`, `report`, `plots`: figures -> met or not, tables, charts
"""
