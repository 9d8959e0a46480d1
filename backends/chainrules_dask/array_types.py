"""Registration of Dask's arrays: their namespace, and the detection of writes."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np

from chainrules_dask import namespace
from chainrules_py import NotDifferentiableError
from chainrules_py.extend import Library, Memory, kind_of, register_array_type


def check_known(shape: Any) -> None:
    """Raise for a length that is unknown before computing.

    Raises
    ------
    NotDifferentiableError
        With what to write.
    """
    if any(math.isnan(n) for n in shape):
        raise NotDifferentiableError(
            f"a Dask array of shape {tuple(shape)} has chunks of unknown size, so the shape of "
            f"its derivative is unknown; write x = x.compute_chunk_sizes() before differentiating, "
            f"or np.where(mask, x, 0) in place of x[mask]"
        )


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Return x, copied if it is one of `theirs`: a write to a Dask array affects no other."""
    return x.copy() if any([x is y for y in theirs]) else x


def fingerprint(x: Any, full: bool) -> Any:
    """Return its name, which changes with each write; nothing is computed."""
    check_known(x.shape)
    kind_of(x._meta)  # raises for chunks of a class that is refused, as masked arrays are
    return x.name


# Tasks run wherever the scheduler decides, and chunks are on the device of their library.
register_array_type(
    da.Array,
    Library(
        namespace,
        devices=False,
        by_operations=True,
        reads=(np.ndarray,),
        own=own,
        memory=Memory(
            owner=lambda x: x,
            layout=lambda x: None,
            laid_out=lambda x, like: x,
            fingerprint=fingerprint,
        ),
    ),
)
