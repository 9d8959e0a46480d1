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
from chainrules_py.registry.bind.partials import ByDtype, Partial, Pushes, Slots, form_of
from chainrules_py.registry.bind.pulls import Pulls
from chainrules_py.tangents.space import space
from chainrules_py.tangents.sum_to_shape import planned
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
        self.used = tuple([() if p is None else _used(p) for p in partials])
        self.forms = tuple([("none", None) if p is None else form_of(p) for p in partials])
        if complex is None and any([type(c) is _COMPLEX for _, c in self.forms]):
            msg = "a partial derivative of a real function is a complex number; give a real one"
            raise RuleError(msg)

    def reverse(self, request: Request) -> Bound:
        """Bind y_bar conj(p) for each operand, fitted to the operand."""
        primal, active = request.primal, request.active
        saved = tuple(sorted({slot for i in active for slot in self.used[i]}))
        pulls, keep = Pulls(self, request, saved), _keeper(saved)
        general = pulls.general()

        def projected(links: Any, y: Any, *xs: Any) -> Any:
            self.check(request, y, *xs)
            return y, (general, links, *keep((y, *xs)), *[space(xs[i]) for i in active])

        infos = list(map(type_info, request.operands))
        arrays = [i for i, info in enumerate(infos) if not info.is_plain_number]
        if not arrays:
            reals = complex not in [info.dispatch_type for info in infos]
            return Bound(
                request,
                _run_numbers(primal, keep, pulls.fast("real") if reals else None, projected),
            )
        fast = ByDtype(request.operands[arrays[0]], pulls.fast)
        if len(infos) == 1:
            return Bound(request, _run_unary(primal, saved, fast, projected))
        broadcast = ByDtype(request.operands[arrays[0]], pulls.broadcast)
        # Of an operand that a partial only multiplies by, the dtype does not matter.
        computes = any([self.forms[i][0] == "computed" for i in active])
        alike = tuple({*active, *(arrays if computes else ())})

        def run(links: Any, *xs: Any) -> Any:
            y = primal(*xs)
            try:
                dtype, shape, same = y.dtype, y.shape, True
                for i in alike:
                    x = xs[i]
                    if x.dtype != dtype:
                        return projected(links, y, *xs)
                    same = same and x.shape == shape
            except AttributeError:  # of a number, such as 1j * np.float64(2)
                return projected(links, y, *xs)
            if same:
                return y, (fast[dtype], links, *keep((y, *xs)))
            # In C: a comprehension is a call.
            plans = planned(shape, *map(operator.attrgetter("shape"), map(xs.__getitem__, active)))
            return y, (broadcast[dtype], links, *keep((y, *xs)), *plans)

        return Bound(request, run)


def _run_numbers(primal: Any, keep: Any, fast: Any, projected: Any) -> Callable[..., Any]:
    """Run Python numbers; ``fast`` is the pull where all are real."""

    def run(links: Any, *xs: Any) -> Any:
        y = primal(*xs)
        if fast is not None and type(y) is float:
            return y, (fast, links, *keep((y, *xs)))
        return projected(links, y, *xs)

    return run


def _run_unary(primal: Any, saved: Slots, fast: ByDtype, projected: Any) -> Callable[..., Any]:
    keep_y, keep_x = 0 in saved, 1 in saved

    def run(links: Any, x: Any) -> Any:
        y = primal(x)
        dtype = getattr(y, "dtype", None)
        if dtype is None or dtype != x.dtype:
            return projected(links, y, x)
        if keep_x:
            return y, ((fast[dtype], links, y, x) if keep_y else (fast[dtype], links, x))
        return y, ((fast[dtype], links, y) if keep_y else (fast[dtype], links))

    return run


def _keeper(saved: Slots) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a function that selects the values to be saved from the result and the operands."""
    if len(saved) > 1:
        return operator.itemgetter(*saved)
    slots = slice(saved[0], saved[0] + 1) if saved else slice(0)
    return operator.itemgetter(slots)


def _used(partial: Partial) -> Slots:
    """Return the indices of the slots that a partial reads: names without a leading _."""
    names = parameters_of(partial).names
    return tuple([i for i, name in enumerate(names) if not name.startswith("_")])
