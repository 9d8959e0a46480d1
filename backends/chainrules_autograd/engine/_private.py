"""The names of autograd's that are not public, and nothing else: no other module here uses one.

They are what a box consists of, and autograd gives no other way to it.
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
    msg = f"chainrules_autograd needs autograd ({error}): pip install 'chainrules-py[autograd]'"
    raise ModuleNotFoundError(msg, name=error.name) from error

from chainrules_py.extend import ContractError

value: Callable[[Box], Any] = operator.attrgetter("_value")
"""What a box stands for, which may be a box of an outer trace."""
trace: Callable[[Box], int] = operator.attrgetter("_trace")
"""The number of the trace that a box belongs to."""
node: Callable[[Box], Any] = operator.attrgetter("_node")
"""Where a box stands in the graph of its trace."""


def check() -> None:
    """Raise unless boxes are made as they are read here.

    Raises
    ------
    ContractError
        It names the versions that are known to work.
    """
    x = np.ones(1)
    with contextlib.suppress(AttributeError, TypeError):
        box = ArrayBox(x, 1, None)
        if value(box) is x and trace(box) == 1 and node(box) is None:
            return
    msg = (
        "chainrules_autograd reads the value, trace and node of autograd's boxes, and this "
        "version has others: pip install 'autograd>=1.7,<1.10'"
    )
    raise ContractError(msg)


check()
