"""Support of an engine for a call, determined by running each transformation on the call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from chainrules_kit.call_resolution import Support
from chainrules_kit.transformation_list import Transformations, total_of
from chainrules_py import NoRuleError
from chainrules_py import ops as v
from chainrules_py.extend import flatten, kind_of, unflatten


def supported(
    exported: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    transformations: Transformations,
    *,
    plain: Callable[..., Any] | None = None,
    is_constant: bool = False,
    compiled: tuple[str, ...] = (),
) -> Support:
    """Run the transformations of an engine on a call; one that raises is not supported.

    Parameters
    ----------
    exported : callable
        The function that an adapter's `export` returned.
    operands, options
        The arguments of the call: all differentiable numbers in the operands are varied.
    transformations : Transformations
        The transformations of the engine.
    plain : callable, optional
        Returns the values of the exported function, if those cannot be inspected.
    is_constant : bool
        Whether the rules state that no derivative flows.
    compiled : tuple of str
        The names of the transformations that compile: of the value, then of derivatives.

    Returns
    -------
    Support
        The support; of order 0 if the value itself cannot be computed.
    """
    table = transformations.table
    z, f = _as_vector(exported, plain or exported, operands, options)
    asarray = transformations.asarray or np.asarray
    at, along = asarray(z), asarray(np.ones_like(z))

    def works(names: Iterable[str], quantify: Callable[[Iterable[bool]], bool] = all) -> bool:
        found = [_runs(table[name].run, f, at, along) for name in names if name in table]
        return bool(found) and quantify(found)

    with transformations.context():
        grad, jvp = works(("grad", "backward")), works(("jvp",))
        mapped = ("vmap", "vmap of grad") if grad else ("vmap",)
        order: float = int(grad or jvp)
        if order and works(("grad of grad", "jvp of grad", "grad of jvp"), any):
            order = math.inf if works(("grad of grad of grad", "third order"), any) else 2
        return Support(
            grad,
            jvp,
            works(mapped),
            works(compiled if grad else compiled[:1]),
            0 if is_constant else order,
        )


def _runs(run: Callable[..., Any], f: Callable[..., Any], *at: Any) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zero gradients, such as second ones of sums
            run(f, *at)
    except Exception:
        return False
    return True


def _as_vector(
    exported: Callable[..., Any],
    plain: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
) -> tuple[Any, Callable[[Any], Any]]:
    """Return the numbers of a call as a vector, and the function from it to the sum of results."""
    leaves, treedef = flatten(operands)
    moved = {i: x for i, x in enumerate(leaves) if kind_of(x) in ("real", "complex")}
    plain_ones = [x.tolist() if hasattr(x, "tolist") else x for x in moved.values()]
    parts = [np.real(np.ravel(x)).astype(float) for x in plain_ones]
    z = np.concatenate(parts) if parts else np.zeros(0)

    try:
        kinds = [kind_of(y) for y in flatten(plain(*operands, **options))[0]]
    except Exception:
        kinds = []  # the tests will find that nothing is supported

    def of_vector(z: Any) -> Any:
        given, end = list(leaves), 0
        for (i, x), part in zip(moved.items(), parts, strict=True):
            start, end = end, end + part.size
            piece = z if len(parts) == 1 else z[start:end]
            piece = piece.reshape(np.shape(x))
            piece = piece * (1.0 + 0.0j) if kind_of(x) == "complex" else piece
            given[i] = _as(piece, x.dtype) if hasattr(x, "dtype") else piece
        total = 0.0 * z.sum()
        ys = flatten(exported(*unflatten(treedef, given), **options))[0]
        for y, kind in zip(ys, kinds, strict=True):
            if kind in ("real", "complex"):
                total = total + total_of(v.real(y) if kind == "complex" else y)
        return total

    return z, of_vector


def _as(x: Any, dtype: Any) -> Any:
    """Convert numbers to a dtype, by their method if no operation accepts them."""
    if str(x.dtype).rpartition(".")[2] == str(dtype).rpartition(".")[2]:  # torch.float64, too
        return x
    try:
        return v.astype(x, dtype=dtype)
    except NoRuleError:
        return x.astype(dtype)
