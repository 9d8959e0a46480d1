"""Functions that are run again for their derivative: it is that of the value which was given out.

They draw random numbers, look up what others change, or are given what an engine does not see.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import random
import secrets
import time
from typing import Any, NamedTuple

import numpy as np
import pytest

from chainrules_compat import custom_jvp, custom_vjp
from chainrules_py import (
    LinearMap,
    MutationError,
    NotDifferentiableError,
    frule,
    primitive,
    rrule,
    rule,
)
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


# ------------------------------------------------------- rules that an exported function runs again

COUNT = [0]


def _counted() -> float:
    COUNT[0] += 1
    return float(COUNT[0])


ANOTHER: dict[str, Any] = {
    "a counter": _counted,
    "an iterator": functools.partial(next, itertools.count(1.0)),
    "a generator without a seed": lambda: float(np.random.default_rng().uniform(1.0, 2.0)),
    "the system's": lambda: random.SystemRandom().uniform(1.0, 2.0),
    "secrets": lambda: 1.0 + secrets.randbelow(10**9) / 1e9,
    "the clock": lambda: float(time.perf_counter_ns()),
}
"""What no state brings back."""


def _stated(pen: str, draw: Any) -> Any:
    """Return a function that is multiplied by what its rule draws."""
    f: Any
    if pen == "custom_vjp":
        f = custom_vjp(lambda x: x * 1.0)

        def saving(x: Any) -> Any:
            slope = draw()
            return x * slope, slope

        f.defvjp(saving, lambda slope, g: (slope * g,))
        return f
    if pen == "custom_jvp":
        f = custom_jvp(lambda x: x * draw())

        def pushing(xs: Any, ts: Any) -> Any:
            slope = draw()
            return xs[0] * slope, ts[0] * slope

        f.defjvp(pushing)
        return f
    f = primitive(lambda x: x * draw())
    if pen == "rule":

        @rule(f)
        def f_rule(x: Any) -> Any:
            slope = draw()
            return x * slope, (LinearMap(lambda t, c: t * c, lambda g, c: g * c, slope),)

    elif pen == "rrule":

        @rrule.register(f)
        def f_rrule(x: Any) -> Any:
            slope = draw()
            return x * slope, lambda g: (g * slope,)

    else:

        @frule.register(f)
        def f_frule(ts: Any, x: Any) -> Any:
            slope = draw()
            return x * slope, ts[0] * slope

    return f


PENS = ["custom_vjp", "custom_jvp", "rule", "rrule", "frule"]


def _torch_doors() -> dict[str, Any]:
    """Return how an exported function is differentiated: value and slope times the operand."""
    torch: Any = importlib.import_module("torch")
    forward_ad = torch.autograd.forward_ad
    x = torch.tensor(X)

    def pulled(f: Any, x: Any) -> Any:
        y, pull = torch.func.vjp(f, x)
        meanwhile()
        return y, pull(torch.ones_like(y))[0] * x

    def graph(f: Any, *, create: bool) -> Any:
        q = x.clone().requires_grad_()
        y = f(q)
        meanwhile()
        (g,) = torch.autograd.grad(y.sum(), q, create_graph=create)
        return y.detach(), g.detach() * x

    def dual(f: Any) -> Any:
        with forward_ad.dual_level():
            return tuple(forward_ad.unpack_dual(f(forward_ad.make_dual(x, x))))

    def twice(f: Any) -> Any:
        first, pull = torch.func.vjp(torch.func.grad(lambda a: (f(a) * a).sum()), x)
        return first, pull(torch.ones_like(x))[0] * x

    def mapped(randomness: str) -> Any:
        each = functools.partial(torch.vmap, randomness=randomness)
        return lambda f: each(functools.partial(pulled, f))(torch.stack([x, 2.0 * x]))

    return {
        "vjp": lambda f: pulled(f, x),
        "jvp": lambda f: torch.func.jvp(f, (x,), (x,)),
        "dual": dual,
        "backward": lambda f: graph(f, create=False),
        "create_graph": lambda f: graph(f, create=True),
        "twice": twice,
        "vmap": mapped("same"),
        "vmap, different": mapped("different"),
    }


@pytest.mark.parametrize("pen", PENS)
def test_an_exported_rule_has_the_derivative_of_its_value(pen: str) -> None:
    torch: Any = pytest.importorskip("torch")
    export = importlib.import_module("chainrules_torch").export
    own = torch.Generator().manual_seed(0)
    draws = {
        **DRAWS,
        "PyTorch's own": lambda: 1.0 + torch.rand(4, dtype=torch.float64),
        "dropout": lambda: torch.nn.functional.dropout(torch.ones(4, dtype=torch.float64), 0.3),
        "a generator of PyTorch's": lambda: torch.rand(4, generator=own, dtype=torch.float64),
    }
    for name, draw in draws.items():
        f = export(_stated(pen, draw))
        for door, run in _torch_doors().items():
            y, slope = run(f)
            torch.testing.assert_close(y, slope, msg=lambda m, at=(name, door): f"{at}: {m}")


@pytest.mark.parametrize("pen", PENS)
def test_an_exported_rule_that_gives_something_else_is_refused(pen: str) -> None:
    torch: Any = pytest.importorskip("torch")
    export = importlib.import_module("chainrules_torch").export
    for draw in ANOTHER.values():
        f = export(_stated(pen, draw))
        for run in _torch_doors().values():
            try:
                y, slope = run(f)
            except MutationError as error:
                assert "the rule of" in str(error)  # noqa: PT017
            else:
                torch.testing.assert_close(y, slope)


def test_a_compiled_program_runs_no_such_rule_twice() -> None:
    torch: Any = pytest.importorskip("torch")
    export = importlib.import_module("chainrules_torch").export
    f = export(_stated("rrule", lambda: torch.rand(4, dtype=torch.float64)))
    with pytest.raises(Exception, match="in a program that is compiled"):  # PyTorch wraps it
        torch.compile(torch.func.grad(lambda x: f(x).sum()), backend="aot_eager", fullgraph=True)(
            torch.tensor(X)
        )


def _times(draw: Any, x: Any) -> Any:
    return x * draw()


@pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])
def test_an_imported_function_has_the_derivative_of_its_value_or_is_refused(engine: str) -> None:
    """JAX traces it once."""
    pytest.importorskip(engine)
    import_rule = importlib.import_module(f"chainrules_{engine}").import_rule
    for name, draw in ANOTHER.items():
        f = import_rule(functools.partial(_times, draw))
        for door, run in DOORS.items():
            try:
                y, slope = run(f)
            except MutationError as error:
                assert engine != "jax", (name, door)
                assert "gave something else" in str(error)  # noqa: PT017
            else:
                np.testing.assert_allclose(y, slope * X, rtol=1e-6, err_msg=f"{name}, {door}")


@pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])
def test_what_is_changed_between_calls_counts(engine: str) -> None:
    pytest.importorskip(engine)
    import_rule = importlib.import_module(f"chainrules_{engine}").import_rule
    for looking, change in LOOKS.values():
        f = import_rule(looking)
        for _ in range(3):
            slope = looking(X) / X**2
            np.testing.assert_allclose(f(X), slope * X * X, rtol=1e-6)
            for x in (X, X[:2]):
                np.testing.assert_allclose(
                    grad(lambda x, f=f: np.sum(f(x)))(x), 2.0 * slope[: len(x)] * x, rtol=1e-6
                )
            np.testing.assert_allclose(jvp(f, (X,), (X,))[1], 2.0 * slope * X * X, rtol=1e-6)
            change()


def _batches() -> Any:
    import torch

    return torch.nn.BatchNorm1d(3).double()


MODULES: dict[str, Any] = {
    "batches": _batches,
    "their mean": lambda: (
        importlib.import_module("torch").nn.BatchNorm1d(3, momentum=None).double()
    ),
    "after another": lambda: importlib.import_module("torch").nn.Sequential(_batches(), _batches()),
    "instances": lambda: (
        importlib.import_module("torch").nn.InstanceNorm1d(5, track_running_stats=True).double()
    ),
}
"""Modules that write running statistics, of which their results do not depend."""


@pytest.mark.parametrize("module", MODULES)
def test_an_imported_module_that_is_trained_keeps_its_statistics_as_in_pytorch(module: str) -> None:
    torch: Any = pytest.importorskip("torch")
    import_rule = importlib.import_module("chainrules_torch").import_rule
    x = np.random.default_rng(0).normal(size=(5, 3))
    native, t = MODULES[module](), torch.tensor(x, requires_grad=True)
    bars = torch.autograd.grad((native(t) ** 3).sum(), t, create_graph=True)[0]
    twice = torch.autograd.grad((bars * t.detach()).sum(), t)[0]
    mine = MODULES[module]()
    f = import_rule(mine)
    cubes = lambda x: np.sum(f(x) ** 3)
    np.testing.assert_allclose(grad(cubes)(x), bars.detach(), rtol=1e-10)
    for found, wanted in zip(mine.buffers(), native.buffers(), strict=True):
        assert torch.equal(found, wanted)
    np.testing.assert_allclose(
        jvp(cubes, (x,), (x,))[1], (bars.detach() * t.detach()).sum(), atol=1e-10
    )
    np.testing.assert_allclose(
        grad(lambda q: np.sum(grad(cubes)(q) * x))(x), twice, rtol=1e-8, atol=1e-10
    )
