"""Functions that are run again for their derivative: it is that of the value which was given out.

They draw random numbers, look up what others change, or are given what an engine does not see.
"""

from __future__ import annotations

import importlib
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from chainrules_py import MutationError, NotDifferentiableError, frule, primitive, rrule
from chainrules_tape import grad, jvp, linearize, value_and_grad, vjp

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = np.array([0.5, -1.2, 2.3, 1.0])
RNG = np.random.default_rng(0)
STATE = np.random.RandomState(0)
PYTHON = random.Random(0)

DRAWS: dict[str, Any] = {
    "a generator": lambda: float(RNG.uniform(1.0, 2.0)),
    "a RandomState": lambda: float(STATE.uniform(1.0, 2.0)),
    "NumPy's own": lambda: float(np.random.uniform(1.0, 2.0)),  # noqa: NPY002
    "a Random": lambda: PYTHON.uniform(1.0, 2.0),
    "Python's own": lambda: random.uniform(1.0, 2.0),
}


def _torch(draw: Any) -> Any:
    return importlib.import_module("chainrules_torch").import_rule(lambda x: x * draw())


def _dropped(_: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    drop = torch.nn.functional.dropout
    return importlib.import_module("chainrules_torch").import_rule(lambda x: drop(x, 0.5))


def _own(_: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    generator = torch.Generator().manual_seed(0)
    drawn = lambda x: x * torch.rand(x.shape, generator=generator, dtype=x.dtype)
    return importlib.import_module("chainrules_torch").import_rule(drawn)


def _jax(draw: Any) -> Any:
    return importlib.import_module("chainrules_jax").import_rule(lambda x: x * draw())


def _autograd(draw: Any) -> Any:
    return importlib.import_module("chainrules_autograd").import_rule(lambda x: x * draw())


def _frule(draw: Any) -> Any:
    @primitive
    def scaled(x: Any) -> Any:
        return x * draw()

    @frule.register(scaled, types=(object,))
    def scaled_frule(tangents: Any, x: Any) -> Any:
        slope = draw()
        return x * slope, tangents[0] * slope

    return scaled


MAKERS = {
    "torch": _torch,
    "dropout of torch": _dropped,
    "a generator of torch": _own,
    "jax": _jax,
    "autograd": _autograd,
    "frule": _frule,
}


def meanwhile() -> None:
    """Draw what others draw."""
    for draw in DRAWS.values():
        draw()


def _pulled(f: Any) -> tuple[Any, Any]:
    y, pull = vjp(f, X)
    meanwhile()
    return y, pull(np.ones(4))[0]


def _pushed(f: Any) -> tuple[Any, Any]:
    y, push = linearize(f, X)
    meanwhile()
    return y, push(np.ones(4))


def _graded(f: Any) -> tuple[Any, Any]:
    value, slope = value_and_grad(lambda x: np.sum(f(x)))(X)
    return np.full(4, value), np.sum(slope * X) / X


def _twice(f: Any) -> tuple[Any, Any]:
    """Second derivatives of x f(x) are twice the slope, where the gradient has twice the value."""

    def gradient(x: Any) -> Any:
        return grad(lambda x: np.sum(x * f(x)))(x)

    first, pull = vjp(gradient, X)
    return first, pull(np.ones(4))[0]


DOORS = {
    "vjp": _pulled,
    "jvp": lambda f: jvp(f, (X,), (np.ones(4),)),
    "linearize": _pushed,
    "value_and_grad": _graded,
    "twice": _twice,
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "draw", [pytest.param(x, marks=[pytest.mark.nightly] if i else []) for i, x in enumerate(DRAWS)]
)
def test_the_derivative_is_that_of_the_value(maker: str, draw: str) -> None:
    pytest.importorskip(maker.rpartition(" ")[2] if maker != "frule" else "numpy")
    f = MAKERS[maker](DRAWS[draw])
    for door, run in DOORS.items():
        for _ in range(2):
            y, slope = run(f)
            np.testing.assert_allclose(y, slope * X, rtol=1e-6, err_msg=door)


@pytest.mark.parametrize("maker", ["torch", "autograd", "frule"])
def test_generators_go_on_as_in_the_plain_program(maker: str) -> None:
    pytest.importorskip(maker if maker != "frule" else "numpy")
    rng = np.random.default_rng(7)
    f = MAKERS[maker](lambda: float(rng.uniform()))
    slopes = [vjp(f, X)[1](np.ones(4))[0][0] for _ in range(3)]
    if maker == "frule":  # reverse mode runs the function, and its transposed push
        assert len({*slopes}) == 3
    else:
        plain = np.random.default_rng(7)
        np.testing.assert_allclose(slopes, [plain.uniform() for _ in range(3)])


BOX, TABLE = {"k": 2.0}, np.ones(4)
LOOKS: dict[str, tuple[Any, Any]] = {
    "an item": (lambda x: x * x * BOX["k"], lambda: BOX.update(k=BOX["k"] + 1.0)),
    "an array": (lambda x: x * x * float(TABLE[0]), lambda: TABLE.__setitem__(0, TABLE[0] + 1.0)),
}


@pytest.mark.parametrize("looks", LOOKS)
@pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])
def test_what_an_imported_function_looks_up_is_what_it_was(engine: str, looks: str) -> None:
    pytest.importorskip(engine)
    looking, change = LOOKS[looks]
    import_rule = importlib.import_module(f"chainrules_{engine}").import_rule

    def inside(f: Any) -> Any:
        def program(x: Any) -> Any:
            y = f(x)
            change()
            return np.sum(y)

        return grad(program)(X)

    doors = {
        "vjp": lambda f: (vjp(f, X)[1], change())[0](np.ones(4)),
        "rrule": lambda f: (rrule(f, X)[1], change())[0](np.ones(4)),
        "linearize": lambda f: (linearize(f, X)[1], change())[0](np.ones(4)),
        "grad": inside,
    }
    for door in doors.values():
        f = import_rule(looking)
        with pytest.raises(MutationError, match="looks at"):
            door(f)
    f = import_rule(looking)
    y, pull = vjp(f, X)
    np.testing.assert_allclose(pull(np.ones(4))[0] * X, 2.0 * y, rtol=1e-6)


class Pair(NamedTuple):
    """A structure."""

    a: Any
    b: Any


@pytest.mark.parametrize("engine", ["torch", "autograd"])
@pytest.mark.parametrize("hold", [lambda x: [x, x], lambda x: (x, x), lambda x: Pair(x, x)])
def test_structures_of_arrays_are_refused(engine: str, hold: Any) -> None:
    pytest.importorskip(engine)
    f = importlib.import_module(f"chainrules_{engine}").import_rule(lambda p: (p[0] * p[1]).sum())
    for run in (
        lambda: grad(f)(hold(X)),
        lambda: grad(lambda x: f(hold(x)))(X),
        lambda: jvp(lambda x: f(hold(x)), (X,), (X,)),
        lambda: rrule(f, hold(X)),
    ):
        with pytest.raises(NotDifferentiableError, match="import a function of these"):
            run()


def test_functions_of_torch_that_leave_it_are_refused() -> None:
    torch: Any = pytest.importorskip("torch")
    import_rule = importlib.import_module("chainrules_torch").import_rule
    for leave in (
        lambda t: torch.tensor(t[0].item()) ** 2,
        lambda t: torch.tensor(t.tolist()).sum() ** 2,
        lambda t: t.sum() * float(t[0]),
    ):
        f = import_rule(leave)
        with pytest.raises(NotDifferentiableError, match="does not become a plain number"):
            grad(f)(X)
        with pytest.raises(NotDifferentiableError, match="does not become a plain number"):
            jvp(f, (X,), (X,))


@pytest.mark.parametrize("of", [lambda t: t, lambda t: t[1:], lambda t: t.view(2, 2)])
def test_results_of_torch_are_memory_of_their_own(of: Any) -> None:
    pytest.importorskip("torch")
    f = importlib.import_module("chainrules_torch").import_rule(of)

    def program(x: Any) -> Any:
        y = f(x)
        y[0] = 9.0
        return np.sum(x * x) + np.sum(y)

    x = X.copy()
    assert program(x) == value_and_grad(program)(X)[0]
    np.testing.assert_array_equal(x, X)
