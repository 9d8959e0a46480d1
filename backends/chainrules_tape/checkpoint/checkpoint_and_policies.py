"""Checkpointing: keep few values of a function for the gradient and recompute the others.

Under a policy, single calls are recomputed; the function itself does not run again.

While a function runs, its calls are kept with their operands. Afterwards the values that the
policy does not keep are released, and the records that read them hold references (`Recalled`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, Never, ParamSpec, TypeAlias, TypeVar, final

from chainrules_kit import making_again
from chainrules_py import MutationError
from chainrules_py.extend import (
    Tracer,
    closed_and_generators,
    describe,
    find_tracers,
    flatten,
    highest_tracer,
    is_structure_type,
    made,
    namespace_of,
    set_class,
    settled,
    type_info,
)
from chainrules_py.ops.engine_operations import read, sharing
from chainrules_tape.checkpoint.segment import Folds, Segment, folded
from chainrules_tape.core.bare_tape import BareTape, Notes
from chainrules_tape.core.variable import BareVariable, OnTape
from chainrules_tape.inspect.kept_calls import KeptCall
from chainrules_tape.rule_config import recorders

Save: TypeAlias = Literal["all", "nothing", "cheap", "mincut"] | Collection[str] | int
Packing: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def nbytes(x: Any) -> int:
    """Count the bytes of an array, or of a tracer's payload; 0 for anything else."""
    while isinstance(x, Tracer):
        x = x.__payload__
    if is_structure_type(type(x)):
        return sum(map(nbytes, flatten(x)[0]))
    return int(getattr(x, "nbytes", 0)) if type_info(type(x)).is_array else 0


def check_save(save: Save) -> None:
    """Raise if ``save`` is not a policy, or if it is "mincut" and SciPy is not installed."""
    is_listed = isinstance(save, Collection) and not isinstance(save, str)
    names = is_listed and all([isinstance(n, str) for n in save])  # type: ignore[union-attr]
    budget = type(save) is int and save >= 0
    if not (names or budget or save in ("all", "nothing", "cheap", "mincut")):
        raise ValueError(
            f"save={save!r}; write 'nothing', 'cheap', 'mincut' or 'all', a list of names, or a "
            f"number of bytes"
        )
    import importlib.util

    if save == "mincut" and importlib.util.find_spec("scipy") is None:
        raise ImportError(
            "save='mincut' asks SciPy for a maximal flow, and there is no SciPy here; install it, "
            "or write save='cheap'"
        )


@final
class Policy:
    """Policy that decides for each call, when it is recorded, whether its value is kept.

    Under a budget, expensive values are kept as long as they fit, and cheap ones at even distances.
    Each time the budget is full, every other cheap value is dropped, so that the number of calls
    need not be known in advance.

    Attributes
    ----------
    gone : list of int
        Indices of values that were kept and are to be dropped; the caller empties the list.
    cheap : set of int
        Indices of values that may be recomputed under a cut.
    sizes : dict
        From the index of each value that a cut may keep to its number of bytes.
    """

    __slots__ = ("cheap", "even", "gone", "left", "save", "seen", "sizes", "step")

    def __init__(self, save: Save) -> None:
        self.save, self.left = save, save if isinstance(save, int) else 0
        self.seen, self.step = 0, 1
        self.even: list[tuple[int, int]] = []
        self.gone: list[int] = []
        self.cheap: set[int] = set()
        self.sizes: dict[int, int] = {}

    def keeps(self, i: int, call: Any, record: tuple[Any, ...], label: str | None) -> bool:
        """Return whether the value of a call is kept."""
        save = self.save
        if save == "mincut":  # decided in `settle`, when all calls are known
            self.sizes[i] = nbytes(call.value)
            if _is_operation(call) and _is_cheap(record):
                self.cheap.add(i)
            return i not in self.cheap
        if save == "all" or not _is_operation(call):
            self.left -= nbytes(call.value)
            return True
        cheap = _is_cheap(record)
        if save == "cheap":
            return not cheap
        if not isinstance(save, int):
            return label is not None and label in save
        size = nbytes(call.value) + (0 if cheap else _beside(record, call))
        if not cheap:
            self._thin(size)
            fits = size <= self.left
            self.left -= size if fits else 0
            return fits
        self.seen += 1
        if not size or self.seen % self.step:
            return False
        self.even.append((i, size))
        self.left -= size
        self._thin(0)
        return self.even[-1:] == [(i, size)]

    def _thin(self, size: int) -> None:
        """Drop every other evenly kept value until ``size`` bytes of the budget are left."""
        while self.left < size and self.even:
            gone, self.even = self.even[::2], self.even[1::2]
            self.step *= 2
            self.left += sum([n for _, n in gone])
            self.gone += [i for i, _ in gone]


def _is_operation(call: Any) -> bool:
    """Return whether a repeated call gives the same value: user-defined primitives may draw."""
    f = call.primitive
    return f.__module__.startswith("chainrules_") and not f.fixed


_CHEAP = {*sharing, read}


def _is_cheap(record: tuple[Any, ...]) -> bool:
    statement = record[0].statement
    recipe = statement.recipe
    return bool(recipe.is_elementwise or (recipe.is_linear and statement.primal in _CHEAP))


def _beside(record: tuple[Any, ...], call: Any) -> int:
    """Count the bytes that a rule's record saves and that references cannot replace."""
    if record[0].statement.recipe.saves_values:
        return 0
    return sum([nbytes(s) for s in flatten(record[2:])[0] if s is not call.value])


_MOST = 1 << 29
"""Largest total flow: SciPy uses 32-bit integers."""
_DEEPEST = 16
"""Longest chain of cheap calls that is recomputed: all its values are in memory at once."""


def least_kept(
    sizes: Mapping[int, int],
    operands: Mapping[int, Collection[int]],
    cheap: Collection[int],
    read: Collection[int],
) -> set[int]:
    """Choose the values to keep so that their total number of bytes is minimal.

    Parameters
    ----------
    sizes : mapping
        The number of bytes of each value.
    operands : mapping
        The values from which each one is computed; those not in ``sizes`` are always available.
    cheap : collection
        The values that may be recomputed.
    read : collection
        The values that are read later.

    Returns
    -------
    set
        The values to keep: each value in ``read`` is among them, or is computed from them by
        cheap calls.

    Examples
    --------
    A sum of two expensive values is read through a chain: the sum is kept, the two are not.

    >>> sizes = {0: 8, 1: 8, 2: 8, 3: 8, 4: 8}
    >>> operands = {0: (), 1: (), 2: (0, 1), 3: (2,), 4: (3,)}
    >>> least_kept(sizes, operands, {2, 3, 4}, {2, 3, 4})
    {2}
    """
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    cheap = _shallow(operands, cheap)
    order: dict[int, int] = {}
    wanted = list(read)
    while wanted:  # values that are never read are left out
        i = wanted.pop()
        if i in sizes and i not in order:
            order[i] = len(order)
            if i in cheap:
                wanted += operands[i]
    if not order:
        return set()
    n, total = len(order), sum([sizes[i] for i in order])
    scale, source, sink, endless = min(1.0, _MOST / max(total, 1)), 2 * n, 2 * n + 1, 2 * _MOST
    edges: dict[tuple[int, int], int] = {}
    for i, k in order.items():
        edges[2 * k, 2 * k + 1] = max(1, int(sizes[i] * scale))
        if i not in cheap:
            edges[source, 2 * k] = endless
        else:
            edges.update({(2 * order[j] + 1, 2 * k): endless for j in operands[i] if j in order})
        if i in read:
            edges[2 * k + 1, sink] = endless
    places, capacity = np.array(list(edges)).T, np.array(list(edges.values()), np.int32)
    graph: Any = csr_array((capacity, (places[0], places[1])), shape=(2 * n + 2, 2 * n + 2))
    left: Any = graph - maximum_flow(graph, source, sink).flow
    left.eliminate_zeros()
    # Of all minimum cuts take the one closest to the values read: it recomputes least.
    behind = set(breadth_first_order(left.T.tocsr(), sink, return_predecessors=False).tolist())
    return {i for i, k in order.items() if 2 * k not in behind and 2 * k + 1 in behind}


def _shallow(operands: Mapping[int, Collection[int]], cheap: Collection[int]) -> set[int]:
    """Return the cheap values without those that would make a chain longer than `_DEEPEST`."""
    depth: dict[int, int] = {}
    for i, xs in operands.items():
        depth[i] = 1 + max([depth[x] for x in xs if x in depth], default=0) if i in cheap else 0
        if depth[i] > _DEEPEST:
            depth[i] = 0
    return {i for i in cheap if depth[i]}


@final
class Ref(int):
    """Reference to the value of a record of the same call, by its index."""

    __slots__ = ()


@final
class Recalled:
    """Records of a call under a policy, some of which hold references instead of values.

    Parameters
    ----------
    start : int
        Index of the first record.
    save, packing
        The policy, and the functions that pack and unpack the kept values.

    Attributes
    ----------
    start : int
        Index of the first record.
    calls : dict
        From an index to the call that gave the value, with references for operands.
    values : dict
        From an index to its value, for those that are kept; packed if `packing` is given.
    passed_on : set
        Indices of values that no record reads and that exactly one call uses.
    records : dict
        From an index to its record: the pull, the links, and the saved values, with references.
        The last item is None where the rule has to run again.
    """

    __slots__ = ("calls", "packing", "passed_on", "policy", "records", "start", "values")
    parents, whole = (), False

    def __init__(self, start: int, save: Save, packing: Packing | None) -> None:
        self.start, self.policy, self.packing = start, Policy(save), packing
        self.records: dict[int, tuple[Any, Any, list[Any] | None]] = {}
        self.calls: dict[int, KeptCall] = {}
        self.values: dict[int, Any] = {}
        self.passed_on: set[int] = set()

    def add(self, i: int, call: Any, record: tuple[Any, ...], label: str | None) -> bool:
        """Add a call and return whether its record uses references from now on.

        Parameters
        ----------
        i : int
            Its index on the tape.
        call
            The call: its primitive, primal, operands with their links (``opened``), options and
            value.
        record : tuple
            The record that its rule returned.
        label : str or None
            The name of its value.
        """
        kept = self.policy.keeps(i, call, record, label)
        if self.policy.sizes:
            self.values[i] = call.value  # until the cut is computed
        elif kept:
            self.values[i] = Packed.of(call.value, self.packing)
        while self.policy.gone:
            self.values.pop(self.policy.gone.pop(), None)
        half, links, *saved = record
        opened, y = call.opened, call.value
        call.opened = [(Ref(k) if type(k) is int and k in self.calls else x, k) for x, k in opened]
        call.value, self.calls[i] = None, call
        if half.statement.recipe.saves_values:
            known = {id(x): r for (x, _), (r, _) in zip(opened, call.opened, strict=True)}
            known[id(y)] = Ref(i)
            self.records[i] = half, links, [known.get(id(s), s) for s in saved]
        elif not kept:
            self.records[i] = half, links, None
        else:
            return False
        return True

    def settle(self) -> None:
        """Drop the values that a cut does not keep, now that all calls are known."""
        rows, sizes = self.records.items(), self.policy.sizes
        saved = [[x for x, _ in self.calls[i].opened] if s is None else s for i, (_, _, s) in rows]
        read = {x for refs in saved for x in refs if type(x) is Ref}
        operands = {i: _operands(call) for i, call in self.calls.items()}
        times = Counter([i for xs in operands.values() for i in xs])
        self.passed_on = {i for i, n in times.items() if n == 1} - read
        if sizes:
            kept = least_kept(sizes, operands, self.policy.cheap, read)
            self.values = {i: Packed.of(self.values[i], self.packing) for i in kept}

    def record(self, i: int, memo: dict[int, Any], consume: bool) -> tuple[Any, ...]:
        """Return a record with the values that it saved; ``memo`` has the recomputed ones."""
        half, links, saved = self.records[i]
        if saved is None:
            xs = [self._value(x, memo) for x, _ in self.calls[i].opened]
            with making_again(xs):
                found = self.calls[i].run(links, xs)[1]
        else:
            found = (half, links, *[self._value(s, memo) for s in saved])
        memo.pop(i, None)
        if consume:
            self.values.pop(i, None)
        return found  # type: ignore[no-any-return]

    def _value(self, x: Any, memo: dict[int, Any]) -> Any:
        """Return the value of a reference, and anything else unchanged."""
        if type(x) is not Ref:
            return x
        wanted: list[int] = [x]
        while wanted:
            i = wanted[-1]
            call = self.calls[i]
            if i in self.values:
                memo[i] = Packed.value(self.values[i], self.packing)
            elif missing := [k for k in _operands(call) if k not in memo]:
                wanted += missing
                continue
            elif i not in memo:
                xs = [memo[o] if type(o) is Ref else o for o, _ in call.opened]
                with making_again(xs):
                    memo[i] = call.run(None, xs)[0]
                for k in _operands(call):  # drop values that only this call reads
                    if k in self.passed_on:
                        memo.pop(k, None)
            wanted.pop()
        return memo[x]


def _operands(call: KeptCall) -> list[int]:
    """Return the indices of the values that are operands of a call."""
    return [x for x, _ in call.opened if type(x) is Ref]


@final
class Packed:
    """Kept value in the form that the user's ``pack`` returned."""

    __slots__ = ("dtype", "kept", "like", "shape")

    def __init__(self, kept: Any, value: Any) -> None:
        self.kept, self.like = kept, type(value)
        self.shape, self.dtype = value.shape, value.dtype

    @staticmethod
    def of(value: Any, packing: Packing | None) -> Any:
        """Pack a value if it is an array and not a tracer."""
        if packing is None or isinstance(value, Tracer) or not type_info(type(value)).is_array:
            return value
        return Packed(packing[0](value), value)

    @staticmethod
    def value(kept: Any, packing: Packing | None) -> Any:
        """Return the unpacked value.

        Raises
        ------
        MutationError
            If ``unpack`` returns another shape or dtype.
        """
        if type(kept) is not Packed or packing is None:
            return kept
        found = packing[1](kept.kept)
        if type(found) is not kept.like and not isinstance(found, Tracer):
            found = namespace_of(kept.like).asarray(found)  # from a subclass such as np.memmap
        if (getattr(found, "shape", 0), getattr(found, "dtype", 0)) != (kept.shape, kept.dtype):
            raise MutationError(
                f"unpack gave {describe(found)} for an array of shape {kept.shape} and dtype "
                f"{kept.dtype}; give what pack was given"
            )
        return found


def name(x: Any, label: str) -> Any:
    """Name a value, for listings and for ``checkpoint(f, save=[label])``.

    Parameters
    ----------
    x
        A value; one that is not on a tape is returned without effect.
    label : str
        The name.

    Returns
    -------
    same as x
        The value itself.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import checkpoint, grad
    >>> f = checkpoint(lambda x: np.sin(name(np.exp(x), "e")), save=["e"])
    >>> bool(grad(f)(0.0) == np.cos(1.0))
    True
    """
    if isinstance(x, BareVariable):
        x.tape.note().names[x.place] = label
        name(x.payload, label)
    return x


@final
class Calls(Notes):
    """Notes of a tape under a policy: each call is added when the next one is recorded.

    Attributes
    ----------
    last : tuple or None
        The index of the last call, its record, and the call; the record is on the tape when the
        next call comes. Calls of other threads, which may come between, are recorded as usual.
    """

    __slots__ = ("before", "last", "recalled", "tape")

    def __init__(self, tape: BareTape, recalled: Recalled) -> None:
        super().__init__()
        self.tape, self.recalled, self.before = tape, recalled, (before := tape.note())
        self.last: tuple[int, Any, KeptCall] | None = None
        self.calls = {}  # so that arrays are guarded as on a tape that keeps its calls
        self.names, self.hooks, self.always = before.names, before.hooks, before.always

    def keep(self, index: int, record: Any, *call: Any) -> None:
        """Keep a call and add the previous one."""
        self.before.keep(index, record, *call)
        if _runs_here(self.tape):
            self.take_in()
            self.last = index, record, KeptCall(*call)

    def take_in(self) -> None:
        """Add the last call, whose record is on the tape by now."""
        if self.last is None:
            return
        (i, record, call), self.last = self.last, None
        # Otherwise the call was not recorded, or another thread's is at its index.
        if self.tape[i] is record and self.recalled.add(i, call, record, self.names.get(i)):
            self.tape[i] = (folded, self.recalled)


def run(
    f: Callable[..., Any],
    save: Save,
    packing: Packing | None,
    tape: Any,
    operands: tuple[Any, ...],
    keywords: dict[str, Any],
    outside: Any,
) -> Any:
    """Run a function on a tape and drop the values that a policy does not keep."""
    classes, kept, held = tape.classes, tape.kept_classes, len(tape.held)
    notes = Calls(tape, Recalled(len(tape), save, packing))
    mine: list[Any] = [
        x for x in find_tracers((operands, keywords, outside)) if _is_of(x, tape, classes)
    ]
    y: Any = None
    tape.folds = tape.folds or Folds()
    try:
        tape.notes, tape.classes = notes, kept
        for x in mine:
            set_class(x, kept[type(x.payload)])
        y = f(*operands, **keywords)
        notes.take_in()
        notes.recalled.settle()
    finally:
        tape.notes, tape.classes = notes.before, classes
        out: list[Any] = [*mine, *find_tracers(y)]
        for x in out:
            if _is_of(x, tape, kept):
                set_class(x, classes[type(x.payload)])
    # What is not made again: kept values, operands from outside, and what whole records saved.
    tape.guard.settle(
        held,
        [
            *notes.recalled.values.values(),
            *[x for call in notes.recalled.calls.values() for x, _ in call.opened],
            *[
                x
                for record in tape[notes.recalled.start :]
                if record[0] is not folded
                for x in record[2:]
            ],
        ],
    )
    return y


def _is_of(x: Any, tape: BareTape, classes: Any) -> bool:
    """Return whether a tracer is a variable of a tape and of one of the given classes."""
    return isinstance(x, BareVariable) and x.tape is tape and type(x) is classes[type(x.payload)]


# --------------------------------------------------------------------------------- public functions

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(
    f: Callable[P, R],
    *operands: Never,
    save: Save = "nothing",
    pack: Callable[[Any], Any] | None = None,
    unpack: Callable[[Any], Any] | None = None,
) -> Callable[P, R]:
    """Wrap a function to keep few of its values for the gradient and recompute the others.

    This trades time for memory: intermediate values of f are not kept on the tape, and the backward
    pass runs f once more when it needs them. Under a policy f does not run again, but the single
    calls in it whose values were not kept.

    Parameters
    ----------
    f : callable
        A function that returns the same value each time it runs. Random numbers are drawn again:
        the generators among its arguments, those that it captures, those in its module and the
        global ones are set to the states they had, and restored afterwards. Under a policy f may
        be any function.
    save : {"nothing", "cheap", "mincut", "all"}, collection of str, or int
        Which values are kept besides the arguments. "cheap" recomputes elementwise operations and
        views. "mincut" keeps the fewest bytes from which all else can be recomputed by these, by at
        most 16 in a row (SciPy computes the cut when f returns). A collection of names keeps the
        values that `name` gave these names. A number is a budget in bytes, spent on expensive
        values first and then at even distances. Values of user-defined primitives are kept under
        any policy but "nothing".
    pack, unpack : callable, optional
        Store the kept arrays when f returns, and load them again: to a file, to another device, or
        in lower precision. ``unpack(pack(x))`` must have the shape and dtype of x.

    Returns
    -------
    callable
        A function with the signature, the values and the derivatives of f, also with respect to
        values that f captures. Outside of reverse mode, in threads that the differentiated function
        starts, and on tapes that keep their calls or are differentiable, it calls f.

    Raises
    ------
    MutationError
        In the backward pass, if f returns something else when it runs again.

    Notes
    -----
    For n calls in a row, each of which records k operations, memory grows as n + k instead of n k,
    so that a single call saves nothing; `chainrules_tape.tools.checkpoint_chain` balances the two.
    In nested differentiation, the innermost reverse-mode one drops its records.

    A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
    automatic differentiation" (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> layer = checkpoint(lambda x, w: np.tanh(w * x))
    >>> bool(grad(lambda x: layer(layer(x, 2.0), 3.0))(0.0) == 6.0)
    True

    Products of matrices are kept, and the rest is recomputed:

    >>> f = checkpoint(lambda x, w: np.sum(np.tanh(w @ x) ** 2), save="cheap")
    >>> bool(grad(f)(np.zeros(2), np.eye(2))[0] == 0.0)
    True
    """
    if operands:
        raise TypeError("checkpoint() takes the function alone: write checkpoint(f)(x)")
    if (pack is None) != (unpack is None) or (pack is not None and save == "nothing"):
        raise ValueError(
            "pack and unpack come together, with a policy that keeps something: save='all'"
        )
    check_save(save)
    packing = None if pack is None or unpack is None else (pack, unpack)

    def checkpointed(*operands: P.args, **keywords: P.kwargs) -> R:
        whole, generators = closed_and_generators(f)
        # Tracers of differentiations in progress. The innermost one may have none among the
        # operands and yet be over when the function runs again.
        outside = [
            x for x in find_tracers(whole) if not isinstance(x, OnTape) or x.tape.state == "open"
        ]
        tracer = highest_tracer((operands, keywords, outside))
        tape = tracer.tape if isinstance(tracer, BareVariable) else None
        keeps_calls = tape is not None and tape.notes is not None and tape.notes.calls is not None
        if (
            tape is None
            or not _runs_here(tape)  # records of several threads stand between each other
            or keeps_calls
            or (save == "all" and packing is None)
        ):
            return f(*operands, **keywords)
        if save != "nothing":
            return run(f, save, packing, tape, operands, keywords, outside)  # type: ignore[no-any-return]
        segment = Segment(settled(whole), (operands, keywords), tape, generators)
        held, hooks = len(tape.held), _hooks(tape)
        y = f(*operands, **keywords)
        if _hooks(tape) == hooks:
            segment.fold(tape, y, held)
        return y

    settings: Any = {"save": save, "pack": pack, "unpack": unpack}
    return made(checkpointed, f, checkpoint, **settings)  # type: ignore[no-any-return]


def _runs_here(tape: BareTape) -> bool:
    """Return whether a tape belongs to this thread, not to one that started this thread."""
    mine = [getattr(run, "tape", run) for run in recorders.under_way]
    return any([x is tape for x in (*mine, recorders.made.get(id(tape)))])


def _hooks(tape: BareTape) -> int:
    return 0 if tape.notes is None else sum(map(len, tape.notes.hooks.values()))
