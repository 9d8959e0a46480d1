"""Binding of elementwise statements, on which the speed of engines depends most.

Decisions are made once, when a rule is bound: which function computes the primal, which partials
are constants or operands, where a complex conjugate or a strong zero is needed. Each call only
tests shape and dtype, which selects the pull:

- *fast*: operands and result agree in both, so the products are the cotangents;
- *broadcast*: they agree in dtype, and a plan gives the axes to sum over;
- *general*: dtypes differ, and projection converts the products.

Pushes, of tangents known at the call or later, have the same two ways: if operands, tangents and
result agree in shape and dtype, which one test determines, the sum of the products is the tangent;
the general path promotes the operands, and fits the sum to the result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any, NoReturn, TypeAlias

from chainrules_py.errors import NoRuleError, ProjectionError, RuleError, describe
from chainrules_py.ops import selection as v
from chainrules_py.ops.elementwise import QUOTIENTS, conj, strong_multiply
from chainrules_py.primitives.plugins import Layer
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.registry.bind.batched_tangents import aligned
from chainrules_py.registry.bind.bind import Bound, Halves, Request, SharedRun, annotate, counts
from chainrules_py.registry.bind.elementwise_pulls import (
    NUMBERS,
    Partial,
    Pulls,
    Slots,
    check_product,
    negated,
    times_constant,
)
from chainrules_py.registry.statement_and_rule import Statement
from chainrules_py.tangents.checks import check_is_tangent
from chainrules_py.tangents.primal_promotion import ByDtype, numbers_like, real_numbers
from chainrules_py.tangents.primal_results import check_result, known_results
from chainrules_py.tangents.space import (
    Space,
    check_real,
    kind_of,
    known_space,
    space,
    spread,
)
from chainrules_py.tangents.sum_to_shape import planned
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.values.dispatch_types import Tracer, number_home
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import type_info

SELECTING = {
    v.choose, v.clip, v.clip_above, v.clip_below, v.fmax, v.fmin, v.maximum,
    v.minimum, v.nan_to_num,
}  # fmt: skip
"""Operations whose partials are structural zeros where they do not select an element."""
Term: TypeAlias = Callable[..., Any]
Pick: TypeAlias = Callable[[tuple[Any, ...]], tuple[Any, ...]]
_COMPLEX = complex


class ElementwiseRecipe(SharedRun):
    """Recipe with one partial per operand, of the result and the operands."""

    constructor = "scalar_rule"
    is_elementwise = saves_values = computes_all = True

    def __init__(
        self, partials: tuple[Partial | None, ...], singular: bool, complex: str | None
    ) -> None:
        self.partials = self.functions = partials
        self.singular = singular
        self.is_smooth = not singular
        self.complex = complex
        self.used = tuple([() if p is None else _used(p, len(partials)) for p in partials])
        self.forms: tuple[tuple[str, Any], ...] = tuple(
            [("none", None) if p is None else form_of(p, len(partials)) for p in partials]
        )
        if complex is None and any([type(c) is _COMPLEX for _, c in self.forms]):
            raise RuleError(
                "a partial derivative of a real function is a complex number; give a real one"
            )

    def stated_in(self, n: int) -> tuple[bool, ...]:
        """Return for each of n operands whether it has a partial."""
        return tuple([p is not None for p in self.partials])

    def partial(self, request: Request, i: int) -> Any:
        """Return the partial in operand i; a user's sees Python's integers as floats."""
        partial: Any = self.partials[i]
        whole = {k for k, x in enumerate(request.operands) if type_info(x).dispatch_type is int}
        whole -= counts(request.statement, len(request.operands))
        if not whole or request.statement.source.is_ours or self.forms[i][0] != "computed":
            return partial

        def of_reals(y: Any, *xs: Any) -> Any:
            reals = [real_numbers(x) if k in whole else x for k, x in enumerate(xs)]
            try:
                return partial(real_numbers(y), *reals)
            except Exception:  # it takes integers alone, as counts
                return partial(y, *xs)

        return of_reals

    def check(self, request: Request, y: Any, *xs: Any) -> None:
        """Raise for structures, and for complex numbers without a stated meaning of partials."""
        if self.complex is None and "complex" in map(kind_of, (y, *xs)):
            self.refuse_complex(request.statement)
        if (type(y), getattr(y, "dtype", None)) not in known_results:
            check_result(y)
        if is_structure_type(type(y)):  # a partial derivative is of one number by another
            several = f"write outputs={len(y)} in scalar_rule, or " if isinstance(y, tuple) else ""
            raise RuleError(
                f"{request.statement!r} is of one array or number, and "
                f"{request.statement.primal.__name__} gave {describe(y)}; {several}state its rule "
                f"by @rule or rrule.register"
            )

    def check_shapes(self, statement: Statement, y: Any, *xs: Any) -> None:
        """Raise if the result of a user's function has not the shape of its operands together."""
        shape = getattr(y, "shape", ())
        shapes = [tuple(getattr(x, "shape", ())) for x in xs]
        if shapes.count(shape) == len(shapes):
            return
        with_partials = [s for s, p in zip(shapes, self.partials, strict=True) if p is not None]
        # An operand without a partial may be a table, or be broadcast.
        if not any([_is_broadcast(shape, s) for s in (with_partials, shapes)]):
            primal = statement.primal.__name__
            raise RuleError(
                f"scalar_rule is for functions that act element by element, and {primal} of "
                f"{', '.join(map(describe, xs))} gave {describe(y)}\n"
                f"  rule: {statement.where}\n"
                f"  write @rule({primal}) in place of scalar_rule"
            )

    def refuse_complex(self, statement: Statement) -> None:
        """Raise because the meaning of a partial for complex numbers is not stated."""
        raise NoRuleError(
            f"{statement.primal.__name__} has no rule for complex numbers; its scalar_rule "
            f"({statement.where}) does not say complex='holomorphic' or complex='real'"
        )

    def _terms(self, request: Request) -> list[tuple[Term, Partial | None]]:
        """Return a term per active operand, with its partial if that has to be computed."""
        found: list[tuple[Term, Partial | None]] = []
        # p * t calls a tracer's method directly; t * p would first call an array's.
        traced = any([issubclass(cls, Tracer) for cls in request.operands])
        product: Term = (lambda t, p: p * t) if traced else operator.mul
        if self.singular:
            product = strong_multiply
        if request.statement.primal in SELECTING:  # what is not selected is zero, even if infinite
            product = lambda t, p: strong_multiply(p, t)
        for i in request.active:
            (form, c), partial = self.forms[i], self.partial(request, i)
            constant = form == "constant" and not self.singular
            found.append((times_constant(c), None) if constant else (product, partial))
        return found

    def forward(self, request: Request) -> Bound:
        """Bind the sum over the operands of x_dot p, fitted to the result."""
        primal, terms = request.primal, self._terms(request)
        factors, push = self._factors(terms, request), self._pushing(terms, request)

        def finish(y: Any, tangents: tuple[Any, ...], *xs: Any) -> Any:
            return y, push(tangents, *factors(y, *xs))

        infos = list(map(type_info, request.operands))
        shaped = [i for i, info in enumerate(infos) if not info.is_plain_number]
        if not shaped and not any([issubclass(cls, Tracer) for cls in request.operands]):
            return Bound(request, _push_numbers(primal, terms, finish))
        beside = {info.dispatch_type for info in infos if info.is_plain_number}
        mixed = len({id(infos[i].home) for i in shaped}) > 1  # of NumPy and another library
        if not shaped or mixed or not beside <= {int, float, bool}:
            return Bound(request, lambda tangents, *xs: finish(primal(*xs), tangents, *xs))
        kinds = ("real", "complex") if self.complex is not None and not beside else ("real",)
        fits = ByDtype(request.operands[shaped[0]], lambda kind, _: kind in kinds)
        checked = not request.statement.source.is_ours
        return Bound(request, _push_arrays(primal, terms, shaped, fits, finish, checked))

    def halves(self, request: Request) -> Halves:
        """Return the sums of products with the partials, and the function that computes these."""
        terms, primal, real = self._terms(request), request.primal, self.complex is None
        push = annotate(
            self._pushing(terms, request), request, batched=self._pushing(terms, request, 1)
        )
        factors = self._factors(terms, request)
        adjoints = [
            (times_constant(self.forms[i][1].conjugate()) if partial is None else term, partial)
            for i, (term, partial) in zip(request.active, terms, strict=True)
        ]

        def pull(y_bar: Any, y: Any, *ps: Any) -> Any:
            rest = iter(ps)
            bars = [f(y_bar, None if p is None else conj(next(rest))) for f, p in adjoints]
            return [check_product(bar, y_bar, request.statement, real) for bar in bars]

        def save(xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            y = primal(*xs)
            return y, factors(y, *xs)

        return push, pull, save

    def _factors(
        self, terms: list[tuple[Term, Partial | None]], request: Request
    ) -> Callable[..., Any]:
        """Return a function for the space of the result, and the partials that are computed."""
        computed = [partial for _, partial in terms if partial is not None]
        ours = request.statement.source.is_ours

        def factors(y: Any, *xs: Any) -> tuple[Any, ...]:
            self.check(request, y, *xs)
            if not ours:
                self.check_shapes(request.statement, y, *xs)
            values = numbers_like(y, xs)
            return known_space(y), *[p(*values) for p in computed]

        return factors

    def _pushing(
        self, terms: list[tuple[Term, Partial | None]], request: Request, batch: int = 0
    ) -> Callable[..., Any]:
        """Return a push of the sum of terms, for one direction or for a batch of them."""

        def push(tangents: tuple[Any, ...], y: Any, *ps: Any) -> Any:
            y_dot: Any = None
            rest = iter(ps)
            for t, (term, partial) in zip(tangents, terms, strict=True):
                p = None if partial is None else next(rest)
                if is_zero(t):
                    continue
                t = unthunk(t)
                if batch and hasattr(p, "shape"):
                    spread(p, y)  # raises if the batch would hide that its shape does not fit
                y_dot = _plus(y_dot, term, aligned(t, y.ndim) if batch else t, p)
            return ZeroTangent() if y_dot is None else self._spread(y_dot, y, request, batch)

        return push

    def _spread(self, y_dot: Any, y: Any, request: Request, batch: int = 0) -> Any:
        """Fit a tangent to the result, or its space; a real function has no complex partial."""
        try:
            if self.complex is None and type(of := space(y)) is Space:
                check_real(y_dot, of)
            return spread(y_dot, y, batch=batch)
        except ProjectionError as error:
            error.add_note(f"given by a partial derivative of {request.statement!r}")
            raise

    def reverse(self, request: Request) -> Bound:
        """Bind y_bar conj(p) for each operand, fitted to the operand."""
        saved = tuple(sorted({slot for i in request.active for slot in self.used[i]}))
        pulls = Pulls(self, request, saved)
        # Makes a record of the pull, the links, and what is saved of the result and operands.
        pick = operator.itemgetter(0, 1, *[slot + 2 for slot in saved])
        numbers = [type_info(cls).is_plain_number for cls in request.operands]
        like = request.operands[numbers.index(False) if False in numbers else 0]
        fast, broadcast = ByDtype(like, pulls.fast), ByDtype(like, pulls.broadcast)
        primal, active = request.primal, request.active
        # A partial that only multiplies takes an array of any dtype, as the result is as wide; that
        # of somebody else's function may be narrower, or be real beside a complex operand.
        narrows = request.statement.layer is not Layer.CORE
        wide = complex if narrows else None  # Python's has no dtype, so that none is alike
        arrays = [i for i, cls in enumerate(request.operands) if not numbers[i] or cls is wide]
        computes = narrows or any([self.forms[i][0] == "computed" for i in active])
        computed = arrays if computes else []
        of_dtype = {*active, *computed}.intersection(arrays) or arrays
        general = self._general(request, pick, pulls, broadcast, of_dtype)
        kind, pull = self._alike(request, pulls)
        if kind is not None:
            return Bound(request, _run_numbers(primal, len(numbers), kind, pull, pick, general))
        if any([numbers[i] for i in (*active, *computed)]) or len(numbers) > 2:
            return Bound(request, lambda links, *xs: general(links, primal(*xs), *xs))
        if not request.statement.source.is_ours:
            ends = operator.itemgetter(arrays[0], arrays[-1])  # the arrays of one or two operands
            return Bound(request, _run_theirs(primal, len(numbers), ends, pick, fast, general))
        if len(numbers) == 1:
            return Bound(request, _run_unary(primal, saved, fast, general))
        if len(active) == 1:
            k = active[0]
            alike = any(i != k for i in computed)
            return Bound(request, _run_half(primal, k, pick, fast, broadcast, general, alike))
        return Bound(request, _run_binary(primal, pick, fast, broadcast, general))

    def _alike(self, request: Request, pulls: Pulls) -> tuple[type | None, Any]:
        """Return the class of results that have the operands' dtype, and the pull for these.

        There is one for Python's numbers, and for a library's scalars beside such numbers.
        """
        infos = list(map(type_info, request.operands))
        scalars = {info.dispatch_type for info in infos if not info.is_plain_number}
        active = {request.operands[i] for i in request.active}
        if not scalars:
            if complex not in [info.dispatch_type for info in infos]:
                return float, pulls.fast("real")
            if self.complex is not None and active == {complex}:
                return complex, pulls.fast("complex")
        elif len(scalars) == 1 and scalars == active:
            (cls,) = scalars
            if type_info(cls).is_number and number_home(cls) is not None:
                zero: Any = cls()
                kind = kind_of(zero)
                if kind == "real" or (kind == "complex" and self.complex is not None):
                    return cls, pulls.fast(kind, zero.dtype)
        return None, None

    def _general(
        self,
        request: Request,
        pick: Pick,
        pulls: Pulls,
        broadcast: ByDtype,
        of_dtype: Collection[int],
    ) -> Callable[..., Any]:
        """Build the recorder of calls whose operands and result differ in shape or dtype.

        The pull of a dtype is for results and ``of_dtype`` operands of this dtype.
        """
        active, general = request.active, pulls.general()
        ours = request.statement.source.is_ours

        def record(links: Any, y: Any, *xs: Any) -> Any:
            if not ours:
                self.check(request, y, *xs)
                self.check_shapes(request.statement, y, *xs)
            dtype = getattr(y, "dtype", None)
            found = {getattr(xs[i], "dtype", None) for i in of_dtype}
            if dtype is not None and found == {dtype} and (pull := broadcast[dtype]) is not None:
                plans = planned(y.shape, *[getattr(xs[i], "shape", ()) for i in active])
                return y, (*pick((pull, links, y, *xs)), *plans)
            self.check(request, y, *xs)
            return y, (*pick((general, links, y, *xs)), *[space(xs[i]) for i in active])

        return record


def _run_numbers(
    primal: Any, n: int, kind: type, pull: Any, pick: Pick, general: Any
) -> Callable[..., Any]:
    """Run n numbers; results of a class ``kind`` have the dtype of the operands.

    The frequent case of one and two operands is written out.
    """

    def run_one(links: Any, x: Any) -> Any:
        y = primal(x)
        return (y, pick((pull, links, y, x))) if type(y) is kind else general(links, y, x)

    def run_two(links: Any, x: Any, y: Any) -> Any:
        z = primal(x, y)
        return (z, pick((pull, links, z, x, y))) if type(z) is kind else general(links, z, x, y)

    def run_more(links: Any, *xs: Any) -> Any:
        y = primal(*xs)
        return (y, pick((pull, links, y, *xs))) if type(y) is kind else general(links, y, *xs)

    runs: dict[int, Callable[..., Any]] = {1: run_one, 2: run_two}
    return runs.get(n, run_more)


def _run_unary(primal: Any, saved: Slots, fast: ByDtype, general: Any) -> Callable[..., Any]:
    keep_y, keep_x = 0 in saved, 1 in saved

    def run(links: Any, x: Any) -> Any:
        y = primal(x)
        try:
            dtype = y.dtype
        except AttributeError:  # no array, which `general` refuses
            return general(links, y, x)
        if dtype != x.dtype:
            return general(links, y, x)
        if keep_x:
            return y, ((fast[dtype], links, y, x) if keep_y else (fast[dtype], links, x))
        return y, ((fast[dtype], links, y) if keep_y else (fast[dtype], links))

    return run


def _run_half(
    primal: Any,
    k: int,
    pick: Pick,
    fast: ByDtype,
    broadcast: ByDtype,
    general: Any,
    alike: bool,
) -> Callable[..., Any]:
    """Run two operands, the k-th wanted; ``alike``: the other's dtype has to agree as well."""

    def run(links: Any, x: Any, y: Any) -> Any:
        z = primal(x, y)
        wanted, other = (y, x) if k else (x, y)
        try:
            dtype = z.dtype
        except AttributeError:  # 1j * np.float64(2) is a Python complex
            return general(links, z, x, y)
        if dtype != wanted.dtype or (alike and other.dtype != dtype):
            return general(links, z, x, y)
        result, shape = z.shape, wanted.shape
        if result == shape:
            return z, pick((fast[dtype], links, z, x, y))
        return z, (*pick((broadcast[dtype], links, z, x, y)), *planned(result, shape))

    return run


def _run_binary(
    primal: Any, pick: Pick, fast: ByDtype, broadcast: ByDtype, general: Any
) -> Callable[..., Any]:
    """Run two operands, both wanted."""

    def run(links: Any, x: Any, y: Any) -> Any:
        z = primal(x, y)
        try:
            dtype = z.dtype
        except AttributeError:
            return general(links, z, x, y)
        if dtype == x.dtype == y.dtype:
            if x.shape == y.shape:
                return z, pick((fast[dtype], links, z, x, y))
            plans = planned(z.shape, x.shape, y.shape)
            return z, (*pick((broadcast[dtype], links, z, x, y)), *plans)
        return general(links, z, x, y)

    return run


def _run_theirs(
    primal: Any, n: int, ends: Any, pick: Pick, fast: ByDtype, general: Any
) -> Callable[..., Any]:
    """Run a user's function of n operands, one or two, whose result may have another shape."""

    def run_one(links: Any, x: Any) -> Any:
        y = primal(x)
        try:
            if (dtype := y.dtype) == x.dtype and y.shape == x.shape:
                return y, pick((fast[dtype], links, y, x))
        except AttributeError:  # no array, which `general` refuses
            pass
        return general(links, y, x)

    def run(links: Any, *xs: Any) -> Any:
        y, (a, b) = primal(*xs), ends(xs)
        try:
            if y.dtype == a.dtype == b.dtype and y.shape == a.shape == b.shape:
                return y, pick((fast[y.dtype], links, y, *xs))
        except AttributeError:  # no array, which `general` refuses
            pass
        return general(links, y, *xs)

    return run_one if n == 1 else run


def _is_broadcast(result: Sequence[Any], shapes: list[Any]) -> bool:
    """Return whether shapes broadcast to that of the result; a length of Dask's may be NaN."""
    n = max(map(len, shapes), default=0)
    columns = zip(*[(1,) * (n - len(shape)) + shape for shape in shapes], strict=True)
    return n == len(result) and all([
        r != r or (r in lengths and all([m in (1, r) for m in lengths]))
        for r, lengths in zip(result, columns, strict=True)
    ])  # fmt: skip


def _used(partial: Partial, n: int) -> Slots:
    """Return the slots that a partial of n operands reads: those not named with a leading _."""
    # ``*xs`` reads the rest; what follows the operands, as in a loop's k=k, has a default.
    names = (*parameters_of(partial).positional, *["x"] * (n + 1))[: n + 1]
    return tuple([i for i, name in enumerate(names) if not name.startswith("_")])


# ------------------------------------------------------------------------- forms of partials


class _Slot:
    """A placeholder for a parameter, or its negative, with which a partial is called once.

    Any computation or test with it raises a TypeError.
    """

    __slots__ = ("place", "sign")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, place: int, sign: int = 1) -> None:
        self.place, self.sign = place, sign

    def __neg__(self) -> _Slot:
        return _Slot(self.place, -self.sign)

    def __bool__(self) -> NoReturn:
        raise TypeError

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError


def form_of(partial: Partial, n: int) -> tuple[str, Any]:
    """Classify a partial of n operands by its result: constant, one of its parameters, computed.

    A computed one comes with its quotient (`chainrules_py.registry.bind.quotient_pulls`), or None.
    """
    code: Any = getattr(partial, "__code__", None)
    if type(partial) is not FunctionType or code.co_freevars:
        return ("computed", None)
    named = [partial.__globals__.get(name) for name in code.co_names]
    if named and not (len(named) == 1 and any([named[0] is quotient for quotient in QUOTIENTS])):
        return ("computed", None)
    # The quotient gives its operands, as nothing can be computed with slots.
    stubs = dict.fromkeys(code.co_names, lambda above, below: (above, below))
    try:
        value = FunctionType(code, stubs)(*[_Slot(i) for i in range(n + 1)])
    except TypeError:  # it computes with its parameters
        return ("computed", None)
    if type(value) in NUMBERS:
        return ("constant", value)
    if type(value) is _Slot and value.sign > 0:
        return ("slot", value.place)
    return ("computed", _quotient_of(*value) if named and type(value) is tuple else None)


def _quotient_of(above: Any, below: Any) -> tuple[float, int | None, int] | None:
    """Return constant, slot above and slot below of ``divide(2, x)`` or ``divide(-z, y)``."""
    if type(below) is not _Slot or below.sign < 0:
        return None
    if type(above) is _Slot:
        return (above.sign, above.place, below.place)
    return (above, None, below.place) if type(above) in (int, float) else None


def _plus(y_dot: Any, term: Term, t: Any, p: Any) -> Any:
    """Add a term to a sum; a term that only negates is subtracted."""
    try:
        if y_dot is None:
            return term(t, p)
        return y_dot - t if term is negated else y_dot + term(t, p)
    except TypeError:
        check_is_tangent(p)  # a user's partial may be no number
        raise


def _push_numbers(primal: Any, terms: list[Any], finish: Any) -> Callable[..., Any]:
    """Build the push for Python numbers."""

    def run(tangents: tuple[Any, ...], *xs: Any) -> Any:
        y = primal(*xs)
        if type(y) is not float or any([type(t) is not float for t in tangents]):
            return finish(y, tangents, *xs)
        y_dot: Any = None
        try:
            for (term, partial), t in zip(terms, tangents, strict=True):
                part = term(t, partial and partial(y, *xs))
                y_dot = part if y_dot is None else y_dot + part
        except TypeError:
            return finish(y, tangents, *xs)
        return (y, y_dot) if type(y_dot) is float else finish(y, tangents, *xs)

    return run


def _push_arrays(
    primal: Any, terms: list[Any], shaped: list[int], fits: ByDtype, finish: Any, checked: bool
) -> Callable[..., Any]:
    """Build the push for arrays, which are the ``shaped`` operands, of one dtype.

    Zero tangents lack the attributes that are read here, and the product may have another dtype. A
    user's partial may be no number, and the result of a user's function, which is ``checked``, may
    have another shape. `finish` handles all these cases.
    """
    (term, partial), place, rest = terms[0], shaped[0], shaped[not checked :]
    others = [(k, *pair) for k, pair in enumerate(terms)][1:]

    def run(tangents: tuple[Any, ...], *xs: Any) -> Any:
        y, t = primal(*xs), tangents[0]
        try:
            dtype = y.dtype
            if xs[place].dtype == dtype and t.dtype == dtype and fits[dtype]:
                y_dot = term(t, partial and partial(y, *xs))
                for i in rest:
                    if xs[i].dtype != dtype or (checked and xs[i].shape != y.shape):
                        return finish(y, tangents, *xs)
                for k, more, p in others:
                    if (t := tangents[k]).dtype != dtype:
                        return finish(y, tangents, *xs)
                    y_dot = y_dot - t if more is negated else y_dot + more(t, p and p(y, *xs))
                if y_dot.dtype == dtype and y_dot.shape == y.shape:
                    return y, y_dot
        except (AttributeError, TypeError):  # no array, which `finish` refuses; np.float64 * 1j
            pass
        return finish(y, tangents, *xs)

    return run
