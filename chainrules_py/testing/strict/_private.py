"""What is used of array_api_strict beside the standard: its class, and the memory inside.

Its arrays have no public class and no public buffer. Both are found by public functions where the
private names are missing; operators with a tracer on their right side raise then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import array_api_strict as xp
import numpy as np

if TYPE_CHECKING:
    from array_api_strict._array_object import Array

    Strict = Array
else:
    Strict = type(xp.asarray(0.0))
CHECK = "_check_type_device"
"""The method by which operators look at their other side."""


def buffer(x: Any) -> Any:
    """Return NumPy's array inside of a strict one: its own memory."""
    return x._array if hasattr(x, "_array") else np.from_dlpack(x)
