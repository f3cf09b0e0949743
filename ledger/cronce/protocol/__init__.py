"""The ledger's rules, pure: records, states, and operations as generators over one primitive.

- `states`: the states of a run and every change between them
- `records`: what a row says
- `operations`: the questions an operation may ask of the world
- `claiming`: take a run, or say why not
- `slot`: take the job, so that two runs of it never overlap
- `holding`: what the holder of a run does: renew, checkpoint, finish
- `observing`: what others do to a run: mark it lost, release it
"""
