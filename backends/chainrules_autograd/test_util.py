"""Comparison of derivatives with finite differences, as in autograd's tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from chainrules_autograd.core import make_jvp, make_vjp, vspace
from chainrules_autograd.wrap_util import get_name, unary_to_nary, wraps

TOL = RTOL = EPS = 1e-6
BOTH = ("fwd", "rev")
Function = Callable[..., Any]


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers are close."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def _differences(f: Function, x: Any, v: Any) -> Any:
    x_space, y_space = vspace(x), vspace(f(x))
    ahead = f(x_space.add(x, x_space.scalar_mul(v, EPS / 2)))
    behind = f(x_space.add(x, x_space.scalar_mul(v, -EPS / 2)))
    return y_space.scalar_mul(y_space.add(ahead, y_space.scalar_mul(behind, -1.0)), 1.0 / EPS)


def check_equivalent(x: Any, y: Any) -> None:
    """Raise unless two values have the same structure and are close."""
    space = vspace(x)
    assert space == vspace(y), f"{space} is not {vspace(y)}"
    v = space.randn()
    a, b = space.inner_prod(x, v), space.inner_prod(y, v)
    assert scalar_close(a, b), f"values differ along a direction, {a} and {b}:\n{x}\n{y}"


def check_vjp(f: Function, x: Any) -> None:
    """Raise unless the reverse mode agrees with differences along a random direction."""
    vjp, y = make_vjp(f, x)
    x_space, y_space = vspace(x), vspace(y)
    v, w = x_space.randn(), y_space.randn()
    bar = x_space.covector(vjp(y_space.covector(w)))
    assert vspace(bar) == x_space, f"the gradient lies in {vspace(bar)}, and x in {x_space}"
    exact, numeric = x_space.inner_prod(v, bar), y_space.inner_prod(w, _differences(f, x, v))
    assert scalar_close(exact, numeric), (
        f"(VJP) check of {get_name(f)} failed at {x}: {exact}, and differences {numeric}"
    )


def check_jvp(f: Function, x: Any) -> None:
    """Raise unless the forward mode agrees with differences along a random direction."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], _differences(f, x, v))


def _check_grads(f: Function, x: Any, modes: Sequence[str] = BOTH, order: int = 2) -> None:
    assert all([mode in BOTH for mode in modes]), modes
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:
            v = vspace(x).randn()
            pushed = wraps(f, "jvp_{fun}")(lambda x, v: make_jvp(f, x)(v)[1])
            check_grads(pushed, (0, 1), modes, order=order - 1)(x, v)
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:
            w = vspace(f(x)).randn()
            pulled = wraps(f, "vjp_{fun}")(lambda x, w: make_vjp(f, x)[0](w))
            check_grads(pulled, (0, 1), modes, order=order - 1)(x, w)


check_grads = unary_to_nary(_check_grads)
check_grads.__doc__ = (
    """Check derivatives of a function against differences: ``check_grads(f)(x)``."""
)


def combo_check(fun: Function, *settings: Any, **options: Any) -> Function:
    """Return a function that checks all combinations of the given lists of arguments."""

    def check(*args: Any, **keywords: Any) -> None:
        pairs = [[(key, x) for x in xs] for key, xs in keywords.items()]
        for given in itertools.product(*args):
            for named in itertools.product(*pairs):
                check_grads(fun, *settings, **options)(*given, **dict(named))

    return check
