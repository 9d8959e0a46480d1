"""Transposition: derive the mode that a rule does not state from the one it states.

A derivative is linear in its tangents, so its own reverse-mode derivative, at any point, is its
adjoint. A push is transposed for the pull, and a pull for the push. This uses the engine's reverse
mode (``requires=ReverseMode``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_kit.solvers.vectors import Vector, direction, eps_of, inner, square
from chainrules_kit.tangent_conversions import assembled, flat, opened
from chainrules_py import (
    Config,
    NotDifferentiableError,
    ProjectionError,
    ZeroTangent,
    is_zero,
    space,
)
from chainrules_py.extend import (
    Bound,
    Cache,
    Request,
    Statement,
    annotate,
    deliver,
    find_tracers,
    flatten,
    type_info,
    untraced,
)
from chainrules_py.ops import zeros_like
from chainrules_py.ops.higher_order import transposed


def transpose(recipe: Any, request: Request) -> Bound:
    """Bind the transpose of the stated mode."""
    make = _transposed_push if recipe.mode == "forward" else _transposed_pull
    return make(recipe, request)


transposed.implement(transpose, types=(object, object))


def _transposed_push(recipe: Any, request: Request) -> Bound:
    """Bind the transpose of the push."""
    active, forward = request.active, recipe.forward(request).run

    def run(links: Any, *xs: Any, **options: Any) -> Any:
        onto = [space(xs[i]) for i in active]
        y: Any = None

        def push_at(*xs: Any) -> Callable[..., list[Any]]:
            def push(*leaves: Any) -> list[Any]:
                nonlocal y
                y, y_dot = forward(tuple(assembled(onto, leaves)), *xs, **options)
                return flat(y_dot, space(y))

            return push

        plain = lambda: push_at(*_plain(xs))
        pullback, parts = _pullback(request, push_at(*xs), plain, onto, [xs[i] for i in active])
        return y, (pull, links, pullback, parts, space(y), onto)

    def pull(y_bar: Any, pullback: Any, parts: list[int], of: Any, onto: list[Any]) -> Any:
        bars = _image(pullback, flat(y_bar, of), parts, onto)
        return bars[0] if len(active) == 1 else tuple(bars)

    annotate(pull, request)
    return Bound(request, run, may_be_zero=True)


def _transposed_pull(recipe: Any, request: Request) -> Bound:
    """Bind the transpose of the pull."""
    active, reverse = request.active, recipe.reverse(request).run

    def run(links: Any, *xs: Any, **options: Any) -> Any:
        onto = [space(xs[i]) for i in active]

        def pull_at(*xs: Any) -> tuple[Any, Callable[..., list[Any]]]:
            y, (half, _, *saved) = reverse(None, *xs, **options)

            def pull(*leaves: Any) -> list[Any]:
                bars = half(assembled(of, leaves), *saved)
                return flat([bars] if len(active) == 1 else list(bars), onto)

            return y, pull

        y, pull = pull_at(*xs)
        of = space(y)
        if is_zero(of):
            return y, (push, links, None, [], of, onto)
        pullback, parts = _pullback(request, pull, lambda: pull_at(*_plain(xs))[1], [of], [y])
        return y, (push, links, pullback, parts, of, onto)

    def push(
        tangents: tuple[Any, ...], pullback: Any, parts: list[int], of: Any, onto: list[Any]
    ) -> Any:
        if pullback is None:
            return of
        return _image(pullback, flat(list(tangents), onto), parts, [of])[0]

    annotate(push, request)
    return Bound(request, run)


def _plain(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands without our tracers, so that a test records nothing, if shapes stay."""
    plain = tuple([untraced(x) if find_tracers(x) else x for x in xs])
    shapes, given = [[getattr(x, "shape", ()) for x in flatten(of)[0]] for of in (plain, xs)]
    return plain if shapes == given else xs


def _pullback(
    request: Request,
    f: Callable[..., list[Any]],
    plain: Callable[[], Callable[..., list[Any]]],
    onto: list[Any],
    at: list[Any],
) -> tuple[Callable[..., tuple[Any, ...]], list[int]]:
    """Return the pullback of a linear function of the tangents of some values, leaf by leaf.

    Also return the indices of the leaves of the result that are not known to be zero. ``plain()``
    is the function at plain operands.
    """
    assert request.config is not None  # the statement requires what only a config offers
    parts: list[int] = []

    def image_of(f: Callable[..., list[Any]]) -> Callable[..., tuple[Any, ...]]:
        def image(*leaves: Any) -> tuple[Any, ...]:
            found = f(*leaves)
            parts[:] = [part for part, t in enumerate(found) if not is_zero(t)]
            return tuple([found[part] for part in parts])

        return image

    config, begin = request.config, list(_zeros(onto, at))
    try:
        if not _linear.table.get((request.statement, *request.active)):
            _check(request, config, image_of(plain()), begin)
        return config.rrule_via_ad(image_of(f), *begin)[1], parts
    except RecursionError as error:
        raise _refusal(request.statement, _CALLS_ITSELF) from error


# ---------------------------------------------------------------------------- linearity

_linear = Cache()
"""Statements that were found to be linear; cleared when a rule is stated."""


def _check(
    request: Request, config: Config, f: Callable[..., tuple[Any, ...]], zeros: Vector
) -> None:
    """Raise unless a function is linear, by a test of its values and of its pullback.

    ``f(-3 x)`` has to be ``-3 f(x)``, and ``⟨pullback(f(x)), x⟩`` has to be ``⟨f(x), f(x)⟩``. The
    test runs once per statement and operands. While a program is traced there are no numbers; its
    engine may have a test of its own.

    Raises
    ------
    NotDifferentiableError
        If it is not linear; the message says which rule to state. If a derivative is not
        implemented, with the reason of its rule.
    """
    x = [direction(zero, float(seed)) for seed, zero in enumerate(zeros)]
    try:
        ys, pullback = config.rrule_via_ad(f, *x)
    except ProjectionError as error:
        f(*x)  # raises if f is wrong by itself, and not because NumPy converted traced values
        raise _refusal(request.statement) from error
    numbers = getattr(config, "numbers", untraced)  # of all examples that an engine maps over
    if config.sees(ys):
        y, more = [
            [numbers(deliver(t)) for t in found] for found in (ys, f(*[-3.0 * t for t in x]))
        ]
        bars = [t if is_zero(t) else numbers(t) for t in pullback(ys)]
        if len(y) != len(more) or _differ(y, more, bars, list(map(numbers, x))):
            raise _refusal(request.statement)
        _linear.open()[request.statement, *request.active] = True
    elif (own := getattr(config, "check_linear", None)) is not None:
        try:
            own(f, *x)
        except Exception as error:
            raise _refusal(request.statement) from error


_NOT_LINEAR = (
    "it is not linear in the {tangent}; state an {constructor} as well, by "
    "@{constructor}.register({primal}), or leave out what is not linear: a derivative is"
)
_CALLS_ITSELF = (
    "it calls {primal} on the {tangent}, and so itself without end; compute with the {tangent} by "
    "other operations, or state an {constructor} as well, by @{constructor}.register({primal})"
)


def _refusal(statement: Statement, reason: str = _NOT_LINEAR) -> NotDifferentiableError:
    """Return the error for a half that cannot be transposed."""
    primal, (mode,) = statement.primal.__name__, statement.modes
    tangent, constructor = ("cotangent", "frule") if mode == "forward" else ("tangent", "rrule")
    because = reason.format(primal=primal, tangent=tangent, constructor=constructor)
    return NotDifferentiableError(
        f"the {mode} mode of {primal} is not stated, and the other one cannot be transposed: "
        f"{because}\n  rule: {statement.where}"
    )


def _differ(y: Vector, more: Vector, bars: Vector, x: Vector) -> bool:
    """Return whether ``more`` differs from -3 y, or the inner products differ, beyond rounding."""
    close = eps_of([*y, *x]) ** 0.5  # tolerance for squares
    pairs = [(bar, t) for bar, t in zip(bars, x, strict=True) if not is_zero(bar)]
    with np.errstate(all="ignore"):  # NaN counts as equal
        length = sum([square(t) for t in y])
        apart = sum([square(a + 3.0 * t) for a, t in zip(more, y, strict=True)])
        off = sum([inner(bar, t) for bar, t in pairs]) - length
        sizes = sum([square(bar) for bar, _ in pairs]) * sum([square(t) for _, t in pairs])
        wrong = (apart > 36.0 * close * length, off * off > close * (sizes + length * length))
    return any(map(bool, wrong))


def _zeros(of: Any, x: Any) -> Iterator[Any]:
    """Yield the zero tangents of a value, in its space, leaf by leaf."""
    leaves = [leaf for leaf in flatten(x)[0] if not is_zero(space(leaf))]
    for of_leaf, leaf in zip(opened(of)[0], leaves, strict=True):
        # An array that an engine traces may know more than its space, for example its sharding.
        info = type_info(type(leaf))
        yield zeros_like(leaf) if info.host is not None and info.is_array else of_leaf.zeros()


def _image(pullback: Any, bars: list[Any], parts: list[int], onto: list[Any]) -> list[Any]:
    """Apply a transposed function to the leaves that it depends on; assemble the results."""
    given = tuple([bars[part] for part in parts])
    if all(map(is_zero, given)):
        return [ZeroTangent() for _ in onto]
    return list(assembled(onto, pullback(given)))
