"""Binding statements about linear functions: no elements of a linear operand are saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.bind import Bound, Request, mark
from chainrules_py.project import Space, fit, kind_of, space, spread_all
from chainrules_py.tangents import ZeroTangent, add_tangents, is_zero, unthunk
from chainrules_py.vocabulary.creation import full_like

__all__ = ["BilinearRecipe", "ConstantRecipe", "LinearRecipe"]


class LinearRecipe:
    """Linear in some operands jointly: a transpose for each of them, None for the others."""

    pen = "linear_rule"

    def __init__(
        self,
        transposes: tuple[Callable[..., Any] | None, ...],
        variadic: bool,
        pull_into: Callable[..., Any] | None,
    ) -> None:
        self.transposes = transposes
        self.variadic = variadic
        self.pull_into = pull_into

    def _linear(self, n: int) -> tuple[bool, ...]:
        """In which of n operands the function is linear."""
        flags = tuple([t is not None for t in self.transposes])
        if not self.variadic:
            return flags
        fixed = len(flags) - 1
        return flags[:fixed] + flags[fixed:] * (n - fixed)

    def _transpose(self, i: int) -> Callable[..., Any]:
        fixed = len(self.transposes) - self.variadic
        if i < fixed:
            found = self.transposes[i]
            assert found is not None
            return found
        last = self.transposes[-1]
        assert last is not None
        return lambda *xs, **options: last(*xs, **options, argnum=i - fixed)

    def forward(self, request: Request) -> Bound | None:
        """The function itself, of the tangents."""
        linear = self._linear(len(request.operands))
        request = request.among(linear)
        if not request.active:
            return None
        primal, word, active = request.primal, request.statement.primal, request.active

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y = primal(*xs, **options)
            if all([is_zero(t) for t in tangents]):
                return y, ZeroTangent()
            given = dict(zip(active, tangents, strict=True))
            moved = [
                _dense(given.get(i, ZeroTangent()), x) if linear[i] else x for i, x in enumerate(xs)
            ]
            return y, spread_all(word(*moved, **options), y)

        return Bound(request, run)

    def reverse(self, request: Request) -> Bound | None:
        """The transposes, of the cotangent and of the operands' spaces."""
        linear = self._linear(len(request.operands))
        request = request.among(linear)
        if not request.active:
            return None
        primal = request.primal

        def make(i: int) -> Any:
            transpose = self._transpose(i)

            def pull_one(y_bar: Any, options: dict[str, Any], *xs: Any) -> Any:
                return fit(transpose(y_bar, *xs, **options), xs[i])

            return pull_one

        pull = _joined(tuple([make(i) for i in request.active]), request)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y = primal(*xs, **options)
            kept = [_shape_of(x) if flag else x for x, flag in zip(xs, linear, strict=True)]
            return y, (pull, links, options, *kept)

        return Bound(request, run, pull_into=self._into(request))

    def _into(self, request: Request) -> Callable[..., Any] | None:
        add_into = self.pull_into
        if add_into is None or request.active != (0,):
            return None

        def pull_into(buffer: Any, y_bar: Any, options: dict[str, Any], *xs: Any) -> None:
            add_into(buffer, y_bar, *xs[1:], **options)

        return pull_into


class BilinearRecipe:
    """Linear in each of two operands: the two adjoints, of ``(y_bar, a, b)``."""

    pen = "bilinear_rule"

    def __init__(self, left: Callable[..., Any], right: Callable[..., Any]) -> None:
        self.adjoints = (left, right)

    def forward(self, request: Request) -> Bound | None:
        """The function itself, with a tangent in the place of its operand."""
        primal, word, active = request.primal, request.statement.primal, request.active

        def run(tangents: tuple[Any, ...], a: Any, b: Any, **options: Any) -> Any:
            y = primal(a, b, **options)
            y_dot: Any = ZeroTangent()
            for i, t in zip(active, tangents, strict=True):
                if is_zero(t):
                    continue
                moved = (a, unthunk(t)) if i else (unthunk(t), b)
                y_dot = add_tangents(y_dot, word(*moved, **options))
            return y, spread_all(y_dot, y)

        return Bound(request, run)

    def reverse(self, request: Request) -> Bound | None:
        """The adjoints; an operand whose elements nobody will read is kept as its space."""
        primal, active = request.primal, request.active

        def make(i: int) -> Any:
            adjoint = self.adjoints[i]

            def pull_one(y_bar: Any, options: dict[str, Any], a: Any, b: Any, *spaces: Any) -> Any:
                return fit(adjoint(y_bar, a, b, **options), spaces[i])

            return pull_one

        pull = _joined(tuple([make(i) for i in active]), request)

        def run(links: Any, a: Any, b: Any, **options: Any) -> Any:
            y = primal(a, b, **options)
            kept = (a if 1 in active else space(a), b if 0 in active else space(b))
            return y, (pull, links, options, *kept, space(a), space(b))

        return Bound(request, run)


class ConstantRecipe:
    """Constant wherever it is continuous, or no number to vary: no derivative flows."""

    pen = "non_differentiable"

    def forward(self, request: Request) -> None:
        """Nothing flows."""
        return

    reverse = forward


def _joined(parts: tuple[Any, ...], request: Request) -> Any:
    if len(parts) == 1:
        return mark(parts[0], request, parts)
    return mark(lambda y_bar, *kept: tuple([p(y_bar, *kept) for p in parts]), request, parts)


def _dense(t: Any, x: Any) -> Any:
    """A tangent for a word that is linear in several operands jointly: all have to be there."""
    if not is_zero(t):
        return unthunk(t)
    of = space(x)
    if type(of) is Space:
        return of.zeros()
    if kind_of(x) != "bool":
        return t
    # Among numbers, as in where(condition, x, False), a boolean is one; the word promotes its zero.
    return full_like(x, shape=x.shape, fill=0) if hasattr(x, "shape") else 0


def _shape_of(x: Any) -> Any:
    """The space of an operand; of a boolean one, which has none, the shape all the same."""
    of = space(x)
    return Space(x) if type(of) is not Space and kind_of(x) == "bool" else of
