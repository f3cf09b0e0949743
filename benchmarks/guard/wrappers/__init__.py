"""Guards of a command, as people write them: `python by_boto3.py KEY COMMAND...`.

Each takes the key in DynamoDB, runs the command, and records its end; or exits 0 at once because
another process has the key. They do not depend on each other or on the benchmark.
"""
