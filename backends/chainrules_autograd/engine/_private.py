"""The private names of autograd; no other module of this package uses one.

They are the parts of a box, to which autograd gives no public access.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from autograd.extend import Box
    from autograd.numpy.numpy_boxes import ArrayBox
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"chainrules_autograd needs autograd ({error}): pip install 'chainrules-py[autograd]'",
        name=error.name,
    ) from error

from chainrules_py.extend import ContractError

value: Callable[[Box], Any] = operator.attrgetter("_value")
"""The value of a box, which may be a box of an outer trace."""
trace: Callable[[Box], int] = operator.attrgetter("_trace")
"""The number of the trace of a box."""
node: Callable[[Box], Any] = operator.attrgetter("_node")
"""The node of a box in the graph of its trace."""


def check() -> None:
    """Raise unless boxes have the parts that are read here.

    Raises
    ------
    ContractError
        Names the supported versions.
    """
    x = np.ones(1)
    with contextlib.suppress(AttributeError, TypeError):
        box = ArrayBox(x, 1, None)
        if value(box) is x and trace(box) == 1 and node(box) is None:
            return
    raise ContractError(
        "chainrules_autograd reads the value, trace and node of autograd's boxes, and this "
        "version has others: pip install 'autograd>=1.7,<1.10'"
    )


check()
