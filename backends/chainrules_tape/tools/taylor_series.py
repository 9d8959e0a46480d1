"""Taylor series of a program: values that carry the coefficients of a power series.

Sums, products, quotients and frequent functions have recurrences. Any other operation follows from
its rule: the derivative of the series of y is the push of that of x, along a series that is one
term shorter, so that the rule itself runs on series.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from chainrules_py import (
    Config,
    ForwardMode,
    NotDifferentiableError,
    NotImplementedTangent,
    ReverseMode,
    Tangent,
    TracerError,
    ZeroTangent,
    is_zero,
    unthunk,
)
from chainrules_py import ops as v
from chainrules_py.extend import (
    ArrayLike,
    Classes,
    Line,
    Notes,
    Tracer,
    any_engine,
    as_arrays,
    bind,
    caller,
    demand_rule,
    describe,
    explain_error,
    fields_of,
    find_rule,
    find_tracers,
    flatten,
    in_place_operators,
    is_structure_type,
    joined,
    kind_of,
    leaf_tangents,
    looked_into,
    map_leaves,
    moves,
    new_level,
    notes,
    rebuild,
    told,
    unflatten,
    untraced,
)
from chainrules_py.ops import report
from chainrules_tape.core.bare_tape import refuse_over
from chainrules_tape.functions.arguments import refuse_hidden
from chainrules_tape.inspect.kept_calls import check_pushed, trap_is_set
from chainrules_tape.rule_config import recorders
from chainrules_tape.tools.series_recurrences import (
    RECURRENCES,
    Constant,
    computed,
    products,
    zeros,
)

_NUMBERS = ("bool", "int", "real", "complex")
"""The kinds of constants that have zero as their higher coefficients."""


def taylor(f: Callable[..., Any], x: Any, directions: Any, order: int) -> list[Any]:
    """Compute the Taylor coefficients of a function along a curve.

    Parameters
    ----------
    f : callable
        A function of one argument: an array, a number, or a structure of them.
    x
        The start of the curve. Whole numbers count as floats, in the first coefficient too.
    directions
        The direction of a line, a tangent of x; or a list of tangents, the coefficients of t, t²,
        ... of the curve.
    order : int
        The highest power of t.

    Returns
    -------
    list
        ``order + 1`` values in the structure of f's result: the coefficients of 1, t, t², ... of
        ``f(x + t direction)``. The k-th derivative is k! times the k-th coefficient.

    Raises
    ------
    NotDifferentiableError
        If the order is no integer >= 0, or an operation in f has no derivative.

    Notes
    -----
    `taylor` nests with other differentiation: coefficients have gradients, and f may compute
    gradients.

    Examples
    --------
    >>> import numpy as np
    >>> taylor(np.exp, 0.0, 1.0, 3) == [1.0, 1.0, 0.5, 0.5 / 3]
    True
    """
    if isinstance(order, bool) or not isinstance(order, numbers.Integral) or order < 0:
        raise NotDifferentiableError(f"order={order!r}; a Taylor polynomial has a whole order")
    order, outside = int(order), len(recorders.under_way)
    curve = directions if _depth(directions) > _depth(x) else [directions]
    leaves, tree = flatten((x,))
    rows = [leaf_tangents("taylor", (x,), (t,)) for t in curve[:order]]
    for outer in [notes[t.level] for t in find_tracers(leaves) if t.level in notes]:
        outer.inside = True  # coefficients of what is linear do not depend on x
    level, given = new_level(), []
    for k, leaf in enumerate(as_arrays(leaves)):
        if kind_of(leaf) not in ("real", "complex", "int"):
            given.append(leaf)
            continue
        start = leaf * 1.0 if kind_of(leaf) == "int" else leaf
        terms = [zeros(start) if is_zero(row[k]) else row[k] for row in rows]
        terms += [zeros(start)] * (order - len(terms))
        given.append(_stacked(start, level, terms))
    noted = notes[level] = Notes()
    try:
        recorders.under_way.append(noted)  # so that blocks that record nothing refuse it
        y = map_leaves(joined, f(*unflatten(tree, given)))
        refuse_hidden(f, "the result", flatten(y)[0], level)
    except Exception as error:
        explain_error(error)
        raise
    finally:
        del recorders.under_way[outside:]
        notes.pop(level, None)
    noted.report(f, any([isinstance(x, Series) and x.level == level for x in flatten(y)[0]]))
    return [_each_coefficient(y, level, k) for k in range(order + 1)]


def even(s: Any, *, phi: Callable[[Any], Any]) -> Any:
    """Compute an even function of the root of s: of a length, from the sum of squares.

    Parameters
    ----------
    s : array or number
        Numbers >= 0.
    phi : callable
        A smooth, elementwise function of numbers >= 0 that is even: its derivatives of odd order
        at 0 are 0, up to the order of the derivatives that are taken.

    Returns
    -------
    array or number
        ``phi(sqrt(s))``, whose derivatives at s = 0 follow from those of phi.

    Warns
    -----
    DegeneracyWarning
        If the slope of phi at 0 is not 0.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import hessian
    >>> matern = lambda r: (1 + r) * np.exp(-r)
    >>> hessian(lambda x: even(np.sum(x * x), phi=matern))(np.zeros(2)).tolist()
    [[-1.0, 0.0], [0.0, -1.0]]
    """
    terms = taylor(phi, 0.0, 1.0, 2 * _derivative_order(s) + 1)
    message = "a function that even() is given has a slope at 0: it is not even"
    report(np.any((untraced(s) == 0) & (abs(untraced(terms[1])) > 1e-8)), message=message)
    sizes = [float(abs(untraced(t))) for t in terms]
    around = zip(sizes[2::2], sizes[3:-1:2], sizes[4::2], strict=False)
    is_smooth = all([odd <= 1e-8 * (low * high) ** 0.5 for low, odd, high in around])
    terms = [t if isinstance(t, Tracer) else float(t) for t in terms[::2]]
    # Derivatives of phi(sqrt(s)) have errors of 1e-16 / √s and 1e-16 / s√s; in the series the next
    # odd power may be missing, such as r⁵ of a Matérn kernel. Where it ends, both are alike.
    low, high = (1.0, *sizes[::2], 0.0)[-3:-1]
    end = (2.5e-9 if len(terms) > 2 else 1e-16) * low / high if high and is_smooth else 0.0
    small = v.less_equal(s, end)
    near, far = v.where(small, s, 0.0), v.sqrt(v.where(small, 1.0, s))
    return v.where(small, functools.reduce(lambda y, c: y * near + c, terms[::-1]), phi(far))


def _derivative_order(x: Any) -> int:
    """Return the order of the derivatives that are taken of a value; 4 by another engine."""
    if not isinstance(x, Tracer):
        return 4 * moves(x)
    return len(getattr(x, "terms", "1")) + _derivative_order(x.__payload__)


def _depth(x: Any) -> int:
    """Return how many lists there are around the first leaf."""
    return 1 + _depth(x[0] if x else None) if isinstance(x, list) else 0


class SeriesConfig(Config):
    """Configuration of series as rules see it: they may push through functions."""

    capabilities = frozenset((ForwardMode, ReverseMode))
    jvp: Any = property(lambda _: any_engine.jvp)
    vjp: Any = property(lambda _: any_engine.vjp)


def _write(x: Any, *_: Any) -> Any:
    line = Line(caller())
    write = (
        "nest jvp, as no Taylor series goes through what this line calls"
        if line.called
        else "make another, y = y + x, or one of elements, y = np.stack([...])"
    )
    raise TracerError(
        told(f"{describe(x.payload)} has a Taylor series, and is written to", line, write)
    )


def _write_by(x: Any, *_: Any) -> Any:
    """Refuse to write to an array; return NotImplemented for one without axes."""
    return _write(x) if getattr(x.payload, "shape", ()) else NotImplemented


class Series(ArrayLike):
    """Value with the coefficients of t, t², ..."""

    __slots__ = ("_level", "payload", "stack", "terms")
    state = __slots__
    engine = "series"
    config = SeriesConfig()
    array_members: ClassVar[dict[str, Any]] = {
        "__setitem__": _write,
        **dict.fromkeys(in_place_operators, _write_by),
    }
    __dispatch_type__: ClassVar[type]

    def __init__(self, value: Any, level: int, terms: Sequence[Any], stack: Any = None) -> None:
        self.payload, self.stack = value, stack
        self.terms, self._level = tuple(terms), level

    @property
    def level(self) -> int:
        """The level of its expansion."""
        return self._level

    @property
    def is_over(self) -> bool:
        """Whether its expansion has ended."""
        return self._level not in notes

    @property
    def orders(self) -> int:
        """The number of derivatives it carries; iterative solvers take as many steps."""
        return len(self.terms)

    def __trace__(
        self,
        primitive: Any,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Compute the series of a call in which this expansion has the highest level."""
        if self.is_over and not isinstance(self.payload, Tracer):  # else it stands for the payload
            refuse_over()
        level, f, operands = self._level, primal or primitive, joined(operands)
        mine = [x for x in find_tracers(operands) if isinstance(x, Series) and x.level == level]
        terms = [x.terms for x in mine]
        order = min(map(len, terms))
        plain = [_value(x, level) for x in operands]
        if order == 0:
            return map_leaves(lambda y: series(y, level, ()), f(*plain, **options))
        flat = primitive in RECURRENCES and not any(map(is_structure_type, map(type, operands)))
        rule = find_rule(primitive, tuple(map(type, operands)), self.config) if flat else None
        if rule is not None and rule.forward is not None and rule.forward.source.is_ours:
            xs = [_coefficients(x, level, order) for x in operands]
            if not all([type(x) is np.ndarray or _is_plain(x) for x in xs]):
                xs = [[*x] if type(x) is np.ndarray else x for x in xs]
            found = computed(primitive, xs, options)
            if found is not None:
                if level not in _known and trap_is_set():  # not in a rule, which may mask a NaN
                    check_pushed(primitive, plain, terms, found[0], found)
                return series(found[0], level, found[1:], found)
        # The push of a rule computes the same again of series that are one term shorter, and its
        # own push of still shorter ones.
        outermost, known = level not in _known, _known.setdefault(level, {})
        key = (f, order, *map(id, operands), *[(name, _key(x)) for name, x in options.items()])
        try:
            if key not in known:
                made = self._by_rule(primitive, primal, operands, options, order)
                known[key] = made, (operands, options)
                if outermost and trap_is_set():
                    made_terms = [getattr(x, "terms", ()) for x in find_tracers(made)]
                    check_pushed(primitive, plain, terms, made, made_terms)
            return known[key][0]
        finally:
            if outermost:
                del _known[level]

    def _by_rule(
        self, primitive: Any, primal: Any, operands: tuple[Any, ...], options: Any, order: int
    ) -> Any:
        """Integrate the push of the rule along the series that is one term shorter."""
        level, f = self._level, primal or primitive
        xs = [map_leaves(lambda x: _cut(x, level, order - 1), x) for x in operands]
        ts = [_slope(x, level, order) for x in operands]
        wanted = tuple([not is_zero(t) for t in ts])
        classes = tuple(map(type, xs))
        rule = find_rule(primitive, classes, self.config)
        if rule is None or rule.forward is None:
            if looked_into(primitive, classes, self.config):
                return primitive.__wrapped__(*operands, **options)
            return demand_rule(primitive, classes, self.config, "forward")  # which raises
        bound = bind(rule, classes, wanted, "forward", primal=primal, config=self.config)
        if bound is None:
            return f(*[_value(x, level) for x in operands], **options)
        if bound.recipe.is_linear:
            linear = bound.recipe.stated_in(len(operands))
            return self._term_by_term(f, primitive, operands, linear, options, order)
        if bound.recipe.constructor == "bilinear_rule" or primitive is v.einsum:
            factors = [_coefficients(x, level, order) for x in operands]
            first, *terms = products(functools.partial(f, **options), factors, order)
            return series(first, level, terms)
        given = tuple([t for t, w in zip(ts, bound.wanted, strict=True) if w])
        y, y_dot = bound.run(given, *xs, **options)
        if primitive.has_body and order > 1:  # one term shows whether it captured the variable
            first = map_leaves(lambda x: _cut(x, level, 1), operands)
            self._by_rule(primitive, primal, first, options, 1)
        elif primitive.has_body:
            for x in find_tracers((y, unthunk(y_dot))):
                primitive.unmixed(series(x, level, ()))
        made = _integrated(y, unthunk(y_dot), level, order)
        _known[level][id(made), order - 1] = y, made
        return made

    def _term_by_term(
        self,
        f: Any,
        operation: Any,
        operands: Any,
        linear: Sequence[bool],
        options: Any,
        order: int,
    ) -> Any:
        """Call a linear function on each coefficient."""
        level = self._level

        def at(k: int) -> list[Any]:
            pairs = zip(operands, linear, strict=True)
            return [_each_coefficient(x, level, k, moves) for x, moves in pairs]

        rows = [at(k) for k in range(order + 1)]
        first, *terms = [
            (f if k == 0 else operation)(*row, **options) for k, row in enumerate(rows)
        ]
        leaves, tree = flatten(first)
        columns = zip(*[flatten(t)[0] for t in terms], strict=True)
        made = [series(y, level, ts) for y, ts in zip(leaves, columns, strict=True)]
        return operation.unmixed(unflatten(tree, made))


_known: dict[int, dict[Any, tuple[Any, Any]]] = {}
"""By level: the results of the calls that the outermost rule under way has made, with what keeps
the ids in their keys unique."""


def _key(x: Any) -> Any:
    """Return what tells an option from others: texts of plain values, else the identity."""
    if type(x) is tuple:
        return tuple(map(_key, x))
    return repr(x) if type(x) in (bool, int, float, str, type(None)) else id(x)


def _each_coefficient(x: Any, level: int, k: int, moves: bool = True) -> Any:
    return map_leaves(lambda leaf: _coefficient(leaf, level, k, moves), x)


def _coefficient(x: Any, level: int, k: int, moves: bool) -> Any:
    """Return a coefficient of a value; for a constant, zero after the first."""
    if _is_mine(x, level):
        return x.terms[k - 1] if k else x.payload
    return zeros(x) if moves and k and kind_of(x) in _NUMBERS else x


def series(y: Any, level: int, terms: Sequence[Any], stack: Any = None) -> Any:
    """Return a value with its coefficients; a value that cannot vary is returned unchanged.

    The coefficients may be in one array, ``stack``, with a leading axis.
    """
    if getattr(getattr(y, "dtype", None), "kind", "") == "O":
        raise NotDifferentiableError(
            f"{describe(y)} is computed with, and no Taylor series is known of its elements: give "
            f"an array of a floating type, as np.asarray(x, float)"
        )
    if kind_of(y) not in ("real", "complex"):
        return y
    return _classes[type(y)](y, level, terms, stack if type(stack) is np.ndarray else None)


def _stacked(y: Any, level: int, terms: Sequence[Any]) -> Any:
    """Return a value with its coefficients, in one array if they are NumPy arrays of one dtype."""
    plain = [type(t) is np.ndarray and t.dtype == y.dtype and t.shape == y.shape for t in terms]
    if type(y) is not np.ndarray or y.dtype.kind not in "fc" or not all(plain):
        return series(y, level, terms)
    stack = np.stack([y, *terms])
    return series(stack[0], level, [*stack[1:]], stack)


def _is_plain(x: Any) -> bool:
    """Return whether it is the coefficient of a constant number or NumPy array."""
    return type(x) is Constant and type(x[0]) in (int, float, complex, np.float64, np.ndarray)


_classes = Classes(Series, lambda value, *_: value)


def _value(x: Any, level: int) -> Any:
    return map_leaves(lambda x: x.payload if _is_mine(x, level) else x, x)


def _is_mine(x: Any, level: int) -> bool:
    return isinstance(x, Series) and x.level == level


def _cut(x: Any, level: int, order: int) -> Any:
    """Return a series with fewer terms; without terms it is its value."""
    if not _is_mine(x, level):
        return x
    made = series(x.payload, level, x.terms[:order]) if order else x.payload
    return _known[level].setdefault((id(x), order), (made, x))[0]


def _slope(x: Any, level: int, order: int) -> Any:
    """Return the derivative of an operand in t: a series that is one term shorter."""
    if is_structure_type(type(x)) and find_tracers(x):
        entries = {key: _slope(field, level, order) for key, field in fields_of(x)}
        held = {key: t for key, t in entries.items() if not is_zero(t)}
        return Tangent.of(type(x), held) if held else ZeroTangent()
    if not _is_mine(x, level):
        return ZeroTangent()
    first, *rest = [k * t if k > 1 else t for k, t in enumerate(x.terms[:order], 1)]
    return series(first, level, rest) if rest else first


def _integrated(y: Any, slope: Any, level: int, order: int) -> Any:
    """Return the series of a value and its derivative in t, field by field."""
    if is_structure_type(type(y)):
        parts = [
            _integrated(
                field, ZeroTangent() if is_zero(slope) else unthunk(slope[key]), level, order
            )
            for key, field in fields_of(y)
        ]
        return rebuild(y, parts)
    start = _value(y, level)
    if isinstance(slope, NotImplementedTangent):  # which a coefficient cannot represent
        raise NotDifferentiableError(slope.reason)
    if is_zero(slope):
        zero = zeros(start) if kind_of(start) in ("real", "complex") else None
        return series(start, level, [zero] * order)
    terms = [slope.payload, *slope.terms] if _is_mine(slope, level) else [slope]
    terms += [zeros(start)] * (order - len(terms))
    return series(start, level, [t / k if k > 1 else t for k, t in enumerate(terms, 1)])


def _coefficients(x: Any, level: int, order: int) -> Any:
    if not _is_mine(x, level):
        return Constant((x,))
    return [x.payload, *x.terms[:order]] if x.stack is None else x.stack[: order + 1]
