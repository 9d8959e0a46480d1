"""Names of array_api_strict beyond the standard: the class of its arrays, and their buffer.

Its arrays have no public class and no public buffer. If the private names are missing, public
functions replace them; operators with a tracer on their right side raise then.
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
"""The method by which operators check their other operand."""


def buffer(x: Any) -> Any:
    """Return the NumPy buffer of a strict array, without a copy."""
    return x._array if hasattr(x, "_array") else np.from_dlpack(x)
