"""Rules that are stated with ``direct=True``: of a plain function, for those who name it."""

import numpy as np
import pytest

from chainrules_py import LinearMap, RuleError, export, frule, primitive, rrule, rule
from chainrules_py import vocabulary as v
from chainrules_tape import grad, jvp, linearize, value_and_grad


def seven(function):
    """Return maps that no derivative has: that of the rule is known by it."""
    return lambda x: (function(x), (LinearMap(lambda t: 7.0 * t, lambda t: 7.0 * t),))


def doubled(x):
    return 2.0 * x


rule(doubled, direct=True)(seven(doubled))


def test_who_names_the_function_has_the_rule():
    assert rrule(doubled, 1.0)[1](1.0) == (7.0,)
    assert frule((1.0,), doubled, 1.0)[1] == 7.0
    rule(doubled, types=(complex,))(seven(doubled))  # what is stated once is a function with rules
    assert rrule(doubled, 1j)[1](1.0) == (7.0,)


CODE = {
    "itself": doubled,
    "in code": lambda x: doubled(x) * 1.0,
    "mapped": lambda x: v.map(doubled, x * np.ones(2))[0],
}


@pytest.mark.parametrize("name", CODE)
def test_the_tape_runs_the_body(name):
    f = CODE[name]
    for found in (grad(f)(1.0), jvp(f, (1.0,), (1.0,))[1], value_and_grad(f)(1.0)[1]):
        assert found == 2.0
    assert linearize(f, 1.0)[1](1.0) == 2.0


def _autograd(f):
    return pytest.importorskip("autograd").grad(f)(1.0)


def _jax(f):
    return pytest.importorskip("jax").grad(f)(1.0)


def _mlx(f):
    mx = pytest.importorskip("mlx.core")
    return np.array(mx.grad(f)(mx.array(1.0)))


def _torch(f):
    torch = pytest.importorskip("torch")
    return torch.func.grad(f)(torch.tensor(1.0))


def _backward(f):
    x = pytest.importorskip("torch").tensor(1.0, requires_grad=True)
    f(x).backward()
    return x.grad


def _mygrad(f):
    x = pytest.importorskip("mygrad").tensor(1.0)
    f(x).backward()
    return x.grad


def _pytensor(f):
    pytensor = pytest.importorskip("pytensor")
    x = pytensor.tensor.dscalar()
    return pytensor.grad(f(x), x).eval({x: 1.0}, mode="FAST_COMPILE")


ENGINES = {
    "autograd": _autograd,
    "jax": _jax,
    "mlx": _mlx,
    "torch": _torch,
    "torch, backward": _backward,
    "mygrad": _mygrad,
    "pytensor": _pytensor,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_exported_it_has_the_rule_and_in_exported_code_the_body(engine):
    slope = ENGINES[engine]
    to = engine.partition(",")[0]
    assert float(slope(export(doubled, to=to))) == 7.0
    assert float(slope(export(CODE["in code"], to=to))) == 2.0
    assert float(slope(CODE["in code"])) == 2.0


def test_functions_that_engines_see_take_no_rules_for_explicit_calls_alone():
    """They were taken, and used everywhere."""
    seen = primitive(lambda x: 2.0 * x)
    for f in (seen, np.sin, np.mean, v.sin, np.frompyfunc(lambda x: x, 1, 1)):
        with pytest.raises(RuleError, match=r"direct=True\).*engines see .* leave direct=True out"):
            rule(f, direct=True)(seven(f))
        with pytest.raises(RuleError, match="engines see"):
            rrule.register(f, direct=True)(lambda x: (x, lambda bar: (bar,)))
    assert grad(lambda x: np.sin(x))(0.0) == 1.0
