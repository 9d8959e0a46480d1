"""Runs: one call of a function in a mode of differentiation.

A `Run` flattens the primals, freezes them, makes tracers of those that can vary, calls the
function, and flattens its result, without any of its own tracers left in it. Each mode defines its
tracers and its operations afterwards: a `ReverseRun` pulls cotangents back, a `LinearRun` pushes
tangents forward, and a `ForwardRun` has already done so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from sys import modules
from typing import Any, ClassVar, final

from chainrules_py import (
    Rows,
    TracerError,
    add_tangents,
    debug_hooks,
    is_zero,
    unthunk,
    zero_tangent,
)
from chainrules_py.extend import (
    LEAF,
    ZEROS,
    AbstractTangent,
    ArrayLike,
    Guard,
    GuardMode,
    Notes,
    Tracer,
    TreeDef,
    as_arrays,
    batched,
    count,
    describe,
    differentiates,
    direction,
    explain_error,
    finite_tests,
    flatten,
    gather,
    innermost,
    joined,
    kind_of,
    map_leaves,
    met,
    new_level,
    notes,
    objects,
    own,
    own_all,
    probe_like,
    see_operators,
    selects,
    strong_pull,
    tables,
    type_info,
    unflatten,
    unflatten_tangent,
    untraced,
)
from chainrules_py.ops.engine_operations import joining, reads_rows, shape_back
from chainrules_tape.array_writes.in_place_cotangent_links import SliceOf
from chainrules_tape.array_writes.writes_and_views import (
    check_alone,
    check_unwritten,
    handed_out,
    settled,
)
from chainrules_tape.core.backward import backward, play
from chainrules_tape.core.bare_tape import BareTape, frozen
from chainrules_tape.core.cotangent_routing import (
    INPUT,
    ZERO,
    AddWhereSummed,
    Cotangents,
    Links,
    Structured,
    parents,
)
from chainrules_tape.core.variable import OnTape
from chainrules_tape.forward.dual import Dual, duals
from chainrules_tape.forward.linear_tape import LinearTape
from chainrules_tape.functions.arguments import (
    below,
    can_vary,
    check_varies,
    numbers,
    refuse_hidden,
    split_aux,
)
from chainrules_tape.rule_config import recorders


class Run:
    """Run of a function in a mode of differentiation.

    Parameters
    ----------
    f : callable
        The function.
    primals : tuple
        The point at which it runs.
    has_aux : bool
        Whether the function returns ``(result, aux)``.

    Attributes
    ----------
    leaves, tree
        The flattened primals, as they were when the run began.
    tape
        The tape of the run; none in forward mode.
    inputs : sequence of int or None
        Indices of the leaves on the tape; None for those that cannot vary.
    y, value, aux
        The result of the function, without tracers of this run. A leaf without a derivative that
        depends on the primals may be a marker in y; `value` and `aux` have its value instead.
    y_leaves, y_tree
        The flattened y.
    outputs : list
        The links of the leaves of y, from `link_of`; None for those that do not depend on the
        primals.
    """

    __slots__ = (
        "aux",
        "inputs",
        "leaves",
        "notes",
        "outputs",
        "tape",
        "tree",
        "value",
        "y",
        "y_leaves",
        "y_tree",
    )
    tape: Any
    inputs: Sequence[int | None]
    level: Any = property(operator.attrgetter("tape.level"))
    """Level of the differentiation; differentiations that it begins have higher ones."""

    def _enter(self, leaves: list[Any]) -> list[Any]:
        """Return the leaves of the primals as the function gets them: tracers, where they vary."""
        vary = can_vary(leaves)
        made = iter(self.tape.inputs([x for x, v in zip(leaves, vary, strict=True) if v]))
        traced = [next(made) if v else x for x, v in zip(leaves, vary, strict=True)]
        # Read now, because a tracer that the function writes to in place gets another index.
        self.inputs = [x.place if v else None for x, v in zip(traced, vary, strict=True)]
        return traced

    def link_of(self, x: Any) -> Any:
        """Return the link of a value; None for a value that is no tracer of this run."""
        return x.place if issubclass(type(x), OnTape) and x.tape is self.tape else None

    # One function: further Python calls would be much of the cost of a small gradient.
    def _run(  # noqa: C901
        self,
        f: Callable[..., Any],
        primals: tuple[Any, ...],
        has_aux: bool,
        close: Callable[[], object] = bool,
    ) -> None:
        """Call the function on tracers and flatten its result; ``close`` ends the tracing."""
        whole, self.tree = flatten(primals)
        given = as_arrays(whole) if tables else whole
        if objects:  # an outer function made arrays of objects
            given = list(map(joined, given))
        self.leaves = given
        for cls in set(map(type, given)):
            if issubclass(cls, Tracer):
                self.leaves = list(map(frozen, given))
                x = next(x for x in given if type(x) is cls)
                if (outer := notes.get(x.level)) is not None:
                    outer.inside = True
                break
        under_way = recorders.under_way
        outside = len(under_way)
        check = None
        if debug_hooks.checks is not None and not outside:
            check = debug_hooks.checks.function(f, primals)
        traced = self._enter(self.leaves)
        try:
            under_way.append(self)  # an interrupt may come right after it
            self.notes = notes[self.level] = Notes()
            y = f(*(traced if self.tree.is_flat else unflatten(self.tree, traced)))
            is_number = numbers[getattr(type(y), "payload_type", object)]
            if not is_number:  # no write can make a number outdated
                y = settled(y)
        except Exception as error:
            if not primals and "required positional" in str(error):
                error.add_note("the point is given together with f: y, pullback = vjp(f, x)")
            explain_error(error, objects.pop(self.level, None))
            raise
        finally:
            del under_way[outside:]
            notes.pop(self.level, None)
            objects.pop(self.level, None)
            close()
        if self.leaves is not given:
            check_unwritten(given, self.leaves)
        if self.notes.writes:
            views = [getattr(x, "as_view", None) for x in traced]
            if any([view is not None and view.written for view in views]):
                check_alone(f, traced, self.leaves)
        if has_aux:
            y, self.aux = split_aux(f, y)
        self._leave(y, f, is_number)
        if self.notes.refused is not None:
            self.notes.report(f, any([link is not None for link in self.outputs]))
        if has_aux:
            self.aux = self._outside(
                *self._apart(map_leaves(self._aside, self.aux), f, "the aux")[:3]
            )
        if check is not None:
            check((self.value, self.aux) if has_aux else self.value)

    def _aside(self, x: Any) -> Any:
        """Return a leaf of aux without its derivative, by the `__aside__` of its class, if any."""
        told = getattr(type(x), "__aside__", None)
        return x if told is None else told(x, self._payload)

    def _leave(self, y: Any, f: Any = None, is_number: bool = False) -> None:
        """Flatten a result of f, or a loss, with plain values for the tracers of this run."""
        link = self.link_of(y)
        if link is not None:  # the most frequent case
            self.y = self.value = y.payload if is_number else handed_out(y)
            self.y_tree = LEAF
            self.y_leaves = [self.y]
            self.outputs = [link]
            return
        self.y, self.y_tree, self.y_leaves, self.outputs = self._apart(y, f)
        self.value = self._outside(self.y, self.y_tree, self.y_leaves)

    def _apart(
        self, y: Any, f: Any, what: str = "the result"
    ) -> tuple[Any, TreeDef, list[Any], list[Any]]:
        """Flatten a result of f; return it with plain values, its tree, leaves and links."""
        given, tree = flatten(y)
        lasting = [below(x, self.level) for x in given]  # without levels that f began and ended
        outputs = list(map(self.link_of, lasting))
        leaves = list(map(self._plain, lasting))
        if any([x is not mine for x, mine in zip(given, leaves, strict=True)]):
            y = unflatten(tree, leaves)
            _, tree = flatten(y)  # the first tree may hold tracers, and be of other classes
        refuse_hidden(f, what, leaves, self.level)
        return y, tree, leaves, outputs

    def _outside(self, y: Any, tree: TreeDef, leaves: list[Any]) -> Any:
        """Return y as users get it: the class of a leaf may replace it by its `__outside__`."""
        told = [getattr(type(x), "__outside__", None) for x in leaves]
        if not any(told):
            return y
        pairs = zip(told, leaves, strict=True)
        return unflatten(tree, [f(x, self._payload) if f else x for f, x in pairs])

    def _payload(self, x: Any) -> Any:
        """Return the payload of a tracer of this run."""
        return below(x, self.level - 1)

    def _plain(self, x: Any) -> Any:
        """Return a leaf of f's result without tracers of this run, and not shared with others."""
        return own(x, (x,)) if self.link_of(x) is None else handed_out(x)

    def delivered(
        self, tree: TreeDef, xs: list[Any], ts: list[Any], given: list[Any], dense: bool = True
    ) -> Any:
        """Return derivatives in the form of a tree, each array owned by the caller.

        Parameters
        ----------
        tree, xs
            The tree and the leaves of the structure that the derivatives are in, or of.
        ts : list
            One derivative for each leaf; possibly a thunk or a zero.
        given : list
            The values that they were computed from, which the caller already owns.
        dense : bool
            Whether zeros are returned as dense arrays.
        """
        mine = own_all(xs, ts, (*given, *self.y_leaves, *self.leaves), dense=dense)
        return unflatten_tangent(tree, mine, plain="own")


class Recorded(Run):
    """Records of a tape between inputs and results, through which cotangents are pulled back."""

    __slots__ = ()
    tape: BareTape

    _name_of: Any = staticmethod(lambda x: None)
    """Returns the name of an array in messages, or None."""

    def pull(
        self,
        seeds: Sequence[Any],
        many: bool = False,
        *,
        consume: bool = False,
        fetch: Callable[[int], Any] | None = None,
        watch: bool = False,
        repair: bool = True,
    ) -> list[Any]:
        """Pull cotangents of the leaves of y back to the inputs.

        Parameters
        ----------
        seeds : sequence
            The cotangents of y's leaves.
        many : bool
            Whether they have a leading axis of directions.
        consume, fetch
            How the tape is played; see `backward`.
        watch : bool
            Whether an input may be any record, not only a leaf.
        repair : bool
            Whether cotangents with NaN are pulled again with structural zeros.

        Returns
        -------
        list
            Cotangents of the inputs, possibly thunks; zero where y does not depend on them.
        """
        tape = self.tape
        if tape.guard.compares:
            tape.guard.check(self._name_of)
        notes = tape.notes
        if many and notes is not None and (notes.hooks or notes.always):
            return self._one_by_one(seeds)
        bars = Cotangents(len(tape if tape.folds is None else tape.folds.records(tape)))
        first = -1
        for index, bar in zip(self.outputs, seeds, strict=True):
            if index is not None and type(bar) not in ZEROS:
                if bars[index] is None:
                    bars[index] = bar
                else:
                    bars.add(index, bar)
                if index > first:
                    first = index
        if notes is not None:
            for index, of in notes.always.items():
                if bars[index] is None and not is_zero(of):
                    bars[index], first = zero_tangent(of), max(first, index)
        if many:
            fetch = self._batched(bars)
        at: Any = bars
        plain = notes is None and tape.folds is None and fetch is None and not watch
        if plain and consume:  # the most frequent case
            del tape[first + 1 :]
            play(map(tape.pop, range(first, -1, -1)), bars, first, -1)
        else:
            watched = [i for i in self.inputs if i is not None] if watch else ()
            seen = backward(tape, bars, first, consume=consume, fetch=fetch, watch=watched)
            at = dict.fromkeys(watched) | seen if watch else bars
        found = []
        for i in self.inputs:
            bar = None if i is None else at[i]
            found.append(ZERO if bar is None else bar)
        if repair and not consume and any(map(is_lost, found)) and can_repair(self):
            return self._one_by_one(seeds) if many else strong_pass(self, seeds, watch)
        return found

    def _one_by_one(self, seeds: Sequence[Any]) -> list[Any]:
        """Pull many cotangents back, one after the other."""
        bars = tuple(seeds)
        each = [tuple(self.pull(list(direction(bars, i)))) for i in range(count(bars) or 0)]
        return list(gather(each, bars))

    def _batched(self, bars: Cotangents) -> Callable[[int], tuple[Any, ...]]:
        """Return a function that returns records for cotangents of many directions."""
        tape = self.tape
        plain = tape.__getitem__ if tape.folds is None else tape.folds.fetching(tape, bars, None)

        def fetch(index: int) -> tuple[Any, ...]:
            record = plain(index)
            if record[0] is None or bars[index] is None:  # then it is not played
                return record
            links = record[1]
            if type(links) is SliceOf:
                return links.of_many(count(bars[index]) or 0, record)
            if type(links) not in (int, tuple, float):  # without buffers
                into = links.parents
                links = Structured(into if type(into) is tuple else (into,))
            many = getattr(record[0], "batched", None)
            return (many if callable(many) else batched(record[0]), links, *record[2:])

        return fetch


@final
class ReverseRun(Recorded):
    """Run of a function that is recorded on a new tape.

    Parameters
    ----------
    guard : Guard or {"lock", "sample", "full", "off"}
        Guards the arrays that the pullback depends on; its locks have to be undone.
    names : sequence of int or str, optional
        Positions or names of the primals, for messages.
    """

    new_tape: ClassVar[Callable[..., Any]]  # the assembled tape
    __slots__ = ("names",)

    def __init__(
        self,
        f: Callable[..., Any],
        primals: tuple[Any, ...],
        *,
        has_aux: bool = False,
        guard: GuardMode | Guard = "sample",
        names: Sequence[int | str] | None = None,
    ) -> None:
        self.names = names
        self.tape = self.new_tape(guard=guard)
        try:
            self._run(f, primals, has_aux, self.tape.close)
        except BaseException as error:
            try:
                self.tape.guard.explain(error)
            finally:
                self.tape.consume()
            raise

    def _enter(self, leaves: list[Any]) -> list[Any]:
        if all(map(numbers.__getitem__, map(type, leaves))):
            # Numbers have no memory to guard: skip all checks, a call is a twentieth of the cost.
            self.inputs, tape = range(len(leaves)), self.tape
            traced = []
            for i, x in enumerate(leaves):
                tape.append(INPUT)
                traced.append(tape.classes[type(x)](x, tape, i))
            return traced
        vary = can_vary(leaves)
        if all(vary):
            self.inputs = range(len(leaves))
            return self.tape.inputs(leaves)
        if self.names is not None:
            check_varies(leaves, vary)
        return super()._enter(leaves)

    def is_constant(self, found: Sequence[Any]) -> bool:
        """Return whether the result, of these derivatives, depends on nothing differentiated."""
        # Values of a block that records nothing have links, but lead nowhere.
        links = found if self.notes.muted else self.outputs
        if (
            self.notes.inside
            or self.notes.steps
            or not all([x is None or is_zero(x) for x in links])
        ):
            return False
        varying = [x for x, i in zip(self.leaves, self.inputs, strict=True) if i is not None]
        return bool(varying) and not any([differentiates(type(x)) for x in varying])

    def pull_sparsely(self, seeds: Sequence[Any]) -> list[Any]:
        """Pull seeds back once, and return `Rows` for the inputs of which rows were read."""
        pieces = collect_rows(self.tape, [i for i in self.inputs if i is not None])
        found = self.pull(seeds, consume=True)
        for k, i in enumerate(self.inputs):
            if i is not None and pieces[i]:
                rows = as_rows(pieces[i], self.leaves[k])
                found[k] = rows if is_zero(found[k]) else add_tangents(unthunk(found[k]), rows)
        return found

    def _name_of(self, x: Any) -> str | None:
        """Return the name of an argument in messages."""
        for leaf, (number, *rest) in zip(self.leaves, self.tree.paths(), strict=True):
            if leaf is x:
                name = number if self.names is None else self.names[number]
                return f"argument {name!r}" + "".join([f"[{key!r}]" for key in rest])
        return None


@final
class ForwardRun(Run):
    """Run of a function on values that carry their tangents.

    Parameters
    ----------
    ts : list
        The tangents of the primals' leaves, from `leaf_tangents`.
    """

    __slots__ = ("guard", "level", "ts")

    def __init__(
        self, f: Callable[..., Any], primals: tuple[Any, ...], ts: list[Any], has_aux: bool = False
    ) -> None:
        if len(modules) != met[0]:
            see_operators()
        self.level = new_level()
        self.ts = ts
        self.guard = Guard()
        self._run(f, primals, has_aux)
        self.guard.check()

    def _enter(self, leaves: list[Any]) -> list[Any]:
        traced: list[Any] = []
        for x, t in zip(leaves, self.ts, strict=True):
            self.guard.hold(x)  # captured arrays are used at once and need no guard
            t = frozen(t) if issubclass(type(t), Tracer) else t
            traced.append(x if type(t) in ZEROS else duals[type(x)](x, self.level, t))
        return traced

    def link_of(self, x: Any) -> Any:
        """Return the tangent of a value; None if it is no dual of this run."""
        if not (issubclass(type(x), Dual) and x._level == self.level):
            return None
        t = x.tangent
        if issubclass(type(t), Tracer) and t.level >= self.level:
            raise TracerError(
                f"the derivative of {describe(x.payload)} depends on a value that is being "
                f"differentiated and that a rule captured: that gradient would be lost; pass it "
                f"to the function as an operand"
            )
        return t


@final
class LinearRun(Run):
    """Run of a function whose pushes are kept on a new tape."""

    __slots__ = ()
    tape: LinearTape

    def __init__(
        self,
        f: Callable[..., Any],
        primals: tuple[Any, ...],
        *,
        has_aux: bool = False,
        guard: GuardMode = "sample",
    ) -> None:
        self.tape = LinearTape(guard)
        self._run(f, primals, has_aux, self.tape.close)
        self.tape.trim([i for i in self.outputs if i is not None])

    def push(self, ts: Sequence[Any], many: bool = False) -> list[Any]:
        """Push tangents to the leaves of y; with ``many`` a leading axis counts directions."""
        pairs = zip(self.inputs, ts, strict=True)
        dots = {i: t for i, t in pairs if i is not None and not is_zero(t)}
        return self.tape.push(dots, [-1 if i is None else i for i in self.outputs], many=many)


# ----------------------------------------------------------- gradients as rows


@final
class RowsInto:
    """Link of a record that read rows of an input: they are collected besides the cotangents."""

    __slots__ = ("array", "found", "links", "of")
    parents = ()

    def __init__(self, links: Any, array: Any, found: list[tuple[Any, Any]]) -> None:
        self.links, self.array, self.found = links, array, found

    def pull(self, bars: Any, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Collect the rows; add a traced cotangent in the usual way."""
        y_bar = unthunk(y_bar)
        if isinstance(y_bar, Tracer) or not type_info(type(y_bar)).is_array:
            bar = record[0](y_bar, *record[2:])
            if not is_zero(bar):
                bars.add(self.links.parents, bar)
        else:
            self.found.append((self.array, y_bar))
        bars[index] = None


def collect_rows(tape: BareTape, inputs: Iterable[int]) -> dict[int, list[tuple[Any, Any]]]:
    """Replace the links of records that read rows of these inputs, so that rows are collected."""
    found: dict[int, list[tuple[Any, Any]]] = {i: [] for i in inputs}
    for i, record in enumerate(tape):
        half, links = record[0], record[1]
        index = getattr(links, "parents", None)
        if half is not None and type(index) is int and index in found:
            array = _array_of(getattr(half, "statement", None), record)
            if array is not None:
                tape[i] = (half, RowsInto(links, array, found[index]), *record[2:])
    return found


def _array_of(statement: Any, record: tuple[Any, ...]) -> Any:
    """Return the array of indices that rows were read by; None for other reads."""
    operation = getattr(statement, "primal", None)
    if len(record) != 5 or type(record[2]) is not dict or not reads_rows(operation, record[2]):
        return None
    array = record[4]
    plain = not issubclass(type(array), Tracer) and type_info(type(array)).is_array
    return array if plain and kind_of(array) == "int" and array.ndim > 0 else None


def as_rows(pieces: list[tuple[Any, Any]], x: Any) -> Any:
    """Return what was collected for an input as `Rows`."""
    n, row = x.shape[0], tuple(x.shape[1:])
    places = [shape_back(a, (-1,)) for a, _ in pieces]
    bars = [shape_back(b, (p.shape[0], *row)) for p, (_, b) in zip(places, pieces, strict=True)]
    whole, bar = (a[0] if len(a) == 1 else joining(type(a[0]))(a) for a in (places, bars))
    return Rows(whole % n, bar, x)


# ---------------------------------------------------------------- structural zeros
#
# A backward pass that gave NaN is played again. It multiplied elements that a mask, an index or a
# maximum left out with their partial derivatives, and 0 times infinity is NaN. Each gradient is
# tested once; only if it has NaN, a probe is pulled along with each cotangent, which marks where
# nothing can flow (`chainrules_py.registry.bind.strong_zero`). NaN in forward mode stays NaN.


def is_lost(bar: Any) -> bool:
    """Return whether a cotangent, its payload or its tangent has a NaN."""
    cls = type(bar)
    if cls in finite_tests:
        return not finite_tests[cls](bar) and _any(bar != bar)
    if issubclass(cls, Tracer):
        tangent = getattr(bar, "tangent", None)
        return is_lost(bar.payload if isinstance(bar, ArrayLike) else bar.__payload__) or (
            tangent is not None and is_lost(unthunk(tangent))
        )
    return getattr(cls, "payload_type", cls) is float and bool(bar != bar)


def can_repair(run: Any) -> bool:
    """Return whether a run has no hooks, and NumPy arrays and plain numbers only."""
    classes = [type(innermost(x)) for x in (*run.leaves, *run.y_leaves)]
    known = [
        cls in finite_tests or getattr(cls, "payload_type", cls) in (float, int, bool)
        for cls in classes
    ]
    notes = run.tape.notes
    return all(known) and (notes is None or not (notes.hooks or notes.always))


def strong_pass(run: Any, seeds: Sequence[Any], watch: bool = False) -> list[Any]:
    """Pull one cotangent back along with a probe; with ``watch`` inputs may be any records."""
    tape, first = run.tape, -1
    bars, probes = Cotangents(len(tape)), Cotangents(len(tape))
    for index, bar in zip(run.outputs, seeds, strict=True):
        if index is not None and not is_zero(bar):
            bars.add(index, bar)
            probes.add(index, probe_like(bar, untraced(bar) != 0))
            first = max(first, index)
    found: dict[Any, Any] = {}
    fetch = tape.folds.fetching(tape, bars, None) if tape.folds else tape.__getitem__
    for index in range(first, -1, -1):
        record = fetch(index)
        if bars[index] is None:
            continue
        bar, probe = unthunk(bars[index]), probes[index]
        if watch or record[0] is None:
            found[index] = bar
        if record[0] is None:
            continue
        bars.release(index)
        probes.release(index)
        bars[index] = probes[index] = None
        if isinstance(probe, AbstractTangent) or _any(probe != 0):
            _pull(record, index, bar, probe, bars, probes)
    return [found.get(i, ZERO) for i in run.inputs]


def _pull(
    record: Any, index: int, bar: Any, probe: Any, bars: Cotangents, probes: Cotangents
) -> None:
    """Pull through one record, and add the results at its parents."""
    pull, links = record[:2]
    if type(links) in (int, tuple, float, Links) and not isinstance(bar, AbstractTangent):
        ways = parents(links)
        given = strong_pull(pull, bar, probe, record[2:], len(ways))
        for way, part, flow in zip(ways, *given, strict=True):
            if not is_zero(part):
                bars.add(way, part)
                probes.add(way, flow)
        return
    bars[index] = bar
    play([record], bars, index, index - 1)
    all_flow = type(links) in (int, tuple, float, Links, AddWhereSummed, Structured)
    if not (all_flow or isinstance(bar, AbstractTangent)) or selects(pull):
        probes[index] = probe
        play([record], probes, index, index - 1)
        return
    for way in parents(links):  # a user-defined rule: all may flow
        if bars[way] is not None:
            probes.release(way)
            probes[way] = probe_like(unthunk(bars[way]))


def _any(truths: Any) -> bool:
    return truths if type(truths) is bool else bool(truths.any())
