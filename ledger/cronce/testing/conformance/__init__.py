"""What every store of a ledger must do: tests for pytest, which get the store from your fixture `lab`.

    from cronce.testing.conformance import *

imports all of them; each module alone is a part.

- `writes`, `listing`: the contract of `cronce.stores.store.Store`
- `claims`, `overlaps`, `groups`: the protocol through `Ledger`
- `effects`: effects and steps through `Claim`
"""

from cronce.testing.conformance.claims import *  # noqa: F403
from cronce.testing.conformance.effects import *  # noqa: F403
from cronce.testing.conformance.groups import *  # noqa: F403
from cronce.testing.conformance.lab import Lab as Lab
from cronce.testing.conformance.listing import *  # noqa: F403
from cronce.testing.conformance.overlaps import *  # noqa: F403
from cronce.testing.conformance.writes import *  # noqa: F403
