"""The shared ledger: an Amazon DynamoDB table.

- `store`: `DynamoStore`, one conditional PutItem a swap
- `attributes`: item <-> DynamoDB's attribute values, and the condition of a swap
- `transport`: how a request gets to DynamoDB, and which of the two ways is taken
- `signed_http`: the lean way, the standard library alone; `sigv4` and `credentials` belong to it
- `sdk`: botocore, for everything the lean way does not know
"""

from cronce.stores.dynamo.store import DynamoStore

__all__ = ["DynamoStore"]
