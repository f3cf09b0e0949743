"""Evidence that the protocol keeps its promises: it is run here, never modelled.

- `rules`: what must hold, as pure functions of rows; shared by all searches
- `processes`: the protocol's real generators as state machines that can be forked
- `actors`: what claimants, recorders, watchdogs and persons do, written with the real operations
- `interleavings`: every order of their steps, with crashes, lost answers, late writes and passing time
- `fleet`: seeded fleets over days of virtual time, through the real `Ledger`, `Claim` and `Driver`
- `machines`: the fleet with the real recorder and watchdog, over a simulated EventBridge and ECS
- `mutants`: single changes of the protocol, each of which must be caught
"""
