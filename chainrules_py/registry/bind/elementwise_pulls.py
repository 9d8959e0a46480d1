"""The pulls of elementwise statements: the factors, and the axes to sum over."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from chainrules_py.errors import ProjectionError, describe
from chainrules_py.ops.elementwise import conj, strong_multiply
from chainrules_py.registry.bind.batched_tangents import direction
from chainrules_py.registry.bind.bind import Request, annotate
from chainrules_py.registry.bind.quotient_pulls import Quotients
from chainrules_py.tangents.checks import check_is_tangent, shape_of
from chainrules_py.tangents.primal_promotion import promoted
from chainrules_py.tangents.space import fit, kind_of, project, space
from chainrules_py.tangents.zeros import AbstractTangent
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.type_info import as_scalar, type_info

NUMBERS = (int, float, complex)
Partial: TypeAlias = Callable[..., Any]
Slots: TypeAlias = tuple[int, ...]  # 0 is the result, 1, 2, ... are the operands
form = operator.attrgetter("dtype", "shape")


class Pulls:
    """The pulls of one `ElementwiseRecipe` for one request, in their three forms."""

    def __init__(self, recipe: Any, request: Request, saved: Slots) -> None:
        self.recipe, self.request = recipe, request
        self.saved = saved
        self.forms: list[tuple[str, Any]] = [recipe.forms[i] for i in request.active]
        self.numbers = {
            info.dispatch_type
            for i in request.active
            if (info := type_info(request.operands[i])).is_plain_number
        }
        self.quotients = [q if form == "computed" else None for form, q in self.forms]
        classes = set(request.operands)
        plain = all([type_info(c).is_number and not issubclass(c, Tracer) for c in classes])
        self.conj: Callable[[Any], Any] = _conjugate if plain else conj
        self.short = Quotients(request.operands)
        # Both operands of a quotient share its division.
        self.shared = recipe.singular and self.short.both(self.quotients, saved)

    def fast(self, kind: str, dtype: Any = None) -> Any:
        """Return the pull for operands and result of one shape and one dtype of this kind."""
        return self._held(dtype, kind, self._fast(kind))

    def broadcast(self, kind: str, dtype: Any) -> Any:
        """Return the pull for one dtype and different shapes: the fast parts, then sums.

        Return None if a cotangent is of a Python number that has another dtype.
        """
        double = (kind, getattr(dtype, "itemsize", 0)) == ("real", 8)
        alike = self.numbers.issubset([float] if double else [])
        return self._held(dtype, kind, self._broadcast(kind)) if alike else None

    def _held(self, dtype: Any, kind: str, pull: Any) -> Any:
        """Convert cotangents to a dtype, where a partial may be wider than its operands.

        A partial of constants is as wide as the library makes it. For integers, the dtype is that
        of the corresponding real numbers.
        """
        if kind in ("int", "bool"):
            return self._joined(
                tuple([_with_numbers(part, len(self.saved)) for part in pull.parts])
            )
        known = dtype is None or getattr(dtype, "itemsize", 0) >= _WIDEST.get(kind, 0)
        if known or ("computed", None) not in self.forms:
            return pull
        return self._joined(tuple(map(_held, pull.parts)))

    def _fast(self, kind: str) -> Any:
        if kind == "complex" and self.recipe.complex is None:
            self.recipe.refuse_complex(self.request.statement)
        parts, together = self._parts(conjugate=kind == "complex"), None
        if kind == "complex" and any(
            [type_info(cls).dispatch_type in (int, float) for cls in self.request.operands]
        ):
            parts = tuple([_with_numbers(p, len(self.saved)) for p in parts])
        elif not self.recipe.singular:
            together = _together((*self.forms, self.saved), kind == "complex" and self.conj)
        if kind == "real" and self.recipe.singular:
            together = self.short.together(join(parts, 2)) if self.shared else None
            given = zip(self.quotients, parts, strict=True)
            parts = tuple([self.short.part(q, self.saved, strong) for q, strong in given])
        if together is None:
            together = parts[0] if len(parts) == 1 else join(parts, len(self.saved))
        return self._annotated(together, parts)

    def _broadcast(self, kind: str) -> Any:
        parts, n = self._fast(kind).parts, len(self.saved)

        def make(position: int) -> Any:
            fast, constant = parts[position], self.forms[position][0] == "constant"
            summed = self._summed(position, kind, fast)

            def pull_one(y_bar: Any, *kept: Any) -> Any:
                plan = kept[n + position]
                if plan is None:
                    return fast(y_bar, *kept[:n])
                if summed is not None:
                    return summed(plan, y_bar, *kept[:n])
                # Summing first leaves less to multiply.
                return fast(plan(y_bar), *kept[:n]) if constant else plan(fast(y_bar, *kept[:n]))

            if type_info(self.request.operands[self.request.active[position]]).is_plain_number:
                return lambda *given: as_scalar(pull_one(*given))
            return pull_one

        made = tuple(map(make, range(len(parts))))
        if self.numbers or self.forms != [("constant", 1)] * 2:
            return self._joined(made)

        def pull_sum(y_bar: Any, plan: Any, other: Any) -> Any:
            return y_bar if plan is None else plan(y_bar), y_bar if other is None else other(y_bar)

        return self._annotated(pull_sum, made)

    def _summed(self, position: int, kind: str, part: Any) -> Any:
        """Return ``summed(plan, y_bar, *saved)`` for one operand if no product is needed."""
        if kind == "complex":
            return None
        if self.recipe.singular:
            takes = kind == "real" and self.short.sums(self.quotients[position], self.saved)
            return (lambda plan, y_bar, n, d: part(y_bar, n, d, plan)) if takes else None
        form, slot = self.forms[position]
        if form != "slot":
            return None
        k = self.saved.index(slot)
        return lambda plan, y_bar, *kept: plan.of_product(y_bar, kept[k])

    def general(self) -> Any:
        """Return the pull for any operands: it takes the conjugate, and projects the product."""
        parts, n = self._parts(conjugate=True), len(self.saved)

        def make(position: int, batch: int = 0) -> Any:
            whole = _with_numbers(parts[position], n)

            def pull_one(y_bar: Any, *kept: Any) -> Any:
                return fit(whole(y_bar, *kept[:n]), kept[n + position], batch=batch)

            return pull_one

        places = range(len(parts))
        many = self._joined(tuple([make(position, 1) for position in places]))
        return self._joined(tuple([make(position) for position in places]), many)

    def _joined(self, parts: tuple[Any, ...], batched: Any = True) -> Any:
        return self._annotated(parts[0] if len(parts) == 1 else join(parts, -1), parts, batched)

    def _annotated(self, pull: Any, parts: tuple[Any, ...], batched: Any = True) -> Any:
        """Annotate a pull; ``batched`` is its form for a batch of directions, or True."""

        def checked(y_bar: Any, *kept: Any) -> Any:
            pull(direction(y_bar, 0), *kept)  # the batch would hide axes that are too many
            return (pull if batched is True else batched)(y_bar, *kept)

        by_user = "computed" in dict(self.forms) and not self.request.statement.source.is_ours
        return annotate(pull, self.request, parts, batched=checked if by_user else batched)

    def _parts(self, conjugate: bool) -> tuple[Any, ...]:
        return tuple([self._part(i, conjugate) for i in self.request.active])

    def _part(self, i: int, conjugate: bool) -> Any:
        """Return ``y_bar conj(p)`` for one operand, as a function of y_bar and the saved values."""
        recipe, saved, conj = self.recipe, self.saved, self.conj
        partial, (form, value) = recipe.partial(self.request, i), recipe.forms[i]
        assert partial is not None
        if form == "constant" and not recipe.singular:
            # Not the shared `negated`, since each pull is annotated with its statement.
            return (
                (lambda t, *_: -t)
                if value == -1
                else times_constant(value.conjugate() if conjugate else value)
            )
        if form == "slot" and not recipe.singular:
            k = saved.index(value)
            if conjugate:
                return lambda y_bar, *kept: y_bar * conj(kept[k])
            several = lambda y_bar, *kept: y_bar * kept[k]
            return several if len(saved) > 1 else lambda y_bar, kept: y_bar * kept
        p = _narrow(partial, saved, len(recipe.partials))
        if form == "computed" and not self.request.statement.source.is_ours:
            return self._checked(partial, p, conjugate)
        times = strong_multiply if recipe.singular else operator.mul
        if conjugate:
            return lambda y_bar, *kept: times(y_bar, conj(p(*kept)))
        if len(saved) == len(recipe.partials) == 1 and not recipe.singular:  # saves a call
            of_y = lambda y_bar, y: y_bar * partial(y, None)
            return (lambda y_bar, x: y_bar * partial(None, x)) if saved[0] else of_y
        return lambda y_bar, *kept: times(y_bar, p(*kept))

    def _checked(self, partial: Partial, p: Partial, conjugate: bool) -> Any:
        """Return ``y_bar conj(p)`` for a user's partial."""
        statement, real = self.request.statement, self.recipe.complex is None
        times = strong_multiply if self.recipe.singular else operator.mul
        alone = self.saved == (1,) and len(self.recipe.partials) == 1

        # A product with the form of the cotangent shows that the partial is valid, without a call.
        def pull(y_bar: Any, *kept: Any) -> Any:
            part = partial(None, *kept) if alone else p(*kept)
            try:
                bar = times(y_bar, conj(part) if conjugate else part)
            except TypeError:
                check_is_tangent(part)  # raises, as it is no number
                raise
            try:
                if type(bar) is type(y_bar) and (type(bar) in NUMBERS or form(bar) == form(y_bar)):
                    return bar
            except AttributeError:  # numbers that are traced have no form
                return bar
            return check_product(bar, y_bar, statement, real)

        return pull


def check_product(bar: Any, y_bar: Any, of: Any, real: bool) -> Any:
    """Return the product of a cotangent and a partial derivative of ``of``, after checking it.

    Raises
    ------
    ProjectionError
        If the partial is not one number per element, or is complex for a ``real`` function.
    """
    kinds = kind_of(bar), kind_of(y_bar)
    if isinstance(bar, AbstractTangent):
        return bar  # a derivative that is zero, or not stated
    same_shape = "none" in kinds or (shape_of(bar) or ()) == (shape_of(y_bar) or ())
    other_kind = kinds[0] != kinds[1] and kinds[0] in (real and "complex", "other")
    if same_shape and not other_kind:
        check_is_tangent(bar)
        return bar
    raise ProjectionError(
        f"a partial derivative of {of!r} has not the shape or kind of the result: "
        f"{describe(y_bar)} times it is {describe(bar)}; give a real number, or an array of the "
        f"result's shape"
    )


def _conjugate(x: Any) -> Any:
    """Conjugate a number by Python's method, as that of NumPy's numbers takes ten times as long."""
    return complex.conjugate(x) if issubclass(type(x), complex) else x.conjugate()


def times_constant(c: Any) -> Callable[..., Any]:
    """Return the product with a constant partial, as a function."""
    if c == 1:
        return lambda t, *_: t
    return negated if c == -1 else lambda t, *_: t * c


def negated(t: Any, *_: Any) -> Any:
    """Return the negative of a tangent."""
    return -t


def _together(forms: tuple[Any, ...], conj: Any) -> Callable[..., Any] | None:
    """Return one new function for both products of a frequent pair of partials."""
    if forms == (("slot", 2), ("slot", 1), (1, 2)):
        of_real = lambda z_bar, x, y: (
            (z_bar * y, z_bar * x) if x is not y else (t := z_bar * x, t)  # a square
        )
        return (lambda z_bar, x, y: (z_bar * conj(y), z_bar * conj(x))) if conj else of_real
    return (lambda z_bar: (z_bar, z_bar)) if forms == (*[("constant", 1)] * 2, ()) else None


_WIDEST = {"real": 8, "complex": 16}
"""The itemsize from which on no partial is wider than its operands, by kind."""


def _held(part: Any) -> Any:
    """Wrap the pull of one cotangent, to give it the dtype of the incoming cotangent."""

    def pull(y_bar: Any, *kept: Any) -> Any:
        bar = part(y_bar, *kept)
        return bar if bar.dtype == y_bar.dtype else project(bar, space(y_bar).with_shape(bar.shape))

    return pull


def _with_numbers(pull: Any, n: int) -> Any:
    """Wrap a pull, to convert its n saved values to numbers of the cotangent's kind."""
    return lambda y_bar, *kept: pull(y_bar, *[promoted(x, y_bar) for x in kept[:n]], *kept[n:])


def join(parts: tuple[Any, ...], n: int) -> Any:
    """Join parts into one function; n is the number of saved values, -1 for any."""
    if len(parts) == 2 and n < 3:
        first, second = parts
        return (
            lambda y_bar: (first(y_bar), second(y_bar)),
            lambda y_bar, a: (first(y_bar, a), second(y_bar, a)),
            lambda y_bar, a, b: (first(y_bar, a, b), second(y_bar, a, b)),
            lambda y_bar, *kept: (first(y_bar, *kept), second(y_bar, *kept)),
        )[n]
    return lambda y_bar, *kept: tuple([p(y_bar, *kept) for p in parts])


# The frequent forms, by the number of operands and what is saved: they cost a third of the general
# one at each pull.
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
    """Narrow a partial to a function of only the saved values."""
    if saved == tuple(range(n + 1)):
        return partial
    if (n, saved) in _NARROWED:
        return _NARROWED[n, saved](partial)
    pick = operator.itemgetter(*[saved.index(i) if i in saved else -1 for i in range(n + 1)])
    return lambda *kept: partial(*pick((*kept, None)))
