"""One switch for the looks into people's code and state, which are off by default.

`CHAINRULES_LOOKS=1` turns them on again where a package still has them; they leave with it.
"""

from __future__ import annotations

import os

LOOKS = os.environ.get("CHAINRULES_LOOKS") == "1"
"""Whether what people's functions look up is searched and compared at each call."""
