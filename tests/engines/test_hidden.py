"""What an operand hides from the rules of a function, in every engine: the derivative, or an error.

Every rule states seven times the cotangent for its first operand and nothing for its second, whose
body doubles their product. So an answer tells whose derivative it is.
"""

from __future__ import annotations

import collections
import functools
import importlib
import itertools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chainrules_py import (
    NoTangent,
    NotDifferentiableError,
    TracerError,
    export,
    frule,
    primitive,
    rrule,
)

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

SLOPE = 7.0


class Held:
    """Nothing that anybody knows the inside of."""

    def __init__(self, w: Any, rest: Any = 3.0) -> None:
        self.w, self.rest = w, rest


class Slotted:
    """The same, without a dict."""

    __slots__ = ("w",)

    def __init__(self, w: Any) -> None:
        self.w = w


class Mine:
    """What makes its items when it is asked."""

    def __init__(self, w: Any) -> None:
        self.w = w

    def __iter__(self) -> Iterator[Any]:
        yield self.w


HIDING: dict[str, Callable[[Any], Any]] = {
    "object": Held,
    "object in an object": lambda w: Held(Held(w)),
    "slots": Slotted,
    "namespace": lambda w: types.SimpleNamespace(w=w),
    "iterable": Mine,
    "deque": lambda w: collections.deque([w]),
    "iterator": lambda w: iter([w]),
    "generator": lambda w: (part for part in [w]),
    "map": lambda w: map(inside, [w]),
    "values of a dict": lambda w: {"a": w}.values(),
    "proxy": lambda w: types.MappingProxyType({"a": w}),
    "object in a list": lambda w: [Held(w)],
    "object in a dict": lambda w: {"a": Held(w)},
    "slice": lambda w: slice(w, None),
    "chain": lambda w: collections.ChainMap({"a": w}),
}
RUN_ONCE = ("iterator", "generator", "map")


def inside(o: Any) -> Any:
    """Return the number that an operand holds."""
    if isinstance(o, slice):
        return inside(o.start)
    if isinstance(o, Held | Slotted | types.SimpleNamespace):
        return inside(o.w)
    if isinstance(o, dict | types.MappingProxyType | collections.ChainMap):
        return inside(o["a"])
    return inside(next(iter(o))) if hasattr(o, "__iter__") and not hasattr(o, "shape") else o


def body(x: Any, o: Any) -> Any:
    """The function; an operand's number stands last, so that an engine's arithmetic is asked."""
    return x * inside(o) * 2.0


def state(f: Any, value: Any) -> None:
    """State the rules of f, which get its value of a function: of f, or of what computes it too."""

    @rrule.register(f)
    def f_rrule(x: object, o: object) -> Any:
        return value(x, o), lambda y_bar: (SLOPE * y_bar, NoTangent())

    @frule.register(f)
    def f_frule(tangents: Any, x: object, o: object) -> Any:
        return value(x, o), SLOPE * tangents[0]


PENS: dict[str, Callable[[Any], None]] = {
    "by call": lambda f: state(f, f),
    "by itself": lambda f: state(f, body),
}


def stated(pen: str) -> Any:
    """Make the function."""
    f = primitive(lambda x, o: body(x, o))
    PENS[pen](f)
    return f


# ---------------------------------------------------------------------------- the engines


def _torch(f: Any, door: str) -> Any:
    torch: Any = importlib.import_module("torch")
    importlib.import_module("chainrules_torch")
    w, one = torch.tensor(3.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
    fwd = torch.autograd.forward_ad
    if door == "backward":
        y = f(w.requires_grad_())
        return torch.autograd.grad(y, w)[0]
    if door == "dual":
        with fwd.dual_level():
            return fwd.unpack_dual(f(fwd.make_dual(w, one))).tangent
    return torch.func.jvp(f, (w,), (one,))[1] if door == "jvp" else torch.func.grad(f)(w)


def _jax(f: Any, door: str) -> Any:
    jax: Any = importlib.import_module("jax")
    importlib.import_module("chainrules_jax")
    if door == "jvp":
        return jax.jvp(f, (3.0,), (1.0,))[1]
    return (jax.jit(jax.grad(f)) if door == "jit grad" else jax.grad(f))(3.0)


def _autograd(f: Any, door: str) -> Any:
    autograd: Any = importlib.import_module("autograd")
    importlib.import_module("chainrules_autograd")
    return autograd.grad(f)(3.0) if door == "grad" else autograd.make_jvp(f)(3.0)(1.0)[1]


def _mlx(f: Any, door: str) -> Any:
    mx: Any = importlib.import_module("mlx.core")
    importlib.import_module("chainrules_mlx")
    x, one = mx.array(3.0), mx.array(1.0)
    return mx.grad(f)(x) if door == "grad" else mx.jvp(f, [x], [one])[1][0]


def _tape(f: Any, door: str) -> Any:
    tape: Any = importlib.import_module("chainrules_tape")
    return tape.grad(f)(3.0) if door == "grad" else tape.jvp(f, (3.0,), (1.0,))[1]


ENGINES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "tape": (_tape, ("grad", "jvp")),
    "torch": (_torch, ("backward", "grad", "jvp", "dual")),
    "jax": (_jax, ("grad", "jvp", "jit grad")),
    "autograd": (_autograd, ("grad", "jvp")),
    "mlx": (_mlx, ("grad", "jvp")),
}


@functools.cache
def number(engine: str) -> Any:
    """Return an array of an engine's, or a number, that nobody differentiates."""
    if engine == "torch":
        torch: Any = importlib.import_module("torch")
        return torch.tensor(2.0, dtype=torch.float64)
    if engine == "jax":
        return importlib.import_module("jax.numpy").asarray(2.0)
    return importlib.import_module("mlx.core").array(2.0) if engine == "mlx" else 2.0


def everything() -> list[Any]:
    """List all draws: what hides, how a rule is written, engine, door, exported, what moves."""
    doors = [(engine, door) for engine, (_, doors) in ENGINES.items() for door in doors]
    exported = (True, False)
    beside = ("moves", "fixed", "hides a constant", "holds another")
    return list(itertools.product(HIDING, PENS, doors, exported, beside))


def verdict(hiding: str, pen: str, at: tuple[str, str], exported: bool, beside: str) -> str:
    """Tell what is wrong with a draw."""
    engine, door = at
    f: Any = stated(pen)
    if exported and engine != "tape":
        f = export(f, to=engine)
    hide, constant = HIDING[hiding], number(engine)
    program = {
        "moves": lambda w: f(w, hide(w)),
        "fixed": lambda w: f(constant, hide(w)),
        "hides a constant": lambda w: f(w, hide(constant)),
        "holds another": lambda w: f(w, Held(constant, rest=w)),
    }[beside]
    try:
        found = ENGINES[engine][0](program, door)
    except TracerError as error:
        if beside == "hides a constant" or (beside == "holds another" and engine != "mlx"):
            return f"refused: {error}"
        return ""
    except NotDifferentiableError as error:
        return "" if hiding in RUN_ONCE and engine != "tape" else f"refused: {error}"
    except Exception as error:  # JAX refuses what it compiles to hold values of its own
        leaked = (beside, door) == ("holds another", "jit grad")
        return "" if leaked else f"{type(error).__name__}: {error}"
    if beside in ("moves", "fixed"):
        return f"{found} for an error"
    return "" if abs(float(found) - SLOPE) < 1e-9 else f"{found} for {SLOPE}"


def judge(draws: list[Any]) -> None:
    wrong = [(*draw, said) for draw in draws if (said := verdict(*draw))]
    assert not wrong, f"{len(wrong)} of {len(draws)}: {wrong[:5]}"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sample(engine: str) -> None:
    if engine != "tape":
        pytest.importorskip({"mlx": "mlx.core"}.get(engine, engine))
    draws = [draw for draw in everything() if draw[2][0] == engine]
    judge(random.Random(0).sample(draws, 24))


@pytest.mark.nightly
@pytest.mark.parametrize("hiding", HIDING)
def test_all_of_them(hiding: str) -> None:
    for module in ("torch", "jax", "autograd", "mlx.core"):
        pytest.importorskip(module)
    judge([draw for draw in everything() if draw[0] == hiding])
