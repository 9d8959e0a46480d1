"""Which rules cannot ask a tensor for its numbers: what asks, in any disguise, is watched over."""

from __future__ import annotations

import math
import operator
import textwrap

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from chainrules_py import LinearMap, primitive, rule, scalar_rule  # noqa: E402
from chainrules_py import vocabulary as v  # noqa: E402
from chainrules_torch import export  # noqa: E402
from chainrules_torch.engine.export import plan_for  # noqa: E402
from tests.engines.torch.test_rules_that_leave import FIRST, QUICK, SECOND, wrong_at  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::chainrules_bridge.CalledBackWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning"),
]

STRAIGHT = {
    "word": "return v.exp(x)",
    "function of PyTorch": "return torch.exp(x)",
    "method": "return x.exp()",
    "imported word": "return exp(x)",
    "helper": "return twice(x) / 2.0",
    "branch of shapes": "return v.exp(x) if len(x.shape) < 9 else x",
    "loop": "y = 1.0\n    for k in range(2): y = y * v.exp(x / 2.0)\n    return y",
    "inner function": "def g(t): return v.exp(t)\n    return g(x)",
    "list": "return sum([v.exp(t) for t in (x,)])",
    "constant": "return v.exp(x) * scale",
}
ASKING = {
    "item": "return math.exp(x.item())",
    "float": "return math.exp(float(x))",
    "list of numbers": "return math.exp(x.tolist())",
    "module": "return 1.0 * math.exp(x)",
    "NumPy": "return np.exp(x)",
    "helper": "return ask(x)",
    "helper of a helper": "return asked_twice(x)",
    "method of an object": "return holder.ask(x)",
    "entry of a table": "return table['ask'](x)",
    "attribute by name": "return math.exp(getattr(x, 'it' + 'em')())",
    "method of the class": "return math.exp(torch.Tensor.item(x))",
    "special method": "return math.exp(x.__float__())",
    "class of the operand": "return math.exp(type(x).item(x))",
    "text": "return math.exp(float('%.17g' % x))",
    "text alone": "return math.exp(number('%.17g' % x))",
    "text in pieces": "return math.exp(float(f'{x.item()!r}'))",
    "format": "return math.exp(float('{}'.format(x.item())))",
    "map": "return math.exp(next(map(float, [x])))",
    "comprehension": "return [math.exp(t.item()) for t in [x]][0]",
    "lambda": "return (lambda t: math.exp(t.item()))(x)",
    "import": "import math as m\n    return m.exp(x.item())",
    "import from": "from math import exp as e\n    return 1.0 * e(x)",
    "default": "def g(t, f=float): return math.exp(f(t))\n    return g(x)",
    "evaluated": "return eval('math.exp(x.item())')",
    "caller": "return math.exp(operator.methodcaller('item')(x))",
    "complex": "return math.exp(complex(x).real)",
    "class inside": "class A:\n        y = x.item()\n    return math.exp(A.y)",
    "exponent": "return math.e ** x.item()",
    "array method": "return float(np.exp(x.numpy()))",
    "partial": "return bound(x)",
}


def ask(x):
    return math.exp(float(x))


def asked_twice(x):
    return ask(x) * 1.0


def twice(x):
    return 2.0 * v.exp(x)


class Holder:
    def ask(self, x):
        return math.exp(x)


def names():
    """Make names of their own for a rule's code."""
    import functools

    return {
        "math": math,
        "np": np,
        "torch": torch,
        "v": v,
        "exp": v.exp,
        "twice": twice,
        "ask": ask,
        "asked_twice": asked_twice,
        "holder": Holder(),
        "table": {"ask": ask},
        "operator": operator,
        "number": float,
        "scale": 1.0,
        "LinearMap": LinearMap,
        "bound": functools.partial(ask),
    }


def function(source, head):
    space = names()
    exec(textwrap.dedent(f"def f({head}):\n    {source}"), space)
    return space["f"]


def by_scalar_rule(source):
    f = primitive(lambda x: v.exp(x))
    stated = function(source, "y, x")
    scalar_rule(f, stated)
    return f, stated


def by_rule(source):
    f = primitive(lambda x: v.exp(x))
    inner = source.replace("\n    ", "\n        ")
    pull = f"def p(x):\n        {inner}\n    "
    maps = "LinearMap(lambda t, x: t * p(x), lambda b, x: b * p(x), x)"
    space = names() | {"value": f}
    exec(f"def f(x):\n    {pull}return value(x), ({maps},)", space)
    rule(f)(space["f"])
    return f, space["f"]


def plan_of(f, cls=torch.Tensor):
    return plan_for(f.function, (cls,), {})


def wrong(f):
    return wrong_at(f, torch.tensor(0.4, dtype=torch.float64), (*QUICK, *SECOND))


@pytest.mark.parametrize("pen", [by_scalar_rule, by_rule])
@pytest.mark.parametrize("form", ASKING)
def test_what_asks_is_found(form, pen):
    f = export(pen(ASKING[form])[0])
    assert not wrong(f)
    assert plan_of(f).may_ask()


@pytest.mark.parametrize("form", STRAIGHT)
def test_what_asks_nothing_is_not_watched(form):
    f = export(by_scalar_rule(STRAIGHT[form])[0])
    assert not wrong(f)
    assert not plan_of(f).may_ask()


def test_a_rule_of_maps_that_asks_nothing():
    f = primitive(lambda x: v.exp(x))
    space = names() | {"value": f}
    maps = "LinearMap(lambda t, y: t * y, lambda b, y: b * y, y)"
    exec(f"def f(x):\n    y = value(x)\n    return y, ({maps},)", space)
    rule(f)(space["f"])
    exported = export(f)
    assert not wrong(exported)
    assert not plan_of(exported).may_ask()


def test_names_and_code_that_change_later():
    primal, stated = by_scalar_rule("return exp(x)")
    f = export(primal)
    assert not wrong(f)
    assert not plan_of(f).may_ask()
    stated.__globals__["exp"] = ask
    assert plan_of(f).may_ask()
    assert not wrong(f)
    stated.__globals__["exp"] = v.exp
    assert not plan_of(f).may_ask()
    stated.__code__ = function("return math.exp(x.item())", "y, x").__code__
    assert plan_of(f).may_ask()
    assert not wrong(f)


def test_bodies_and_classes_that_ask():
    body = primitive(function("return v.exp(x) + 0.0 * x.item()", "x"))
    scalar_rule(body, function("return y", "y, x"))
    f = export(body)
    FIRST["grad"](f, torch.tensor(0.4, dtype=torch.float64))
    assert plan_of(f).may_ask()
    kept = export(by_scalar_rule(STRAIGHT["word"])[0])
    Own = type("Own", (torch.Tensor,), {"exp": lambda self: self.item()})
    assert plan_of(kept, Own).may_ask()
    assert not plan_of(kept, torch.nn.Parameter).may_ask()
