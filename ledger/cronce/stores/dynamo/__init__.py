"""The shared ledger: an Amazon DynamoDB table.

- `store`: `DynamoStore`, one conditional write per swap or take; it chooses one of the two transports
- `attributes`: item <-> DynamoDB's attribute values, and the condition of a swap
- `transport`: the port for sending a request
- `signed_http`: the lean transport, the standard library alone (`cronce.aws.http`, `sigv4`, `credentials`)
- `sdk`: botocore, for every setting that the lean transport does not support
- `reading`: whether what came back is an answer of DynamoDB; the same for both transports
"""

from cronce.stores.dynamo.store import DynamoStore

__all__ = ["DynamoStore"]
