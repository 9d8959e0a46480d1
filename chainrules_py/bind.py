"""A rule, specialised once for operand types, wanted operands and a mode: the only consumer of rules.

What is decided here is not decided again at each call: which implementation computes the primal,
which partials are constants, where a complex conjugate or a strong zero is needed. What is left
for the call is one test that shape and dtype stayed the same; if not, a general form projects.

A reverse run returns ``(y, record)`` with ``record = (pull, links, *saved)``; ``links`` is whatever
the engine passed in. ``pull(y_bar, *saved)`` gives the cotangent, or with more than one operand
wanted the tuple of them, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py import arrays
from chainrules_py.config import Config
from chainrules_py.errors import NoRuleError, NotDifferentiableError, ProjectionError, RuleError, describe
from chainrules_py.linear import LinearMap
from chainrules_py.project import (
    Space,
    dtype_kind,
    kind_of,
    project,
    space,
    spread,
    unbroadcasting,
)
from chainrules_py.registry import Rule, Statement
from chainrules_py.structure import fields_of, is_structure_type
from chainrules_py.tangents import (
    AbstractTangent,
    AbstractZero,
    NoTangent,
    Tangent,
    ZeroTangent,
    add_tangents,
    canonicalize,
    is_zero,
    unthunk,
)
from chainrules_py.vocabulary.elementwise import conj, strong_multiply
from chainrules_py.vocabulary.manipulation import broadcast_to

__all__ = ["Bound", "bind"]

_NUMBERS = (int, float, complex)


@final
class Bound:
    """A rule ready to run.

    Attributes
    ----------
    run : callable
        In reverse mode ``run(links, *operands, **options) -> (y, record)``; in forward mode
        ``run(tangents, *operands, **options) -> (y, y_dot)``, one tangent per wanted operand.
    wanted : tuple of bool
        The mask it was bound for.
    pull_into : callable or None
        ``pull_into(buffer, y_bar, *saved)`` adds in place what ``pull`` would return; only with
        exactly one wanted operand.
    statement : Statement
        What it was made from.
    careful : bool
        Whether pulls may give ``ZeroTangent()``, or tangents of structures.
    """

    __slots__ = ("careful", "pull_into", "run", "statement", "wanted")

    def __init__(
        self,
        run: Callable[..., Any],
        wanted: tuple[bool, ...],
        statement: Statement,
        pull_into: Callable[..., Any] | None = None,
    ) -> None:
        self.run = run
        self.wanted = wanted
        self.statement = statement
        self.pull_into = pull_into
        self.careful: bool = getattr(statement.recipe, "careful", False)

    def __repr__(self) -> str:
        return f"<bound {self.statement!r} wanted={self.wanted}>"


def bind(
    rule: Rule,
    operands: tuple[type, ...],
    wanted: tuple[bool, ...],
    mode: str,
    *,
    primal: Callable[..., Any] | None = None,
    config: Config | None = None,
) -> Bound | None:
    """Specialise a rule.

    Parameters
    ----------
    rule : Rule
        From `find_rule`.
    operands : tuple of type
        The types of the payloads.
    wanted : tuple of bool
        For which operands tangents are given, or cotangents asked.
    mode : {"forward", "reverse"}
        Which half.
    primal : callable, optional
        The function that was called, where it is not the primitive: it computes the value, so
        that tracing does not change a bit of it.
    config : Config, optional
        The engine, for rules that call back into it.

    Returns
    -------
    Bound or None
        None if no derivative flows at all: then only the primal has to be computed.

    Raises
    ------
    NotDifferentiableError
        If the rule does not state this mode.
    """
    key = (operands, wanted, mode, primal, config)
    try:
        return rule.bound[key]  # type: ignore[no-any-return]
    except KeyError:
        pass
    statement = rule.statement(mode)
    if statement is None:
        other = rule.forward or rule.reverse
        msg = f"{rule.primal.__name__} has no {mode} rule; only {other!r}"
        raise NotDifferentiableError(msg)
    recipe = statement.recipe
    if primal is None:
        primal = primal_function(rule.primal, operands)
    bound: Bound | None = getattr(recipe, mode)(statement, operands, wanted, primal, config)
    rule.bound[key] = bound
    return bound


def primal_function(primitive: Any, operands: tuple[type, ...]) -> Callable[..., Any]:
    """What computes a primitive for payloads of these types: the library's own function if all are plain."""
    if any(map(arrays.is_tracer_type, operands)):
        return primitive  # type: ignore[no-any-return]
    found: Callable[..., Any] = primitive.implementation(operands) or primitive
    return found


_origins: dict[Callable[..., Any], Statement] = {}


def origin(pull: Callable[..., Any]) -> Statement | None:
    """The statement that a record's pull was made from: for messages."""
    return getattr(pull, "statement", None)


def part(pull: Callable[..., Any], k: int, y_bar: Any, saved: tuple[Any, ...]) -> Any:
    """Of a pull with several wanted operands, the k-th cotangent alone."""
    parts = getattr(pull, "parts", None)
    if parts is None:
        bars = pull(y_bar, *saved)
        return bars[k] if type(bars) is tuple else bars
    return parts[k](y_bar, *saved)


def _mark(pull: Any, statement: Statement, parts: tuple[Any, ...] | None = None) -> Any:
    """Write on a pull whose it is; read only on the error path, and where one part is asked."""
    pull.statement = statement
    pull.parts = parts
    return pull


# ---------------------------------------------------------------- element by element


class _ByDtype(dict[Any, Any]):
    """The fast pull for a dtype of operands and result, found at the dtype's first sight."""

    def __init__(self, like: type, make: Callable[[str], Any]) -> None:
        super().__init__()
        self.like = like
        self.make = make

    def __missing__(self, dtype: Any) -> Any:
        pull = self[dtype] = self.make(dtype_kind(dtype, self.like))
        return pull


class ScalarRecipe:
    """One partial per operand, of the result and the operands, each acting element by element."""

    pen = "scalar_rule"

    def __init__(
        self, partials: tuple[Callable[..., Any] | None, ...], singular: bool, complex: str | None
    ) -> None:
        self.partials = partials
        self.singular = singular
        self.complex = complex
        self.used = tuple(() if p is None else _used(p) for p in partials)
        self.forms = tuple(None if p is None else _form(p, u) for p, u in zip(partials, self.used, strict=True))

    # -- reverse

    def reverse(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        wanted = tuple(w and p is not None for w, p in zip(wanted, self.partials, strict=True))
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        saved = tuple(sorted({slot for i in active for slot in self.used[i]}))
        general = self._general_pull(statement, active, saved)
        check = self._checker(statement)

        def make(kind: str) -> Any:
            if kind == "complex":
                check()
            return self._fast_pull(statement, active, saved, conjugate=kind == "complex")

        shaped = [i for i, cls in enumerate(operands) if arrays.dispatch_type(cls) not in _NUMBERS and arrays.dispatch_type(cls) is not bool]
        like = operands[shaped[0]] if shaped else float
        if not shaped:
            run = self._run_numbers(primal, active, saved, make("real"), general, check)
        elif len(operands) == 1:
            run = self._run_unary(primal, saved, _ByDtype(like, make), general, check)
        elif len(operands) == 2:
            def make_broadcast(kind: str) -> Any:
                return self._broadcast_pull(statement, active, make(kind).parts, len(saved))

            pulls, broadcast = _ByDtype(like, make), _ByDtype(like, make_broadcast)
            run = self._run_binary(primal, active, saved, pulls, broadcast, general, check, operands)
        else:
            run = self._run_general(primal, active, saved, general, check)
        return Bound(run, wanted, statement)

    def _checker(self, statement: Statement) -> Callable[[], None]:
        def check() -> None:
            if self.complex is None:
                msg = (
                    f"{statement.primal.__name__} has no rule for complex numbers; its scalar_rule "
                    f"({statement.where}) does not say complex='holomorphic' or complex='real'"
                )
                raise NoRuleError(msg)

        return check

    def _run_unary(self, primal: Any, saved: tuple[int, ...], pulls: _ByDtype, general: Any, check: Any) -> Any:
        keep_y, keep_x = 0 in saved, 1 in saved

        def general_record(links: Any, x: Any, y: Any) -> Any:
            if self.complex is None and "complex" in (kind_of(x), kind_of(y)):
                check()
            return y, (general, links, *_pick(saved, (y, x)), space(x))

        if keep_x and not keep_y:

            def run(links: Any, x: Any) -> Any:
                y = primal(x)
                dtype = y.dtype
                if dtype is x.dtype:
                    return y, (pulls[dtype], links, x)
                return general_record(links, x, y)

        elif keep_y and not keep_x:

            def run(links: Any, x: Any) -> Any:
                y = primal(x)
                dtype = y.dtype
                if dtype is x.dtype:
                    return y, (pulls[dtype], links, y)
                return general_record(links, x, y)

        else:

            def run(links: Any, x: Any) -> Any:
                y = primal(x)
                dtype = y.dtype
                if dtype is x.dtype:
                    return y, (pulls[dtype], links, *_pick(saved, (y, x)))
                return general_record(links, x, y)

        return run

    def _run_binary(self, primal: Any, active: tuple[int, ...], saved: tuple[int, ...], pulls: _ByDtype, broadcast: _ByDtype, general: Any, check: Any, operands: tuple[type, ...]) -> Any:
        def general_record(links: Any, x: Any, y: Any, z: Any) -> Any:
            if self.complex is None and "complex" in (kind_of(x), kind_of(y), kind_of(z)):
                check()
            dtype = getattr(z, "dtype", None)
            if dtype is not None and all(getattr((x, y)[i], "dtype", None) is dtype for i in active):
                shape = z.shape
                plans = [unbroadcasting(shape, (x, y)[i].shape) for i in active]
                return z, (broadcast[dtype], links, *_pick(saved, (z, x, y)), *plans)
            spaces = [space((x, y)[i]) for i in active]
            return z, (general, links, *_pick(saved, (z, x, y)), *spaces)

        if active != (0, 1):
            (k,) = active
            if arrays.dispatch_type(operands[k]) in _NUMBERS:  # a number against an array: always projected

                def run(links: Any, x: Any, y: Any) -> Any:
                    return general_record(links, x, y, primal(x, y))

                return run
            other = 2 - k

            def run(links: Any, x: Any, y: Any) -> Any:
                z = primal(x, y)
                wanted = y if k else x
                dtype = z.dtype
                if dtype is wanted.dtype and z.shape == wanted.shape:
                    if saved == (other,):
                        return z, (pulls[dtype], links, x if k else y)
                    return z, (pulls[dtype], links, *_pick(saved, (z, x, y)))
                return general_record(links, x, y, z)

            return run
        if saved == ():

            def run(links: Any, x: Any, y: Any) -> Any:
                z = primal(x, y)
                dtype = z.dtype
                if dtype is x.dtype and dtype is y.dtype and x.shape == y.shape:
                    return z, (pulls[dtype], links)
                return general_record(links, x, y, z)

        elif saved == (1, 2):

            def run(links: Any, x: Any, y: Any) -> Any:
                z = primal(x, y)
                dtype = z.dtype
                if dtype is x.dtype and dtype is y.dtype and x.shape == y.shape:
                    return z, (pulls[dtype], links, x, y)
                return general_record(links, x, y, z)

        else:

            def run(links: Any, x: Any, y: Any) -> Any:
                z = primal(x, y)
                dtype = z.dtype
                if dtype is x.dtype and dtype is y.dtype and x.shape == y.shape:
                    return z, (pulls[dtype], links, *_pick(saved, (z, x, y)))
                return general_record(links, x, y, z)

        if any(arrays.dispatch_type(cls) in _NUMBERS for cls in operands):

            def run(links: Any, x: Any, y: Any) -> Any:
                return general_record(links, x, y, primal(x, y))

        return run

    def _run_numbers(self, primal: Any, active: tuple[int, ...], saved: tuple[int, ...], fast: Any, general: Any, check: Any) -> Any:
        def run(links: Any, *xs: Any) -> Any:
            y = primal(*xs)
            if type(y) is float and all(type(x) is not complex for x in xs):
                return y, (fast, links, *_pick(saved, (y, *xs)))
            if self.complex is None and "complex" in map(kind_of, (y, *xs)):
                check()
            return y, (general, links, *_pick(saved, (y, *xs)), *(space(xs[i]) for i in active))

        return run

    def _run_general(self, primal: Any, active: tuple[int, ...], saved: tuple[int, ...], general: Any, check: Any) -> Any:
        def run(links: Any, *xs: Any) -> Any:
            y = primal(*xs)
            if self.complex is None and "complex" in map(kind_of, (y, *xs)):
                check()
            return y, (general, links, *_pick(saved, (y, *xs)), *(space(xs[i]) for i in active))

        return run

    def _fast_pull(self, statement: Statement, active: tuple[int, ...], saved: tuple[int, ...], conjugate: bool) -> Any:
        parts = tuple(self._part(i, saved, conjugate) for i in active)
        if len(parts) == 1:
            return _mark(parts[0], statement, parts)
        forms = tuple(self.forms[i] for i in active)
        if len(active) == 2 and not conjugate and not self.singular:
            a, b = forms
            if a == ("slot", 2) and b == ("slot", 1) and saved == (1, 2):
                return _mark(lambda z_bar, x, y: (z_bar * y, z_bar * x), statement, parts)
            if a == b == ("constant", 1):
                return _mark(lambda z_bar: (z_bar, z_bar), statement, parts)
        if len(parts) == 2:
            first, second = parts
            if len(saved) == 0:
                return _mark(lambda z_bar: (first(z_bar), second(z_bar)), statement, parts)
            if len(saved) == 1:
                return _mark(lambda z_bar, a: (first(z_bar, a), second(z_bar, a)), statement, parts)
            if len(saved) == 2:
                return _mark(lambda z_bar, a, b: (first(z_bar, a, b), second(z_bar, a, b)), statement, parts)
        return _mark(lambda y_bar, *s: tuple(p(y_bar, *s) for p in parts), statement, parts)

    def _part(self, i: int, saved: tuple[int, ...], conjugate: bool) -> Any:
        """``y_bar -> y_bar conj(p)`` for one operand, of exactly the saved values."""
        form = self.forms[i]
        assert form is not None
        if form[0] == "constant" and not self.singular:
            return _constant_part(form[1], conjugate)
        partial = _narrow(self.partials[i], saved, len(self.partials))
        singular = self.singular
        if len(saved) == 1 and not singular:
            if conjugate:
                return lambda y_bar, a: y_bar * conj(partial(a))
            if form[0] == "slot":
                return lambda y_bar, a: y_bar * a
            written = self.partials[i]
            if len(self.partials) == 1 and saved == (1,):
                return lambda y_bar, x: y_bar * written(None, x)  # type: ignore[misc]
            return lambda y_bar, a: y_bar * partial(a)
        if singular:
            if conjugate:
                return lambda y_bar, *s: strong_multiply(y_bar, conj(partial(*s)))
            return lambda y_bar, *s: strong_multiply(y_bar, partial(*s))
        if conjugate:
            return lambda y_bar, *s: y_bar * conj(partial(*s))
        return lambda y_bar, *s: y_bar * partial(*s)

    def _broadcast_pull(self, statement: Statement, active: tuple[int, ...], parts: tuple[Any, ...], n: int) -> Any:
        """For operands of one dtype and of different shapes: the fast parts, then sums."""

        def make(position: int) -> Any:
            part = parts[position]

            def pull_one(y_bar: Any, *kept: Any) -> Any:
                bar = part(y_bar, *kept[:n])
                plan = kept[n + position]
                return bar if plan is None else plan(bar)

            return pull_one

        made = tuple(make(position) for position in range(len(active)))
        if len(made) == 1:
            return _mark(made[0], statement, made)
        if len(made) == 2 and n == 0:
            left, right = parts

            def pull_two(y_bar: Any, a: Any, b: Any) -> Any:
                first, second = left(y_bar), right(y_bar)
                return first if a is None else a(first), second if b is None else b(second)

            return _mark(pull_two, statement, made)
        return _mark(lambda y_bar, *kept: tuple([p(y_bar, *kept) for p in made]), statement, made)

    def _general_pull(self, statement: Statement, active: tuple[int, ...], saved: tuple[int, ...]) -> Any:
        n = len(saved)

        def make(position: int, i: int) -> Any:
            part = self._part(i, saved, conjugate=True)

            def pull_one(y_bar: Any, *kept: Any) -> Any:
                return project(part(y_bar, *kept[:n]), kept[n + position])

            return pull_one

        parts = tuple(make(position, i) for position, i in enumerate(active))
        if len(parts) == 1:
            return _mark(parts[0], statement, parts)
        return _mark(lambda y_bar, *kept: tuple(p(y_bar, *kept) for p in parts), statement, parts)

    # -- forward

    def forward(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        wanted = tuple(w and p is not None for w, p in zip(wanted, self.partials, strict=True))
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        check = self._checker(statement)
        partials = [self.partials[i] for i in active]

        def run(tangents: tuple[Any, ...], *xs: Any) -> Any:
            y = primal(*xs)
            if self.complex is None and "complex" in map(kind_of, (y, *xs)):
                check()
            y_dot: Any = None
            for partial, x_dot in zip(partials, tangents, strict=True):
                if is_zero(x_dot):
                    continue
                p = partial(y, *xs)  # type: ignore[misc]
                term = strong_multiply(unthunk(x_dot), p) if self.singular else unthunk(x_dot) * p
                y_dot = term if y_dot is None else y_dot + term
            return y, ZeroTangent() if y_dot is None else spread(y_dot, y)

        return Bound(run, wanted, statement)


def _pick(slots: tuple[int, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([values[i] for i in slots])


def _used(partial: Callable[..., Any]) -> tuple[int, ...]:
    """Which of the result and the operands a partial reads: those whose names do not start with _."""
    code = partial.__code__
    return tuple(i for i, name in enumerate(code.co_varnames[: code.co_argcount]) if not name.startswith("_"))


def _form(partial: Callable[..., Any], used: tuple[int, ...]) -> tuple[str, Any]:
    """``("constant", c)``, ``("slot", i)`` or ``("computed", None)``: what a partial is, if that can be seen."""
    code = partial.__code__
    if code.co_names or code.co_freevars:
        return ("computed", None)
    slots = [object() for _ in range(code.co_argcount)]
    try:
        value = partial(*slots)
    except Exception:
        return ("computed", None)
    if type(value) in _NUMBERS:
        return ("constant", value)
    return next((("slot", i) for i, s in enumerate(slots) if s is value), ("computed", None))


def _constant_part(c: Any, conjugate: bool) -> Any:
    if c == 1:
        return lambda y_bar, *_: y_bar
    if c == -1:
        return lambda y_bar, *_: -y_bar
    if conjugate and type(c) is complex:
        c = c.conjugate()
    return lambda y_bar, *_: y_bar * c


def _narrow(partial: Any, saved: tuple[int, ...], n: int) -> Callable[..., Any]:
    """The partial as a function of the saved values alone."""
    if n == 1:
        if saved == (1,):
            return lambda x: partial(None, x)
        if saved == (0,):
            return lambda y: partial(y, None)
        return partial if saved == (0, 1) else lambda: partial(None, None)
    if n == 2:
        if saved == (1, 2):
            return lambda x, y: partial(None, x, y)
        if saved == (2,):
            return lambda y: partial(None, None, y)
        if saved == (1,):
            return lambda x: partial(None, x, None)
        if saved == (0, 1, 2):
            return partial  # type: ignore[no-any-return]

    def narrowed(*values: Any) -> Any:
        slots: list[Any] = [None] * (n + 1)
        for slot, value in zip(saved, values, strict=True):
            slots[slot] = value
        return partial(*slots)

    return narrowed


# ---------------------------------------------------------------- linear and bilinear


class LinearRecipe:
    """Linear in some operands jointly; one transpose for each of them, None where an operand is no number to vary."""

    pen = "linear_rule"

    def __init__(
        self, transposes: tuple[Callable[..., Any] | None, ...], variadic: bool, pull_into: Callable[..., Any] | None
    ) -> None:
        self.transposes = transposes
        self.variadic = variadic
        self.pull_into = pull_into

    def _linear(self, n: int) -> tuple[bool, ...]:
        fixed = len(self.transposes) - self.variadic
        rest = (self.transposes[-1] is not None,) * (n - fixed) if self.variadic else ()
        return (*(t is not None for t in self.transposes[:fixed]), *rest)

    def _transpose(self, i: int) -> Any:
        fixed = len(self.transposes) - self.variadic
        if i < fixed:
            return self.transposes[i]
        last = self.transposes[-1]
        return lambda *a, **k: last(*a, **k, argnum=i - fixed)  # type: ignore[misc]

    def reverse(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        linear = self._linear(len(operands))
        wanted = tuple(w and flag for w, flag in zip(wanted, linear, strict=True))
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None

        def make(i: int) -> Any:
            transpose = self._transpose(i)

            def pull_one(y_bar: Any, options: dict[str, Any], *xs: Any) -> Any:
                return _fitted(transpose(y_bar, *xs, **options), xs[i])

            return pull_one

        parts = tuple(make(i) for i in active)
        if len(parts) == 1:
            pull = _mark(parts[0], statement, parts)
        else:
            pull = _mark(lambda y_bar, *kept: tuple(p(y_bar, *kept) for p in parts), statement, parts)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y = primal(*xs, **options)
            kept = [space(x) if flag else x for x, flag in zip(xs, linear, strict=True)]
            return y, (pull, links, options, *kept)

        into: Callable[..., Any] | None = None
        if self.pull_into is not None and active == (0,):
            add_into = self.pull_into

            def into(buffer: Any, y_bar: Any, options: dict[str, Any], *xs: Any) -> None:
                add_into(buffer, y_bar, *xs[1:], **options)

        return Bound(run, wanted, statement, into)

    def forward(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        linear = self._linear(len(operands))
        wanted = tuple(w and flag for w, flag in zip(wanted, linear, strict=True))
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        word = statement.primal

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y = primal(*xs, **options)
            if all(is_zero(t) for t in tangents):
                return y, ZeroTangent()
            given = dict(zip(active, tangents, strict=True))
            moved = [
                _dense(given.get(i, ZeroTangent()), x) if flag else x
                for i, (x, flag) in enumerate(zip(xs, linear, strict=True))
            ]
            return y, spread_all(word(*moved, **options), y)

        return Bound(run, wanted, statement)


class BilinearRecipe:
    """Linear in each of two operands; the two adjoints, of ``(y_bar, a, b)``."""

    pen = "bilinear_rule"

    def __init__(self, left: Callable[..., Any], right: Callable[..., Any]) -> None:
        self.adjoints = (left, right)

    def reverse(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None

        def make(i: int) -> Any:
            adjoint = self.adjoints[i]

            def pull_one(y_bar: Any, options: dict[str, Any], a: Any, b: Any, *spaces: Any) -> Any:
                return _fitted(adjoint(y_bar, a, b, **options), spaces[i])

            return pull_one

        parts = tuple(make(i) for i in active)
        pull = _mark(
            parts[0] if len(parts) == 1 else lambda y_bar, *kept: tuple(p(y_bar, *kept) for p in parts),
            statement,
            parts,
        )

        def run(links: Any, a: Any, b: Any, **options: Any) -> Any:
            y = primal(a, b, **options)
            # left reads b and, of a, only shapes; what is not wanted need not be kept alive
            kept = (a if 1 in active else space(a), b if 0 in active else space(b))
            return y, (pull, links, options, *kept, space(a), space(b))

        return Bound(run, wanted, statement)

    def forward(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        word = statement.primal

        def run(tangents: tuple[Any, ...], a: Any, b: Any, **options: Any) -> Any:
            y = primal(a, b, **options)
            y_dot: Any = ZeroTangent()
            for i, t in zip(active, tangents, strict=True):
                if not is_zero(t):
                    term = word(unthunk(t), b, **options) if i == 0 else word(a, unthunk(t), **options)
                    y_dot = add_tangents(y_dot, term)
            return y, spread_all(y_dot, y)

        return Bound(run, wanted, statement)


def _fitted(x_bar: Any, onto: Any) -> Any:
    if isinstance(x_bar, AbstractTangent) or type(onto) is not Space:
        return project(x_bar, onto)
    if getattr(x_bar, "shape", ()) == onto.shape and getattr(x_bar, "dtype", None) is onto.dtype and onto.dtype is not None:
        return x_bar
    return project(x_bar, onto)


def _dense(t: Any, x: Any) -> Any:
    if not is_zero(t):
        return unthunk(t)
    of = space(x)
    if type(of) is not Space:
        return t
    zero = of.zeros()
    return zero


def spread_all(y_dot: Any, y: Any) -> Any:
    """`spread`, for results with several outputs as well, whose tangents may come in a plain tuple."""
    if not is_structure_type(type(y)) or isinstance(y_dot, AbstractZero):
        return spread(y_dot, y)
    y_dot = canonicalize(y, y_dot)
    if not isinstance(y_dot, Tangent):
        return y_dot
    fields = dict(fields_of(y))
    return y_dot.map_with(lambda key, t: spread_all(t, fields[key]))


# ---------------------------------------------------------------- the general statement


class GeneralRecipe:
    """A function that gives the value and one `LinearMap` per operand."""

    pen = "rule"
    careful = True

    def __init__(self, derivative: Callable[..., Any], with_config: bool) -> None:
        self.derivative = derivative
        self.with_config = with_config

    def _statement_of(self, config: Any) -> Callable[..., Any]:
        if not self.with_config:
            return self.derivative
        derivative = self.derivative
        return lambda *xs, **options: derivative(config, *xs, **options)

    def reverse(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        derivative = self._statement_of(config)
        n = len(operands)

        def pull_one(y_bar: Any, half: Any, onto: Any, *saved: Any) -> Any:
            if is_zero(half):
                return half
            return _fitted(unthunk(half(y_bar, *saved)), onto)

        def pull_several(y_bar: Any, *kept: Any) -> Any:
            return tuple([pull_one(y_bar, half, onto, *saved) for half, onto, saved in kept])

        parts = tuple(
            (lambda y_bar, *kept, k=k: pull_one(y_bar, kept[k][0], kept[k][1], *kept[k][2])) for k in range(len(active))
        )
        one = _mark(pull_one, statement)
        several = _mark(pull_several, statement, parts)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, maps = _stated(statement, derivative(*xs, **options), n)
            if len(active) == 1:
                m = maps[active[0]]
                if type(m) is not LinearMap:
                    return y, (one, links, m, None)
                return y, (one, links, _half(m.pull, "pull", statement), space(xs[active[0]]), *m.saved)
            kept = []
            for i in active:
                m = maps[i]
                if type(m) is not LinearMap:
                    kept.append((m, None, ()))
                else:
                    kept.append((_half(m.pull, "pull", statement), space(xs[i]), m.saved))
            return y, (several, links, *kept)

        return Bound(run, wanted, statement)

    def forward(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        derivative = self._statement_of(config)
        n = len(operands)

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, maps = _stated(statement, derivative(*xs, **options), n)
            y_dot: Any = ZeroTangent()
            for i, t in zip(active, tangents, strict=True):
                m = maps[i]
                if type(m) is LinearMap and not is_zero(t):
                    term = unthunk(_half(m.push, "push", statement)(unthunk(t), *m.saved))
                    if type(term) is tuple or type(term) is type(y):
                        term = canonicalize(y, term)
                    y_dot = add_tangents(y_dot, term)
            if is_zero(y_dot) and is_zero(space(y)):  # a boolean, which has no tangent at all
                return y, space(y)
            return y, spread_all(y_dot, y)

        return Bound(run, wanted, statement)


def _half(half: Any, name: str, statement: Statement) -> Any:
    if half is None:
        msg = f"{statement!r} gives a LinearMap without {name}; state that half, or use the other mode"
        raise NotDifferentiableError(msg)
    return half


def _stated(statement: Statement, answer: Any, n: int) -> Any:
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], (tuple, list))):
        msg = f"{statement!r} has to return (y, (one LinearMap per operand)), and returned {describe(answer)}"
        raise RuleError(msg)
    maps = answer[1]
    if len(maps) != n or not all(isinstance(m, (LinearMap, NoTangent, ZeroTangent)) for m in maps):
        shown = ", ".join(type(m).__name__ for m in maps)
        msg = (
            f"{statement!r} gives {len(maps)} maps ({shown}) for {n} operands; "
            f"it has to give one LinearMap, or NoTangent(), for each"
        )
        raise RuleError(msg)
    return answer


# ---------------------------------------------------------------- the bottom layer


class FruleRecipe:
    """``frule(tangents, *operands) -> (y, y_dot)``, written out."""

    pen = "frule.register"

    def __init__(self, function: Callable[..., Any], with_config: bool) -> None:
        self.function = function
        self.with_config = with_config

    def forward(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        first = (config,) if self.with_config else ()
        n = len(operands)

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            slots: list[Any] = [NoTangent() if is_zero(space(x)) else ZeroTangent() for x in xs]
            for i, t in zip(active, tangents, strict=True):
                slots[i] = unthunk(t)
            answer = self.function(*first, tuple(slots[:n]), *xs, **options)
            if not (isinstance(answer, tuple) and len(answer) == 2):
                msg = f"{statement!r} has to return (y, y_dot), and returned {describe(answer)}"
                raise RuleError(msg)
            y, y_dot = answer
            return y, spread_all(_given(y_dot, statement), y)

        return Bound(run, wanted, statement)


class RruleRecipe:
    """``rrule(*operands) -> (y, pullback)``, written out."""

    pen = "rrule.register"
    careful = True

    def __init__(self, function: Callable[..., Any], with_config: bool) -> None:
        self.function = function
        self.with_config = with_config

    def reverse(self, statement: Statement, operands: tuple[type, ...], wanted: tuple[bool, ...], primal: Any, config: Any) -> Bound | None:
        active = tuple(i for i, w in enumerate(wanted) if w)
        if not active:
            return None
        first = (config,) if self.with_config else ()
        n = len(operands)

        def pull(y_bar: Any, pullback: Any, *spaces: Any) -> Any:
            bars = pullback(y_bar)
            if not isinstance(bars, tuple) or len(bars) != n:
                msg = f"the pullback of {statement!r} has to return a tuple of {n}, and returned {describe(bars)}"
                raise RuleError(msg)
            wanted_bars = tuple(
                project(unthunk(_given(bars[i], statement)), onto) for i, onto in zip(active, spaces, strict=True)
            )
            return wanted_bars[0] if len(active) == 1 else wanted_bars

        _mark(pull, statement)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            answer = self.function(*first, *xs, **options)
            if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
                msg = f"{statement!r} has to return (y, pullback), and returned {describe(answer)}"
                raise RuleError(msg)
            y, pullback = answer
            return y, (pull, links, pullback, *(space(xs[i]) for i in active))

        return Bound(run, wanted, statement)


def _given(t: Any, statement: Statement) -> Any:
    if t is None:
        msg = f"{statement!r} gave None for a tangent; write ZeroTangent(), or NoTangent() for what cannot be perturbed"
        raise ProjectionError(msg)
    return t


class ConstantRecipe:
    """Constant wherever it is continuous, or no number to vary: no derivative flows."""

    pen = "non_differentiable"

    def reverse(self, *_: Any) -> None:
        return None

    forward = reverse


_ = (_origins, broadcast_to)
