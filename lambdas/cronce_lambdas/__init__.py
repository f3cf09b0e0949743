"""What reacts to ECS and to time, as AWS Lambda functions over the ledger.

- `recorder`: a task stopped -> its run is settled
"""
