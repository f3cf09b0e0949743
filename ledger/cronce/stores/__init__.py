"""Storage of rows: one small interface, and an adapter per technology.

- `store`: the interface, with its contract
- `codec`: record <-> item, the plain form that every adapter keeps
- `memory`, `sqlite`, `postgres`, `redis`, `dynamo`: the adapters
- `urls`: `dynamodb://runs?region=eu-west-1` -> an adapter
"""
