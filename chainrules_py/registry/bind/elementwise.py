"""Binding of elementwise statements, on which the speed of engines depends most.

Decisions are made once, when a rule is bound: which function computes the primal, which partials
are constants or operands, where a complex conjugate or a strong zero is needed. Each call only
tests shape and dtype, which selects the pull:

- *fast*: operands and result agree in both, so the products are the cotangents;
- *broadcast*: they agree in dtype, and a plan gives the axes to sum over;
- *general*: dtypes differ, and projection converts the products.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import RuleError
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.registry.bind.bind import Bound, Request
from chainrules_py.registry.bind.elementwise_pulls import Pulls
from chainrules_py.registry.bind.elementwise_pushes import ByDtype, Partial, Pushes, Slots, form_of
from chainrules_py.tangents.space import space
from chainrules_py.tangents.sum_to_shape import planned, unbroadcasting
from chainrules_py.values.type_info import type_info

_COMPLEX = complex


class ElementwiseRecipe(Pushes):
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
        self.forms = tuple(
            [("none", None) if p is None else form_of(p, len(partials)) for p in partials]
        )
        if complex is None and any([type(c) is _COMPLEX for _, c in self.forms]):
            raise RuleError(
                "a partial derivative of a real function is a complex number; give a real one"
            )

    def reverse(self, request: Request) -> Bound:
        """Bind y_bar conj(p) for each operand, fitted to the operand."""
        saved = tuple(sorted({slot for i in request.active for slot in self.used[i]}))
        pulls = Pulls(self, request, saved)
        shaped = [cls for cls in request.operands if not type_info(cls).is_plain_number]
        if not shaped:
            return Bound(request, self._run_numbers(request, saved, pulls))
        fast, broadcast = ByDtype(shaped[0], pulls.fast), ByDtype(shaped[0], pulls.broadcast)
        general = self._general(request, saved, pulls, broadcast)
        plain = [request.operands[i] for i in request.active]
        numbers = [type_info(cls).is_plain_number for cls in plain]
        if any(numbers) or len(request.operands) > 2:
            primal = request.primal
            return Bound(request, lambda links, *xs: general(links, primal(*xs), *xs))
        if len(request.operands) == 1:
            return Bound(request, _run_unary(request.primal, saved, fast, general))
        if len(request.active) == 1:
            k = request.active[0]
            alike = any(i != k for i in self._computed_with(request))
            run = _run_half(request.primal, k, saved, fast, broadcast, general, alike)
            return Bound(request, run)
        return Bound(request, _run_binary(request.primal, saved, fast, broadcast, general))

    def _computed_with(self, request: Request) -> list[int]:
        """List the arrays that a partial does not only multiply by, so that their dtype matters."""
        if all([self.forms[i][0] != "computed" for i in request.active]):
            return []
        return [i for i, c in enumerate(request.operands) if not type_info(c).is_plain_number]

    def _general(
        self, request: Request, saved: Slots, pulls: Pulls, broadcast: ByDtype
    ) -> Callable[..., Any]:
        """Build the recorder of calls whose operands and result differ in shape or dtype."""
        active, general, keep = request.active, pulls.general(), _keeper(saved)
        alike = tuple(sorted({*active, *self._computed_with(request)}))

        def record(links: Any, y: Any, *xs: Any) -> Any:
            self.check(request, y, *xs)
            kept = keep((y, *xs))
            dtype = getattr(y, "dtype", None)
            if dtype is not None and {getattr(xs[i], "dtype", None) for i in alike} == {dtype}:
                shape = y.shape
                plans = [unbroadcasting(shape, xs[i].shape) for i in active]
                return y, (broadcast[dtype], links, *kept, *plans)
            return y, (general, links, *kept, *[space(xs[i]) for i in active])

        return record

    def _run_numbers(self, request: Request, saved: Slots, pulls: Pulls) -> Callable[..., Any]:
        primal, active, keep = request.primal, request.active, _keeper(saved)
        fast, general = pulls.fast("real"), pulls.general()
        reals = complex not in [type_info(cls).dispatch_type for cls in request.operands]

        def run(links: Any, *xs: Any) -> Any:
            y = primal(*xs)
            if reals and type(y) is float:
                return y, (fast, links, *keep((y, *xs)))
            self.check(request, y, *xs)
            return y, (general, links, *keep((y, *xs)), *[space(xs[i]) for i in active])

        return run


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
    saved: Slots,
    fast: ByDtype,
    broadcast: ByDtype,
    general: Any,
    alike: bool,
) -> Callable[..., Any]:
    """Run two operands, the k-th wanted; ``alike``: the other's dtype has to agree as well."""
    keep = _keeper(saved)

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
            return z, (fast[dtype], links, *keep((z, x, y)))
        plan = unbroadcasting(result, shape)
        return z, (broadcast[dtype], links, *keep((z, x, y)), plan)

    return run


def _keeper(saved: Slots) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a function that selects the values to be saved from the result and the operands."""
    if len(saved) > 1:
        return operator.itemgetter(*saved)
    slots = slice(saved[0], saved[0] + 1) if saved else slice(0)
    return operator.itemgetter(slots)


def _run_binary(
    primal: Any, saved: Slots, fast: ByDtype, broadcast: ByDtype, general: Any
) -> Callable[..., Any]:
    """Run two operands, both wanted."""
    keep = _keeper(saved)

    def run(links: Any, x: Any, y: Any) -> Any:
        z = primal(x, y)
        try:
            dtype = z.dtype
        except AttributeError:
            return general(links, z, x, y)
        if dtype == x.dtype == y.dtype:
            if x.shape == y.shape:
                return z, (fast[dtype], links, *keep((z, x, y)))
            plans = planned(z.shape, x.shape, y.shape)
            return z, (broadcast[dtype], links, *keep((z, x, y)), *plans)
        return general(links, z, x, y)

    return run


def _used(partial: Partial, n: int) -> Slots:
    """Return the slots that a partial of n operands reads: those not named with a leading _."""
    # ``*xs`` reads the rest; what follows the operands, as in a loop's k=k, has a default.
    names = (*parameters_of(partial).positional, *["x"] * (n + 1))[: n + 1]
    return tuple([i for i, name in enumerate(names) if not name.startswith("_")])
