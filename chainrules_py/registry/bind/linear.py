"""Binding of statements about linear functions: elements of linear operands are not saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.ops.creation import full_like
from chainrules_py.primitives.plugins import Layer
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.batched_tangents import (
    aligned,
    batched,
    count,
    lengthened,
    one_by_one,
)
from chainrules_py.registry.bind.bind import (
    Bound,
    Halves,
    Recipe,
    Request,
    SharedRun,
    annotate,
    plain_function,
)
from chainrules_py.registry.bind.elementwise_pulls import join
from chainrules_py.tangents.arithmetic import add_tangents
from chainrules_py.tangents.primal_promotion import real_numbers
from chainrules_py.tangents.space import (
    Space,
    fit,
    kind_of,
    known_space,
    refuse_numbers,
    space,
    spread,
    widened,
)
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.zeros import ZERO, ZEROS, ZeroTangent, is_zero
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.type_info import alike, hosted, type_info


def _own_of(adjoint: Callable[..., Any], request: Request) -> Any:
    """Return a library's own version of an adjoint and its cotangents' classes, or None.

    If another engine sees the calls, a cotangent may also be of a class that its values trace.
    """
    classes = {*request.operands}
    library = type_info(hosted(classes)).library
    if adjoint not in library.adjoint or (len(classes) > 1 and not alike(classes)):
        return None
    classes |= {*library.floats}
    classes |= {type_info(c).dispatch_type for c in classes if type_info(c).host is not None}
    return library.adjoint[adjoint], frozenset(classes)


def unchanged(y_bar: Any, *xs: Any, **options: Any) -> Any:
    """Return the cotangent: the transpose for an operand that is only added to."""
    return y_bar


class LinearRecipe(SharedRun):
    """Jointly linear in some operands: a transpose for each of them.

    It is constant in those with a zero; for those with None no derivative is stated.
    """

    constructor = "linear_rule"
    is_linear = is_smooth = saves_values = True

    def __init__(
        self,
        transposes: tuple[Callable[..., Any] | ZeroTangent | None, ...],
        variadic: bool,
        pull_into: Callable[..., Any] | None,
        batched: Any = False,
    ) -> None:
        self.transposes = transposes
        self.functions = (*transposes, pull_into)
        self.variadic, self.pull_into, self.batched = variadic, pull_into, batched

    def stated_in(self, n: int) -> tuple[bool, ...]:
        """Return for each of n operands whether the function is linear in it."""
        return tuple(map(callable, self._each(n)))

    def _each(self, n: int) -> tuple[Any, ...]:
        """Return the transpose, or zero, or None, of each of n operands."""
        fixed = len(self.transposes) - self.variadic
        return self.transposes[:fixed] + self.transposes[fixed:] * (n - fixed)

    def checked(self, request: Request) -> Callable[..., Any]:
        """Return a function that computes the value; it raises where a transpose is missing."""
        primal, statement = request.primal, request.statement
        if statement.layer < Layer.THIRD_PARTY:
            return primal  # in these packages' rules, None may also mean a constant
        each = zip(self._each(len(request.operands)), request.wanted, strict=True)
        unstated = [i for i, (t, wanted) in enumerate(each) if t is None and wanted]

        def computed(*xs: Any, **options: Any) -> Any:
            for x in [xs[i] for i in unstated if kind_of(xs[i]) in ("real", "complex")]:
                raise NotDifferentiableError(
                    f"{statement!r} gives None for {describe(x)}, as for what cannot be perturbed, "
                    f"and it is differentiated in; give its transpose, or ZeroTangent() if "
                    f"{statement.primal.__name__} is constant in it"
                )
            return primal(*xs, **options)

        return computed if unstated else primal

    def _transpose(self, i: int) -> Callable[..., Any]:
        fixed = len(self.transposes) - self.variadic
        last: Any = self.transposes[min(i, fixed)] if self.variadic else self.transposes[i]
        return last if i < fixed else lambda *xs, **options: last(*xs, **options, argnum=i - fixed)

    def forward(self, request: Request) -> Bound:
        """Bind the function itself; a tangent like its operand takes a short path."""
        if request.active != (0,) or sum(self.stated_in(len(request.operands))) > 1:
            return super().forward(request)
        primal, operation, (push, _, _) = (
            request.primal,
            request.statement.primal,
            self.halves(request),
        )

        def run(tangents: tuple[Any, ...], x: Any, *xs: Any, **options: Any) -> Any:
            y, (t,) = primal(x, *xs, **options), tangents
            if getattr(t, "dtype", None) is not getattr(x, "dtype", 0):
                return y, push(tangents, options, known_space(y), _shape_of(x), *xs)
            y_dot = (primal if type(t) is type(x) else operation)(t, *xs, **options)
            return y, (y_dot if fits(y_dot, y) else spread(y_dot, y))

        return Bound(request, run)

    def halves(self, request: Request) -> Halves:
        """Return the function itself, applied to tangents, and its transposes."""
        linear = self.stated_in(len(request.operands))
        primal, operation, active = request.primal, request.statement.primal, request.active
        transposes = [self._transpose(i) for i in active]

        def moved(tangents: tuple[Any, ...], xs: Any) -> list[Any]:
            given = dict(zip(active, tangents, strict=True))
            return [_dense(given.get(i, ZERO), x) if linear[i] else x for i, x in enumerate(xs)]

        def push(tangents: tuple[Any, ...], options: dict[str, Any], y: Any, *xs: Any) -> Any:
            if all([is_zero(t) for t in tangents]):
                return ZeroTangent()
            return spread(operation(*moved(tangents, xs), **options), y)

        each = one_by_one(push)

        def push_many(tangents: tuple[Any, ...], options: dict[str, Any], y: Any, *xs: Any) -> Any:
            n = count(tangents)
            if n is None:
                return ZeroTangent()
            long = [lengthened(x, n) if flag else x for x, flag in zip(xs, linear, strict=True)]
            long = moved(tangents, _arrayed(long, tangents) if self.variadic else long)
            if self.batched == "broadcast":
                pairs = zip(long, linear, strict=True)
                found: Any = [aligned(x, y.ndim) if flag else x for x, flag in pairs], options
            else:
                found = self._lengthened(long, options)
            if found is None:
                return each(tangents, options, y, *xs)
            return spread(operation(*found[0], **found[1]), y, batch=1)

        annotate(push, request, batched=push_many if self.batched else None)

        def pull(y_bar: Any, options: dict[str, Any], _: Any, *xs: Any) -> Any:
            return [transpose(y_bar, *xs, **options) for transpose in transposes]

        def save(xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            y = primal(*xs, **options)
            kept = [_shape_of(x) if flag else x for x, flag in zip(xs, linear, strict=True)]
            return y, (options, known_space(y), *kept)

        return push, pull, save

    def _lengthened(self, xs: list[Any], options: dict[str, Any]) -> Any:
        """Return operands and options of a call with leading directions; None for one by one."""
        return self.batched(tuple(xs), options) if callable(self.batched) else (xs, options)

    def reverse(self, request: Request) -> Bound:
        """Bind the transposes, applied to the cotangent and the operands' spaces."""
        linear, primal = self.stated_in(len(request.operands)), request.primal
        pull = _joined(tuple([self._pull(i, request, linear) for i in request.active]), request)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y = primal(*xs, **options)
            kept = [
                x if not flag else of if type(of := space(x)) is Space else _shape_of(x)
                for x, flag in zip(xs, linear, strict=True)
            ]
            return y, (pull, links, options, *kept)

        def run_first(links: Any, x: Any, *xs: Any, **options: Any) -> Any:
            of = of if type(of := space(x)) is Space else _shape_of(x)
            return primal(x, *xs, **options), (pull, links, options, of, *xs)

        first = linear[0] and sum(linear) == 1
        return Bound(request, run_first if first else run, pull_into=self._into(request))

    def _pull(self, i: int, request: Request, linear: tuple[bool, ...]) -> Any:
        """Build the pull of one operand."""
        transpose = self._transpose(i)
        if type_info(request.operands[i]).is_python_number:
            narrow = transpose
            transpose = lambda y_bar, *xs, **options: narrow(widened(y_bar), *xs, **options)

        def pull_one(y_bar: Any, options: dict[str, Any], *xs: Any) -> Any:
            return fit(transpose(y_bar, *xs, **options), xs[i])

        each = one_by_one(pull_one)

        def pull_many(y_bar: Any, options: dict[str, Any], *xs: Any) -> Any:
            if transpose is unchanged:
                return fit(y_bar, xs[i], batch=1)
            n = count(y_bar) or 0
            long = [lengthened(x, n) if flag else x for x, flag in zip(xs, linear, strict=True)]
            found = self._lengthened(long, options)
            if found is None:
                return each(y_bar, options, *xs)
            return fit(transpose(y_bar, *found[0], **found[1]), xs[i], batch=1)

        pull: Any = pull_one
        if len(linear) == 1 and (found := _own_of(transpose, request)) is not None:
            own, classes = found

            def pull_own(y_bar: Any, options: dict[str, Any], of: Any) -> Any:
                if type(y_bar) not in classes:
                    return fit(transpose(y_bar, of, **options), of)
                x_bar = own(y_bar, of, **options)
                return x_bar if x_bar.dtype == of.dtype else fit(x_bar, of)

            pull = pull_own

        return annotate(pull, request, batched=pull_many if self.batched else None)

    def _into(self, request: Request) -> Callable[..., Any] | None:
        add_into: Any = self.pull_into
        if add_into is None or request.active != (0,):
            return None
        cls, *others = request.operands
        known = isinstance(add_into, Primitive)
        add = plain_function(add_into, (cls, cls, *others)) if known else add_into

        def pull_into(buffer: Any, y_bar: Any, options: dict[str, Any], of: Any, *xs: Any) -> None:
            alike = type(buffer) is cls is type(y_bar)
            (add if alike else add_into)(buffer, y_bar, *xs, **options)

        return pull_into


class BilinearRecipe(SharedRun):
    """Linear in each of two operands: the two adjoints, with parameters ``(y_bar, a, b)``."""

    constructor = "bilinear_rule"
    is_smooth = saves_values = computes_all = True

    def __init__(
        self, left: Callable[..., Any], right: Callable[..., Any], batched: Any = False
    ) -> None:
        self.adjoints = self.functions = (left, right)
        self.batched = batched

    def halves(self, request: Request) -> Halves:
        """Return the function itself, applied to one tangent and one operand, and its adjoints."""
        primal, operation, active = request.primal, request.statement.primal, request.active
        adjoints = [self.adjoints[i] for i in active]

        def term(i: int, t: Any, options: dict[str, Any], y: Any, a: Any, b: Any) -> Any:
            return operation(*((a, t) if i else (t, b)), **options)

        def term_many(i: int, t: Any, options: dict[str, Any], y: Any, a: Any, b: Any) -> Any:
            if self.batched == "broadcast":
                return term(i, aligned(t, y.ndim), options, y, a, b)
            return self.batched[i](t, a, b, **options)

        def make(term: Callable[..., Any], batch: int) -> Any:
            def push(tangents: tuple[Any, ...], options: dict[str, Any], y: Any, *xs: Any) -> Any:
                y_dot: Any = ZERO
                for i, t in zip(active, tangents, strict=True):
                    if type(t) in ZEROS:
                        continue
                    t_dot = term(i, t() if type(t) is Thunk else t, options, y, *xs)
                    y_dot = t_dot if y_dot is ZERO else add_tangents(y_dot, t_dot)
                return spread(y_dot, y, batch=batch)

            return push

        push = annotate(
            make(term, 0), request, batched=make(term_many, 1) if self.batched else None
        )

        def pull(y_bar: Any, options: dict[str, Any], _: Any, *xs: Any) -> Any:
            return [adjoint(y_bar, *xs, **options) for adjoint in adjoints]

        def save(xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            a, b = xs
            of_a, of_b = known_space(a), known_space(b)  # raises for objects and texts
            y = primal(a, b, **options)
            kept = (a if 1 in active else of_a, b if 0 in active else of_b)
            return y, (options, space(y), *kept)

        return push, pull, save

    def _pull(self, i: int, request: Request) -> Any:
        """Build the pull of one operand."""
        adjoint = self.adjoints[i]
        own, classes = _own_of(adjoint, request) or (adjoint, frozenset())
        cls = request.operands[1 - i]
        asks = not issubclass(cls, Tracer) and type_info(cls).is_array

        def pull_one(y_bar: Any, options: dict[str, Any], a: Any, b: Any) -> Any:
            x, other = (b, a) if i else (a, b)
            if type(y_bar) in classes and type(other) is cls:
                x_bar = own(y_bar, a, b, **options)
                if x_bar.dtype is x.dtype and x_bar.shape == x.shape:
                    return x_bar
            elif asks and other.dtype is not getattr(y_bar, "dtype", None):
                other = real_numbers(other, y_bar)  # an adjoint may compute with it alone
                x_bar = adjoint(y_bar, *((other, b) if i else (a, other)), **options)
            else:
                x_bar = adjoint(y_bar, a, b, **options)
            return x_bar if fits(x_bar, x) else fit(x_bar, space(x))

        def pull_many(y_bar: Any, options: dict[str, Any], a: Any, b: Any) -> Any:
            return fit(adjoint(y_bar, a, b, **options), space(b if i else a), batch=1)

        return annotate(pull_one, request, batched=pull_many if self.batched else None)

    def reverse(self, request: Request) -> Bound:
        """Bind the adjoints; an operand whose elements are not read is saved as its space."""
        primal, active = request.primal, request.active
        pull = _joined(tuple([self._pull(i, request) for i in active]), request)
        owns = [_own_of(f, request) for f in self.adjoints]
        if len(active) == 2 and None not in owns:
            general, ((left, classes), (right, _)) = pull, owns
            cls: Any = request.operands[0]

            def pull_both(y_bar: Any, options: dict[str, Any], a: Any, b: Any) -> Any:
                if type(y_bar) not in classes or type(a) is not cls or type(b) is not cls:
                    return general(y_bar, options, a, b)
                a_bar, b_bar = left(y_bar, a, b, **options), right(y_bar, a, b, **options)
                if a_bar.dtype != a.dtype or a_bar.shape != a.shape:
                    a_bar = fit(a_bar, space(a))
                if b_bar.dtype != b.dtype or b_bar.shape != b.shape:
                    b_bar = fit(b_bar, space(b))
                return a_bar, b_bar

            pull = annotate(pull_both, request, pull.parts, batched=pull.batched)

        def run(links: Any, a: Any, b: Any, **options: Any) -> Any:
            y = primal(a, b, **options)
            kept = (a if 1 in active else space(a), b if 0 in active else space(b))
            return y, (pull, links, options, *kept)

        return Bound(request, run)


class ConstantRecipe(Recipe):
    """Constant wherever it is continuous, or not a differentiable number: no derivative flows."""

    constructor = "non_differentiable"
    is_constant = is_smooth = True

    def stated_in(self, n: int) -> tuple[bool, ...]:
        """Return for each of n operands whether a derivative is stated: never."""
        return (False,) * n


def fits(t: Any, y: Any) -> bool:
    """Return whether a tangent has the dtype and shape of an array or a space."""
    dtype = getattr(t, "dtype", None)
    return dtype is not None and dtype is getattr(y, "dtype", None) and t.shape == y.shape


def _joined(parts: tuple[Any, ...], request: Request) -> Any:
    if len(parts) == 1:
        return annotate(parts[0], request, parts, batched=parts[0].batched)

    def pull_many(y_bar: Any, *kept: Any) -> tuple[Any, ...]:
        return tuple([batched(p)(y_bar, *kept) for p in parts])

    return annotate(join(parts, -1), request, parts, batched=pull_many)


def _dense(t: Any, of: Any) -> Any:
    """Return a tangent, dense if it is zero: a jointly linear operation needs all of them."""
    if not is_zero(t):
        return unthunk(t)
    if type(of) is Space:
        return of.zeros()
    return t


def _arrayed(spaces: list[Any], tangents: tuple[Any, ...]) -> list[Any]:
    """Replace spaces of numbers by those of arrays: a batch of tangents of a number is an array."""
    like = unthunk(next(t for t in tangents if not is_zero(t)))
    return [
        space(full_like(like, shape=of.shape, fill=0))
        if type(of) is Space and of.dtype is None
        else of
        for of in spaces
    ]


def _shape_of(x: Any) -> Any:
    """Return the space of an operand; for a boolean, which has none, a space of its shape."""
    of = space(x)
    if type(of) is not Space and (kind := kind_of(x)) in ("bool", "other"):
        return Space(x) if kind == "bool" else refuse_numbers(x)
    return of
