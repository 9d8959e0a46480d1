"""Gradients of sums over blocks: each block is differentiated where it is, then summed by a tree.

The tree depends on the number of blocks only. The order in which blocks finish, their machine, and
repeated tasks change no bit of the result.
"""

from __future__ import annotations

import contextlib
import importlib
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import dask.array as da
import dask.config
from dask.delayed import Delayed, delayed

from chainrules_py import NotDifferentiableError, Tangent, TracerError, ZeroTangent
from chainrules_py.extend import (
    accumulate,
    default_engine,
    describe,
    fields_of,
    find_tracers,
    is_structure_type,
    rebuild,
)

if TYPE_CHECKING:
    DaskArray: TypeAlias = Any
else:
    DaskArray = da.Array


def map_reduce_grad(
    loss: Callable[..., Any],
    params: Any,
    blocks: Any,
    *,
    engine: Any = None,
    has_aux: bool = False,
    fan_in: int = 8,
    client: Any = None,
    progress: bool | None = None,
) -> Any:
    """Compute the value and gradient of a sum of losses over blocks, on Dask's workers.

    Parameters
    ----------
    loss : callable
        ``loss(params, *block)`` returns one real number: the contribution of a block. Terms that
        are not sums over blocks, such as a penalty on the parameters, are added afterwards.
    params
        An array, a number, or a structure of them, of any shapes. It is sent with the graph.
    blocks : iterable, dask.array.Array, or tuple of dask.array.Array
        Dask arrays are cut along their first axis, as the first one is (see `row_blocks`).
        Otherwise one entry per block: a tuple of arguments, or one argument; each may be delayed,
        or a future, so that a block is loaded or made where it is used.
    engine : optional
        What differentiates one block: anything with a ``value_and_grad`` like the tape's, for
        instance `jax`. By default the installed engine.
    has_aux : bool
        Whether loss returns ``(value, aux)``.
    fan_in : int
        The number of partial sums that each sum of the tree has.
    client : distributed.Client, optional
        Where to compute; by default Dask's current client or scheduler.
    progress : bool, optional
        Whether to show a progress bar; by default if the standard error stream is a terminal.

    Returns
    -------
    value
        The sum of the losses; with ``has_aux``, ``(value, aux)``, where aux is the list of the
        results of the blocks, in order.
    gradient
        The sum of the gradients, in the structure of ``params``.

    Raises
    ------
    NotDifferentiableError
        If there are no blocks, no engine, or ``engine`` has no suitable ``value_and_grad``.
    PicklingError, TracerError
        If something that workers need cannot be sent; nothing is sent then.
    TypeError
        If only some arrays of a tuple are Dask's, or blocks, parameters or the client have a wrong
        type.
    ValueError
        If ``fan_in`` is no integer of at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.arange(6.0), 2 * np.arange(6.0)
    >>> blocks = [(x[:2], y[:2]), (x[2:4], y[2:4]), (x[4:], y[4:])]
    >>> value, gradient = map_reduce_grad(
    ...     lambda w, x, y: np.sum((w * x - y) ** 2), 1.0, blocks, progress=False
    ... )
    >>> float(value), float(gradient)
    (55.0, -110.0)
    """
    if not isinstance(fan_in, SupportsIndex) or operator.index(fan_in) < 2:
        raise ValueError(f"fan_in={fan_in!r}: a sum of the tree has at least 2 parts")
    if engine is None and (engine := default_engine()) is None:
        raise NotDifferentiableError(
            "no engine is installed to differentiate a block with; pass engine="
        )
    if not callable(getattr(engine, "value_and_grad", None)):
        raise NotDifferentiableError(
            f"engine={engine!r} has no value_and_grad to differentiate a block with; pass a module "
            f"that has it, as chainrules_tape and jax do"
        )
    if isinstance(params, Delayed):
        raise TypeError(
            "the parameters are delayed, and are sent as they are; write params.compute()"
        )
    if client is not None and not hasattr(client, "gather"):
        raise TypeError(f"client={client!r} computes nothing; pass a distributed.Client")
    found = _Job(engine, loss, has_aux)
    found.gradient()
    arguments = _arguments(blocks)
    if not arguments:
        raise NotDifferentiableError(
            "map_reduce_grad was given no block, so there is nothing to differentiate"
        )
    client = _default_client() if client is None else client
    if client is not None or _scheduler() in ("processes", "multiprocessing"):
        pickles = "cloudpickle" if client is None else "distributed.protocol.pickle"
        dumps = importlib.import_module(pickles).dumps
        sent = {"engine": engine, "loss": loss, "parameters": params}
        _check_sent(dumps, sent, arguments)
    job = delayed(found, traverse=False)
    shared = delayed(_Kept(params), traverse=False)
    parts = [delayed(_differentiate)(job, shared, *block) for block in arguments]
    value, gradient, aux = _run(_tree(parts, fan_in), client, progress)
    return ((value, aux) if has_aux else value), gradient


def row_blocks(*arrays: DaskArray) -> list[tuple[Delayed, ...]]:
    """Cut Dask arrays along their first axis, as the first one is.

    Parameters
    ----------
    *arrays : dask.array.Array
        Arrays of equal length.

    Returns
    -------
    list of tuple of Delayed
        For each chunk, the blocks of all arrays; other axes are whole.

    Raises
    ------
    ValueError
        If an array has no axes, or the lengths differ.

    Examples
    --------
    >>> x, y = da.ones((6, 2), chunks=(2, 1)), da.zeros(6, chunks=3)
    >>> [[part.compute().shape for part in block] for block in row_blocks(x, y)]
    [[(2, 2), (2,)], [(2, 2), (2,)], [(2, 2), (2,)]]
    """
    if not all([x.ndim for x in arrays]):
        raise ValueError(
            "an array without axes cannot be cut into blocks; pass it to the loss by itself"
        )
    first, columns = arrays[0], []
    for x in arrays:
        whole = (
            x if max((1, *x.numblocks[1:])) == 1 else x.rechunk(dict.fromkeys(range(1, x.ndim), -1))
        )
        if not _cut_alike(whole, first):
            if x.shape[0] != first.shape[0]:
                raise ValueError(f"blocks of arrays of lengths {first.shape[0]} and {x.shape[0]}")
            whole = whole.rechunk({0: first.chunks[0]})
        columns.append(whole)
    # Not optimized: otherwise each block would fuse, and repeat, the tasks that they share.
    parts = [x.to_delayed(optimize_graph=False).reshape(-1).tolist() for x in columns]
    return list(zip(*parts, strict=True))


def _cut_alike(x: Any, y: Any) -> bool:
    """Return whether two arrays have the same first chunks, or equally many of unknown size."""
    if x.chunks[0] == y.chunks[0]:
        return True
    unknown = any([n != n for n in (*x.chunks[0], *y.chunks[0])])
    return unknown and x.numblocks[0] == y.numblocks[0]


def _arguments(blocks: Any) -> list[tuple[Any, ...]]:
    if isinstance(blocks, da.Array):
        return row_blocks(blocks)
    if type(blocks) is tuple and blocks and all([isinstance(x, da.Array) for x in blocks]):
        return row_blocks(*blocks)
    if type(blocks) is tuple and any([isinstance(x, da.Array) for x in blocks]):
        kinds = ", ".join([type(x).__name__ for x in blocks])
        raise TypeError(
            f"blocks are a tuple of ({kinds}), of which only some are Dask's arrays, to be cut "
            f"alike; write da.from_array(y, chunks=x.chunks[0]), or a list with a tuple for each "
            f"block"
        )
    if not isinstance(blocks, Iterable):
        raise TypeError(
            f"blocks={blocks!r}: write a list with an entry for each block, or an array of Dask's"
        )
    return [block if type(block) is tuple else (block,) for block in blocks]


# --------------------------------------------------------------------------- what workers run


class _Kept:
    """Parameters that Dask must not inspect: it would take a list for a list of tasks."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Job:
    """Differentiation of one block, which is sent once for all blocks."""

    def __init__(self, engine: Any, loss: Callable[..., Any], has_aux: bool) -> None:
        self.engine = engine
        self.loss = loss
        self.has_aux = has_aux

    def gradient(self) -> Callable[..., Any]:
        """Return the function for value and gradient of a block; raise if the engine has none."""
        options = {"has_aux": True} if self.has_aux else {}
        try:
            found: Callable[..., Any] = self.engine.value_and_grad(self.loss, **options)
        except TypeError as error:
            raise NotDifferentiableError(
                f"engine={self.engine!r} takes no value_and_grad(loss, **{options}): {error}"
            ) from error
        if callable(found):
            return found
        raise NotDifferentiableError(
            f"value_and_grad of engine={self.engine!r} gave {describe(found)}, not a function"
        )

    def __call__(self, params: Any, *block: Any) -> tuple[Any, Any, list[Any]]:
        """Compute the value and gradient of a block, and its auxiliary results."""
        found = self.gradient()(params, *block)
        if type(found) is not tuple or len(found) != 2:
            raise NotDifferentiableError(
                f"value_and_grad of engine={self.engine!r} computed {describe(found)} of a block, "
                f"which is not a pair of a value and a gradient"
            )
        value, gradient = found
        value, aux = (value[0], [value[1]]) if self.has_aux else (value, [])
        return value, gradient, aux


def _differentiate(job: _Job, params: _Kept, *block: Any) -> tuple[Any, Any, list[Any]]:
    return job(params.value, *block)


def _add_up(*parts: tuple[Any, Any, list[Any]]) -> tuple[Any, Any, list[Any]]:
    """Sum values and gradients, from the first to the last."""
    values, gradients, aux = zip(*parts, strict=True)
    return _total(values), _total(gradients), [x for list_ in aux for x in list_]


def _total(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if is_structure_type(type(first)) and not isinstance(first, Tangent):
        fields = zip(*[[t for _, t in fields_of(part)] for part in parts], strict=True)
        return rebuild(first, [_total(field) for field in fields])
    total: Any = ZeroTangent()
    owned: Any = False
    for part in parts:  # only sums made here change in place: the scheduler owns the parts
        total, owned = accumulate(total, part, owned)
    return total


# ---------------------------------------------------------------------------------- the graph


def _tree(parts: list[Delayed], fan_in: int) -> Delayed:
    add = delayed(_add_up)
    while True:
        parts = [add(*parts[i : i + fan_in]) for i in range(0, len(parts), fan_in)]
        if len(parts) == 1:
            return parts[0]


def _run(total: Delayed, client: Any, progress: bool | None) -> Any:
    shown = sys.stderr.isatty() if progress is None else progress
    try:
        if client is None:
            bar: Any = contextlib.nullcontext()
            if shown:
                bar = importlib.import_module("dask.diagnostics").ProgressBar()
            with bar:
                return total.compute()
        future = client.compute(total)
        if shown:
            importlib.import_module("distributed").progress(future, notebook=False)
        return client.gather(future)
    except TypeError as error:
        if not any([said in str(error) for said in ("Could not serialize", "cannot pickle")]):
            raise
        raise PicklingError(
            f"what the loss returns cannot be sent back by a worker: {str(error).splitlines()[0]}"
        ) from error


def _scheduler() -> Any:
    return dask.config.get("scheduler", None)


_SENT = {"numpy", "dask", "distributed"}
"""Libraries whose arrays, delayed values and futures can be sent."""


def _check_sent(
    dumps: Callable[..., Any], by_name: Mapping[str, Any], blocks: Sequence[tuple[Any, ...]]
) -> None:
    """Raise for what cannot be sent to the workers, before anything is sent."""
    if find_tracers(by_name["parameters"]):
        raise TracerError(
            "the parameters are being differentiated in this process, and are to be sent to "
            "workers; map_reduce_grad gives the gradient itself, of plain parameters"
        )
    parts = {
        f"block of index {k}": block
        for k, block in enumerate(blocks)
        if not {type(x).__module__.partition(".")[0] for x in block} <= _SENT
    }
    for what, sent in (*by_name.items(), *parts.items()):
        try:
            # Buffers of arrays are not copied into the stream.
            dumps(sent, protocol=5, buffer_callback=lambda _: None)
        except Exception as error:
            raise PicklingError(
                f"the {what} of map_reduce_grad cannot be sent to workers: {error}"
            ) from error


def _default_client() -> Any:
    """Return the client that Dask would use; None if there is none or another is configured."""
    distributed = sys.modules.get("distributed")
    if distributed is None or _scheduler() not in (None, "dask.distributed"):
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None
