"""Reverse runs: a function run once on a tape, and pulled back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, final

from chainrules_py import (
    NotDifferentiableError,
    ProjectionError,
    Space,
    Tangent,
    Tracer,
    ZeroTangent,
    is_zero,
    space,
    unthunk,
)
from chainrules_py.extend import (
    DEEP,
    batched,
    check_cotangent,
    count,
    describe,
    direction,
    explain_error,
    fields_of,
    find_tracers,
    gather,
    is_number_type,
    is_structure_type,
    rebuild,
)
from chainrules_tape.core.backward import backward
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.links import plain_links
from chainrules_tape.core.tape import BareTape, frozen
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.functions.results import (
    Tree,
    can_vary,
    flatten,
    flatten_tangent,
    lowered,
    own_all,
    paths_of,
    split_aux,
    tangents_of,
    values_of,
)
from chainrules_tape.memory.guard import Mode
from chainrules_tape.memory.write import check_unwritten, handed_out, settled

__all__ = ["ReverseRun", "check_scalar", "lower", "one", "unit"]


@final
class ReverseRun:
    """Run of a function, recorded on a tape of its own.

    Parameters
    ----------
    f : callable
        The function.
    primals : tuple
        Where to run it.
    has_aux : bool
        Whether it returns ``(result, aux)``.
    guard : {"lock", "fingerprint", "full", "off"}
        How the arrays are watched that the pullback depends on; locks have to be released.
    names : sequence of int or str, optional
        Which arguments the primals are, in messages.

    Attributes
    ----------
    leaves, tree
        The primals, taken apart.
    inputs : list of int or None
        Where the leaves are on the tape; None for those that cannot vary.
    y, aux
        What the function gave, without variables of this tape.
    y_leaves, y_tree
        y, taken apart.
    outputs : list of int or None
        Where the leaves of y are on the tape; None for those that do not depend on the primals.
    """

    new_tape: ClassVar[Callable[..., BareTape]]  # with all that is plugged into a tape
    __slots__ = (
        "aux",
        "inputs",
        "leaves",
        "names",
        "outputs",
        "tape",
        "tree",
        "y",
        "y_leaves",
        "y_tree",
    )

    def __init__(
        self,
        f: Callable[..., Any],
        primals: tuple[Any, ...],
        *,
        has_aux: bool = False,
        guard: Mode = "fingerprint",
        names: Sequence[int | str] | None = None,
    ) -> None:
        given: list[Any] = []
        self.tree = flatten(primals, given)
        self.leaves = given
        if any([issubclass(type(x), Tracer) for x in given]):
            self.leaves = [frozen(x) for x in given]
        self.names = names
        tape = self.tape = self.new_tape(guard=guard)
        try:
            self._run(f, has_aux)
            if self.leaves is not given:
                check_unwritten(given, self.leaves)
        except BaseException:
            tape.guard.release()
            raise

    def _run(self, f: Callable[..., Any], has_aux: bool) -> None:
        tape, leaves = self.tape, self.leaves
        vary = [can_vary(x) for x in leaves]
        if all(vary):
            traced: Any = tape.inputs(leaves)
            # Now, for what the function writes to in place goes on at another index.
            self.inputs: list[int | None] = list(range(len(leaves)))
        else:
            made = iter(tape.inputs([x for x, v in zip(leaves, vary, strict=True) if v]))
            traced = [next(made) if v else x for x, v in zip(leaves, vary, strict=True)]
            self.inputs = [x.index if v else None for x, v in zip(traced, vary, strict=True)]
        try:
            y = settled(f(*values_of(self.tree, traced)))
        except DEEP as error:
            explain_error(error)
            raise
        finally:
            tape.close()
        y, aux = split_aux(f, y) if has_aux else (y, None)
        if isinstance(y, BareVariable) and y.tape is tape:  # as most functions give
            self.y_tree: Tree | None = None
            self.outputs: list[int | None] = [y.index]
            self.y = handed_out(y)
            self.y_leaves: list[Any] = [self.y]
        else:
            self._take_apart(y)
        self.aux = lowered(aux, self._payload, leaves) if has_aux else None

    def _take_apart(self, y: Any) -> None:
        self.y_leaves = []
        self.y_tree = flatten(y, self.y_leaves)
        mine = [isinstance(x, BareVariable) and x.tape is self.tape for x in self.y_leaves]
        self.outputs = [x.index if m else None for x, m in zip(self.y_leaves, mine, strict=True)]
        if any(mine):
            self.y_leaves = [self._payload(x) for x in self.y_leaves]
            y = values_of(self.y_tree, self.y_leaves)
            self.y_tree = flatten(y, [])  # the other one holds variables, and they the tape
        self.y = y

    def _payload(self, x: Any) -> Any:
        return handed_out(x) if isinstance(x, BareVariable) and x.tape is self.tape else x

    def seeds(self, y_bar: Any) -> list[Any]:
        """Check a cotangent of y that a user gave, and take it apart, leaf by leaf."""
        return entering_cotangent(self.y_tree, self.y, y_bar)

    def bars(self, seeds: list[Any], *, consume: bool = False) -> list[Any]:
        """Compute the cotangents of the primals' leaves, maybe thunks; zero where nothing flows."""
        self.tape.guard.check(self._name_of)
        bars, first = self._started(seeds)
        backward(self.tape, bars, first, consume=consume)
        return self._collected(bars)

    def bars_of_many(self, seeds: list[Any]) -> list[Any]:
        """Compute the primals' cotangents for seeds with a leading axis that counts directions."""
        tape = self.tape
        tape.guard.check(self._name_of)
        if tape.notes is not None and tape.notes.hooks:  # each direction passes by them alone
            n = range(count(tuple(seeds)) or 0)
            each = [tuple(self.bars([direction(s, i) for s in seeds])) for i in n]
            return list(gather(each, tuple(seeds)))
        bars, first = self._started(seeds)

        plain = tape.__getitem__ if tape.folds is None else tape.fetching(bars, None)

        def fetch(index: int) -> tuple[Any, ...]:
            record = plain(index)
            if record[0] is None:
                return record
            links = plain_links(record[1])
            return (batched(record[0]), links, *record[2:])

        backward(tape, bars, first, fetch=fetch)
        return self._collected(bars)

    def _started(self, seeds: list[Any]) -> tuple[Cotangents, int]:
        tape = self.tape
        bars = Cotangents(len(tape)) if tape.folds is None else tape.cotangents()
        first = -1
        for index, bar in zip(self.outputs, seeds, strict=True):
            if index is not None and not is_zero(bar):
                if bars[index] is None:
                    bars[index] = bar
                else:
                    bars.add(index, bar)
                first = max(first, index)
        return bars, first

    def _collected(self, bars: Cotangents) -> list[Any]:
        return [_ZERO if i is None or bars[i] is None else bars[i] for i in self.inputs]

    def _name_of(self, x: Any) -> str | None:
        """Return the name that an argument has in messages."""
        for leaf, (number, *rest) in zip(self.leaves, paths_of(self.tree), strict=True):
            if leaf is x:
                name = number if self.names is None else self.names[number]
                return f"argument {name!r}" + "".join([f"[{key!r}]" for key in rest])
        return None

    def gradient(self, bars: list[Any], seeds: list[Any]) -> Any:
        """Cotangents as a person gets them: a tuple with one per primal, each array their own."""
        theirs = (*seeds, *self.y_leaves, *self.leaves)
        return tangents_of(self.tree, own_all(self.leaves, bars, theirs))


_ZERO = ZeroTangent()


def entering_cotangent(tree: Tree | None, y: Any, y_bar: Any) -> list[Any]:
    """Check a cotangent that a user gave, and take it apart."""
    found: list[Any] = []
    if not _holds_tangents(tree):
        flatten_tangent(tree, check_cotangent(y, y_bar), found)
        return found
    # The cotangent of a gradient has its form.
    leaves: list[Any] = []
    flatten(y, leaves)
    y_bar = unthunk(y_bar)
    like = tree.like if tree is not None else None
    if not is_zero(y_bar) and isinstance(like, Tangent) and type(y_bar) is not type(like):
        msg = f"{describe(y_bar)} is no cotangent of {describe(y)}, which has its own form"
        raise ProjectionError(msg)
    flatten_tangent(tree, y_bar, found)
    return [t if is_zero(t) else check_cotangent(x, t) for x, t in zip(leaves, found, strict=True)]


def _holds_tangents(tree: Tree | None) -> bool:
    if tree is None:
        return False
    return isinstance(tree.like, Tangent) or any(map(_holds_tangents, tree.children))


# ------------------------------------------------------------- from a result to where it starts


def lower(
    y: Any, tape: BareTape, path: tuple[Any, ...], starts: list[tuple[tuple[Any, ...], int]]
) -> Any:
    """Return a result without its variables, and note where they were."""
    if isinstance(y, BareVariable) and y.tape is tape:
        starts.append((path, y.index))
        return handed_out(y)
    if is_structure_type(type(y)) and find_tracers(y):
        return rebuild(y, [lower(field, tape, (*path, key), starts) for key, field in fields_of(y)])
    return y


def check_scalar(y: Any) -> None:
    """Raise unless a result is one real number."""
    of = space(y)
    if type(of) is Space and of.kind == "real" and of.size == 1:
        return
    msg = (
        f"grad is of a function with one real number for a result, and this one gave "
        f"{describe(y)}; vjp takes a cotangent of any result, jacobian gives all partial "
        f"derivatives"
    )
    raise NotDifferentiableError(msg)


def one(y: Any) -> Any:
    """Return the cotangent of a number: one, in its shape and dtype."""
    of = space(y)
    if of.dtype is None or is_number_type(of.like):
        return 1.0 if of.dtype is None else of.like(1)
    return of.zeros() + 1


def unit(y: Any) -> Any:
    """Return the cotangent of a result that has to be one real number, which is checked."""
    cls = type(y)
    found = _units.get(cls)
    if found is None:
        check_scalar(y)
        found = one(y)
        if is_number_type(cls):  # all of a class are alike, and the one cannot be written to
            _units[cls] = found
    return found


_units: dict[type, Any] = {}
