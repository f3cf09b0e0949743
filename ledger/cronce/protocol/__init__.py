"""All rules about a run, without clock, network or threads.

- `transitions`: the states of a run and every change between them
- `records`: what a row holds, and whether its owner is alive
- `requests`: what a claimant asks for, and the answers that are not a claim
- `operations`: what an operation may ask of the world
- `claiming`: acquire a run, or say why not
- `overlap`: acquire the job, so that two runs of it never overlap
- `groups`: acquire the job's exclusion group
- `holding`: what the holder of a run does: renew, checkpoint, finish
- `effects`: what an attempt notes about its effects and steps
- `observing`: what others do to a run: mark it lost, missed or stopped, release it
- `retrying`: whether a machine starts the next attempt, and after which delay
"""
