"""Binding element-by-element statements: the form that the speed of an engine hangs on.

What is decided when a rule is bound is not decided again at each call: which function computes the
primal, which partials are constants or operands themselves, where a complex conjugate or a strong
zero is needed. What is left for the call is one test of shape and dtype, which picks the pull:

- *fast*: operands and result agree in both, so the products are the cotangents;
- *broadcast*: they agree in dtype, and a plan says along which axes to sum;
- *general*: dtypes differ, and projection puts everything right.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from chainrules_py import arrays
from chainrules_py.bind import Bound, Request, mark
from chainrules_py.fusing import fuser_of
from chainrules_py.project import (
    dtype_kind,
    project,
    promoted,
    space,
    unbroadcasting,
)
from chainrules_py.recipes.partials import NUMBERS, Partial, Pushes, form_of
from chainrules_py.vocabulary.elementwise import conj, strong_multiply

__all__ = ["ScalarRecipe"]

Slots = tuple[int, ...]  # 0 is the result, 1, 2, ... are the operands


class ByDtype(dict[Any, Any]):
    """The pull for a dtype that operands and result agree in, made at the dtype's first sight."""

    def __init__(self, like: type, make: Callable[[str], Any]) -> None:
        super().__init__()
        self.like = like
        self.make = make

    def __missing__(self, dtype: Any) -> Any:
        pull = self[dtype] = self.make(dtype_kind(dtype, self.like))
        return pull


class ScalarRecipe(Pushes):
    """One partial per operand, of the result and the operands."""

    pen = "scalar_rule"

    def __init__(
        self, partials: tuple[Partial | None, ...], singular: bool, complex: str | None
    ) -> None:
        self.partials = partials
        self.singular = singular
        self.complex = complex
        self.used = tuple([() if p is None else _used(p, len(partials)) for p in partials])
        self.forms = tuple([("none", None) if p is None else form_of(p) for p in partials])

    def reverse(self, request: Request) -> Bound | None:
        """For each operand y_bar conj(p), brought to the operand."""
        request = request.among([p is not None for p in self.partials])
        if not request.active:
            return None
        saved = tuple(sorted({slot for i in request.active for slot in self.used[i]}))
        pulls = _Pulls(self, request, saved)
        shaped = [
            cls for cls in request.operands if arrays.dispatch_type(cls) not in (*NUMBERS, bool)
        ]
        if not shaped:
            return Bound(request, self._run_numbers(request, saved, pulls))
        fast = ByDtype(shaped[0], pulls.fast)
        general = self._general(request, saved, pulls, ByDtype(shaped[0], pulls.broadcast))
        plain = [request.operands[i] for i in request.active]
        numbers = [arrays.dispatch_type(cls) in (*NUMBERS, bool) for cls in plain]
        if any(numbers) or len(request.operands) > 2:
            primal = request.primal
            return Bound(request, lambda links, *xs: general(links, primal(*xs), *xs))
        if len(request.operands) == 1:
            return Bound(request, _run_unary(request.primal, saved, fast, general))
        if len(request.active) == 1:
            k = request.active[0]
            alike = any(i != k for i in self._computed_with(request))
            return Bound(request, _run_half(request.primal, k, saved, fast, general, alike))
        return Bound(request, _run_binary(request.primal, saved, fast, general))

    def _computed_with(self, request: Request) -> list[int]:
        """The arrays that a partial does more with than to be multiplied: their dtype matters."""
        if all([self.forms[i][0] != "computed" for i in request.active]):
            return []
        plain = (*NUMBERS, bool)
        return [i for i, c in enumerate(request.operands) if arrays.dispatch_type(c) not in plain]

    def _general(
        self, request: Request, saved: Slots, pulls: _Pulls, broadcast: ByDtype
    ) -> Callable[..., Any]:
        """The record of a call whose operands and result do not agree in shape and dtype."""
        active, statement = request.active, request.statement
        general = pulls.general()
        alike = tuple(sorted({*active, *self._computed_with(request)}))

        def record(links: Any, y: Any, *xs: Any) -> Any:
            self.check(statement, y, *xs)
            values = (y, *xs)
            kept = [values[slot] for slot in saved]
            dtype = getattr(y, "dtype", None)
            if dtype is not None and all([getattr(xs[i], "dtype", None) is dtype for i in alike]):
                shape = y.shape
                plans = [unbroadcasting(shape, xs[i].shape) for i in active]
                return y, (broadcast[dtype], links, *kept, *plans)
            return y, (general, links, *kept, *[space(xs[i]) for i in active])

        numbers = [arrays.dispatch_type(cls) in (*NUMBERS, bool) for cls in request.operands]
        if active == alike == (0, 1) and numbers == [False, False]:
            return self._general_two(saved, record, broadcast)
        return record

    def _general_two(self, saved: Slots, general: Any, broadcast: ByDtype) -> Callable[..., Any]:
        """As `_general`, of two arrays: what a bias is added by, or columns are scaled."""
        keep = _keeper(saved)

        def record(links: Any, z: Any, x: Any, y: Any) -> Any:
            dtype = z.dtype
            if dtype is not x.dtype or dtype is not y.dtype:
                return general(links, z, x, y)
            shape, first, second = z.shape, x.shape, y.shape
            return z, (
                broadcast[dtype],
                links,
                *keep((z, x, y)),
                None if first == shape else unbroadcasting(shape, first),
                None if second == shape else unbroadcasting(shape, second),
            )

        return record

    def _run_numbers(self, request: Request, saved: Slots, pulls: _Pulls) -> Callable[..., Any]:
        primal, active, statement = request.primal, request.active, request.statement
        fast, general = pulls.fast("real"), pulls.general()

        def record(links: Any, y: Any, *xs: Any) -> Any:
            values = (y, *xs)
            kept = [values[slot] for slot in saved]
            if type(y) is float and complex not in map(type, xs):
                return y, (fast, links, *kept)
            self.check(statement, *values)
            return y, (general, links, *kept, *[space(xs[i]) for i in active])

        if all([arrays.dispatch_type(cls) is not complex for cls in request.operands]):
            if len(request.operands) == 1:
                return _run_number(primal, saved, fast, record)
            if len(request.operands) == 2:
                return _run_two_numbers(primal, saved, fast, record)
        return lambda links, *xs: record(links, primal(*xs), *xs)


def _run_number(primal: Any, saved: Slots, fast: Any, record: Any) -> Callable[..., Any]:
    """Of one real number of Python."""
    keep_y, keep_x = 0 in saved, 1 in saved

    def run(links: Any, x: Any) -> Any:
        y = primal(x)
        if type(y) is not float:
            return record(links, y, x)
        if keep_x:
            return y, ((fast, links, y, x) if keep_y else (fast, links, x))
        return y, ((fast, links, y) if keep_y else (fast, links))

    return run


def _run_two_numbers(primal: Any, saved: Slots, fast: Any, record: Any) -> Callable[..., Any]:
    """Of two real numbers of Python."""
    if saved == ():

        def run(links: Any, x: Any, y: Any) -> Any:
            z = primal(x, y)
            return (z, (fast, links)) if type(z) is float else record(links, z, x, y)

    elif saved == (1, 2):

        def run(links: Any, x: Any, y: Any) -> Any:
            z = primal(x, y)
            return (z, (fast, links, x, y)) if type(z) is float else record(links, z, x, y)

    elif len(saved) == 1:
        of_x = saved == (1,)
        if saved == (0,):
            return lambda links, x, y: record(links, primal(x, y), x, y)

        def run(links: Any, x: Any, y: Any) -> Any:
            z = primal(x, y)
            if type(z) is not float:
                return record(links, z, x, y)
            return z, (fast, links, x if of_x else y)

    else:
        return lambda links, x, y: record(links, primal(x, y), x, y)
    return run


def _run_unary(primal: Any, saved: Slots, fast: ByDtype, general: Any) -> Callable[..., Any]:
    keep_y, keep_x = 0 in saved, 1 in saved

    def run(links: Any, x: Any) -> Any:
        y = primal(x)
        dtype = y.dtype
        if dtype is not x.dtype:
            return general(links, y, x)
        if keep_x:
            return y, ((fast[dtype], links, y, x) if keep_y else (fast[dtype], links, x))
        return y, ((fast[dtype], links, y) if keep_y else (fast[dtype], links))

    return run


def _run_half(
    primal: Any, k: int, saved: Slots, fast: ByDtype, general: Any, alike: bool
) -> Callable[..., Any]:
    """Two operands, the k-th wanted; ``alike``: the dtype of the other has to agree as well."""
    keep = _keeper(saved)

    def run(links: Any, x: Any, y: Any) -> Any:
        z = primal(x, y)
        wanted, other = (y, x) if k else (x, y)
        try:
            dtype = z.dtype
        except AttributeError:  # 1j * np.float64(2) is a complex of Python's
            return general(links, z, x, y)
        if (
            dtype is not wanted.dtype
            or z.shape != wanted.shape
            or (alike and other.dtype is not dtype)
        ):
            return general(links, z, x, y)
        return z, (fast[dtype], links, *keep((z, x, y)))

    return run


def _keeper(saved: Slots) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What takes the values to be saved out of the result and the operands."""
    if len(saved) > 1:
        return operator.itemgetter(*saved)
    slots = slice(saved[0], saved[0] + 1) if saved else slice(0)
    return operator.itemgetter(slots)


def _run_binary(primal: Any, saved: Slots, fast: ByDtype, general: Any) -> Callable[..., Any]:
    """Two operands, both wanted."""
    if saved == ():

        def run(links: Any, x: Any, y: Any) -> Any:
            z = primal(x, y)
            dtype = z.dtype
            if dtype is x.dtype and dtype is y.dtype and x.shape == y.shape:
                return z, (fast[dtype], links)
            return general(links, z, x, y)

    elif saved == (1, 2):

        def run(links: Any, x: Any, y: Any) -> Any:
            z = primal(x, y)
            dtype = z.dtype
            if dtype is x.dtype and dtype is y.dtype and x.shape == y.shape:
                return z, (fast[dtype], links, x, y)
            return general(links, z, x, y)

    else:
        keep = _keeper(saved)

        def run(links: Any, x: Any, y: Any) -> Any:
            z = primal(x, y)
            dtype = z.dtype
            if dtype is x.dtype and dtype is y.dtype and x.shape == y.shape:
                return z, (fast[dtype], links, *keep((z, x, y)))
            return general(links, z, x, y)

    return run


class _Pulls:
    """The pulls of one recipe for one request, in their three forms."""

    def __init__(self, recipe: ScalarRecipe, request: Request, saved: Slots) -> None:
        self.recipe = recipe
        self.request = request
        self.saved = saved

    def fast(self, kind: str) -> Any:
        """For operands and result of one shape, and of one dtype of this kind."""
        if kind == "complex" and self.recipe.complex is None:
            self.recipe.refuse_complex(self.request.statement)
        parts = self._parts(conjugate=kind == "complex")
        if kind == "complex" and any(map(arrays.is_python_number, self.request.operands)):
            parts = tuple([_with_numbers(p) for p in parts])
        forms = [self.recipe.forms[i] for i in self.request.active]
        together = None
        if kind != "complex" and not self.recipe.singular:
            together = _TOGETHER.get((*forms, self.saved))
        if together is None:
            together = parts[0] if len(parts) == 1 else _join(parts, len(self.saved))
        fuser = fuser_of(self.request.operands)
        if fuser is not None:
            n = 1 + len(self.saved)
            together = fuser.together(together, n) or together
            parts = tuple([fuser.together(p, n) or p for p in parts])
        # A function of its own, for what is written on it differs from rule to rule.
        pull = together if len(parts) == 1 else _copy(together)
        return mark(pull, self.request, parts, batched=True)

    def broadcast(self, kind: str) -> Any:
        """For operands and result of one dtype and different shapes: the fast parts, then sums."""
        parts, n = self.fast(kind).parts, len(self.saved)
        fuser = fuser_of(self.request.operands)

        def make(position: int) -> Any:
            fast = parts[position]
            summed = None if fuser is None else fuser.summed(fast, 1 + n)

            def pull_one(y_bar: Any, *kept: Any) -> Any:
                plan = kept[n + position]
                if plan is not None and summed is not None:
                    return summed(plan, y_bar, *kept[:n])
                bar = fast(y_bar, *kept[:n])
                return bar if plan is None else plan(bar)

            return pull_one

        made = tuple([make(position) for position in range(len(parts))])
        if n == 2 and len(parts) == 2 and fuser is None:
            first, second = parts

            def pull_scaled(y_bar: Any, x: Any, y: Any, plan: Any, other: Any) -> Any:
                a, b = first(y_bar, x, y), second(y_bar, x, y)
                return a if plan is None else plan(a), b if other is None else other(b)

            return mark(pull_scaled, self.request, made, batched=True)
        if n or len(parts) != 2:
            return self._joined(made)
        first, second = parts
        if [self.recipe.forms[i] for i in self.request.active] == [("constant", 1)] * 2:

            def pull_two(y_bar: Any, plan: Any, other: Any) -> Any:
                return (
                    y_bar if plan is None else plan(y_bar),
                    y_bar if other is None else other(y_bar),
                )

        else:

            def pull_two(y_bar: Any, plan: Any, other: Any) -> Any:
                a, b = first(y_bar), second(y_bar)
                return a if plan is None else plan(a), b if other is None else other(b)

        return mark(pull_two, self.request, made, batched=True)

    def general(self) -> Any:
        """For anything: the conjugate is taken, and projection sees to the rest."""
        parts, n = self._parts(conjugate=True), len(self.saved)

        def make(position: int, batch: int = 0) -> Any:
            whole = parts[position]

            def pull_one(y_bar: Any, *kept: Any) -> Any:
                values = [promoted(x, y_bar) for x in kept[:n]]
                return project(whole(y_bar, *values), kept[n + position], batch=batch)

            return pull_one

        places = range(len(parts))
        many = self._joined(tuple([make(position, 1) for position in places]))
        return self._joined(tuple([make(position) for position in places]), many)

    def _joined(self, parts: tuple[Any, ...], batched: Any = True) -> Any:
        pull = parts[0] if len(parts) == 1 else _join(parts, -1)
        return mark(pull, self.request, parts, batched=batched)

    def _parts(self, conjugate: bool) -> tuple[Any, ...]:
        return tuple([self._part(i, conjugate) for i in self.request.active])

    def _part(self, i: int, conjugate: bool) -> Any:
        """``y_bar conj(p)`` for one operand, as a function of y_bar and just the saved values."""
        recipe, saved = self.recipe, self.saved
        partial, (form, value) = recipe.partials[i], recipe.forms[i]
        assert partial is not None
        if form == "constant" and not recipe.singular:
            return _times_constant(value, conjugate)
        if form == "slot" and not (conjugate or recipe.singular):
            if len(saved) == 1:
                return lambda y_bar, kept: y_bar * kept
            if len(saved) == 2:
                if saved[0] == value:
                    return lambda y_bar, kept, _: y_bar * kept
                return lambda y_bar, _, kept: y_bar * kept
        p = _narrow(partial, saved, len(recipe.partials))
        if conjugate:
            if recipe.singular:
                return lambda y_bar, *kept: strong_multiply(y_bar, conj(p(*kept)))
            return lambda y_bar, *kept: y_bar * conj(p(*kept))
        # The rest says the same thing, with as few calls from the engine to the partial as can be.
        if len(saved) == 1:
            if recipe.singular:
                return lambda y_bar, a: strong_multiply(y_bar, p(a))
            if len(recipe.partials) > 1:
                return lambda y_bar, a: y_bar * p(a)
            if saved == (0,):
                return lambda y_bar, y: y_bar * partial(y, None)
            return lambda y_bar, x: y_bar * partial(None, x)
        if recipe.singular:
            return lambda y_bar, *kept: strong_multiply(y_bar, p(*kept))
        return lambda y_bar, *kept: y_bar * p(*kept)


# Pairs of partials whose two products are best made by one function: the product and the sum.
_TOGETHER: dict[Any, Callable[..., Any]] = {
    (("slot", 2), ("slot", 1), (1, 2)): lambda z_bar, x, y: (z_bar * y, z_bar * x),
    (("constant", 1), ("constant", 1), ()): lambda z_bar: (z_bar, z_bar),
}


def _with_numbers(pull: Any) -> Any:
    """A pull of complex numbers that is given Python's real ones as such."""
    return lambda y_bar, *kept: pull(y_bar, *[promoted(x, y_bar) for x in kept])


def _copy(function: Any) -> Any:
    return type(function)(
        function.__code__, function.__globals__, function.__name__, None, function.__closure__
    )


def _join(parts: tuple[Any, ...], n: int) -> Any:
    """One function that gives all parts; n is the number of saved values, -1 for any."""
    if len(parts) == 2 and n in (0, 1, 2):
        first, second = parts
        return (
            lambda y_bar: (first(y_bar), second(y_bar)),
            lambda y_bar, a: (first(y_bar, a), second(y_bar, a)),
            lambda y_bar, a, b: (first(y_bar, a, b), second(y_bar, a, b)),
        )[n]
    return lambda y_bar, *kept: tuple([p(y_bar, *kept) for p in parts])


def _used(partial: Partial, n: int) -> Slots:
    """Which of the result and the operands a partial reads: names that do not start with _."""
    code = getattr(partial, "__code__", None)
    if code is None:
        return tuple(range(n + 1))
    names = code.co_varnames[: code.co_argcount]
    return tuple([i for i, name in enumerate(names) if not name.startswith("_")])


def _times_constant(c: Any, conjugate: bool) -> Any:
    if c == 1:
        return lambda y_bar, *_: y_bar
    if c == -1:
        return lambda y_bar, *_: -y_bar
    if conjugate:
        c = c.conjugate()
    return lambda y_bar, *_: y_bar * c


_NARROWED: dict[Any, Callable[[Partial], Partial]] = {
    (1, (0,)): lambda p: lambda y: p(y, None),
    (1, (1,)): lambda p: lambda x: p(None, x),
    (2, (0,)): lambda p: lambda z: p(z, None, None),
    (2, (1,)): lambda p: lambda x: p(None, x, None),
    (2, (2,)): lambda p: lambda y: p(None, None, y),
    (2, (0, 1)): lambda p: lambda z, x: p(z, x, None),
    (2, (0, 2)): lambda p: lambda z, y: p(z, None, y),
    (2, (1, 2)): lambda p: lambda x, y: p(None, x, y),
}


def _narrow(partial: Partial, saved: Slots, n: int) -> Partial:
    """A partial as a function of the saved values alone."""
    if saved == tuple(range(n + 1)):
        return partial
    if (n, saved) in _NARROWED:
        return _NARROWED[n, saved](partial)

    def narrowed(*kept: Any) -> Any:
        slots: list[Any] = [None] * (n + 1)
        for slot, value in zip(saved, kept, strict=True):
            slots[slot] = value
        return partial(*slots)

    return narrowed
