"""The command that `cronce clock` starts for a tick: it has the period in its environment."""

from __future__ import annotations

import os
from datetime import datetime

from story import work

work(int(datetime.fromisoformat(os.environ["CRONCE_PERIOD"]).timestamp()))
