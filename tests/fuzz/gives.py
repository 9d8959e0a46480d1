"""What the parts of a rule give in a form that belongs to nothing: another shape, texts, no number.

Each is refused with an error of ours, in every function, or it gives the derivative of the form
that it should have had. A cotangent may have the shape of the result, where operands are broadcast,
and an imaginary part, where a real operand meets complex ones: these are projected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile import compile as compiled
from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    bilinear_rule,
    frule,
    linear_rule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import Tape, grad, hessian, hvp, jacobian, jvp, linearize, vjp

X = np.array([0.5, 1.2, 0.7])
ONES = np.ones(3)

FORMS: dict[str, Callable[[], Any]] = {
    "another shape": lambda: np.ones((2, 3)),
    "another length": lambda: np.ones(4),
    "a column": lambda: np.ones((3, 1)),
    "nothing": lambda: np.ones(0),
    "complex": lambda: np.ones(3) + 1j,
    "a complex number": lambda: 1j,
    "None": lambda: None,
    "a text": lambda: "1.0",
    "bytes": lambda: b"1.0",
    "texts": lambda: np.array(["1", "2", "3"]),
    "objects": lambda: np.ones(3, object),
    "times": lambda: np.ones(3, "m8[s]"),
    "records": lambda: np.ones(3, [("a", float)]),
    "masked": lambda: np.ma.array(np.ones(3), mask=[False, True, False]),
    "a dict": lambda: {"x": np.ones(3)},
    "a set": lambda: {1.0},
    "a function": lambda: np.sin,
    "a class": lambda: float,
    "a generator": lambda: (x for x in (1.0, 2.0, 3.0)),
    "...": lambda: ...,
}
"""By name what is given, for a result and an operand of three real numbers."""
PROJECTED = {"another shape", "a column", "complex", "a complex number"}
"""Forms that are brought to those of an operand, where a pull gives them."""
PULLS = {"pull", "rrule", "linear_rule", "bilinear_rule", "augmented_rule", "custom_vjp"}


def stated(constructor: str, form: str) -> Any:
    """Make the square, or twice a value, with a part that gives something in a form."""
    give: Any = lambda *_: FORMS[form]()
    right: Any = lambda t, x: 2.0 * x * t
    body: Any = (lambda x: x * 2.0) if constructor == "linear_rule" else (lambda x: x * x)
    f: Any = primitive(body)
    if constructor == "custom_vjp":
        f = custom_vjp(body)
        f.defvjp(lambda x: (x * x, x), lambda x, y_bar: (give(),))
        return f
    if constructor == "custom_jvp":
        f = custom_jvp(body)
        f.defjvp(lambda primals, dots: (primals[0] * primals[0], give()))
        return f
    if constructor == "scalar_rule":
        scalar_rule(f, lambda _y, x: give(x))
    elif constructor == "linear_rule":
        linear_rule(f, give)
    elif constructor == "bilinear_rule":
        product: Any = primitive(lambda x, y: x * y)
        bilinear_rule(product, give, give)
        return lambda x: product(x, x)
    elif constructor == "rrule":
        rrule.register(f)(lambda x: (x * x, lambda y_bar: (give(),)))
    elif constructor == "frule":
        frule.register(f)(lambda dots, x: (x * x, give()))
    elif constructor == "augmented_rule":
        augmented_rule(f, lambda x: (x * x, (x,)), lambda x, y_bar: (give(),), types=(object,))
    else:
        halves = (give, right) if constructor == "push" else (right, give)

        def f_rule(x):  # type: ignore[no-untyped-def]
            return x * x, (LinearMap(*halves, x),)

        rule(f, types=(object,))(f_rule)
    return f


CONSTRUCTORS = ("scalar_rule", "push", "frule", "custom_jvp", *sorted(PULLS))


def _taped(f: Any) -> Any:
    with Tape() as tape:
        x = tape.variable(X)
        y = np.sum(f(x))
    return tape.grad(y, x)


_loss: Any = lambda f: lambda x: np.sum(f(x))
DOORS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(_loss(f))(X),
    "vjp": lambda f: vjp(f, X)[1](ONES)[0],
    "jvp": lambda f: jvp(f, (X,), (ONES,))[1],
    "linearize": lambda f: linearize(f, X)[1](ONES),
    "jacobian forward": lambda f: jacobian(f, mode="forward")(X) @ ONES,
    "jacobian reverse": lambda f: jacobian(f, mode="reverse")(X) @ ONES,
    "hessian": lambda f: hessian(_loss(f))(X),
    "hvp": lambda f: hvp(_loss(f), (X,), (ONES,)),
    "Tape": _taped,
    "compile": lambda f: compiled(grad(_loss(f)))(X),
}


def verdict(constructor: str, form: str, door: str) -> str:
    """Tell what is wrong: an answer where there is none, or an error that is not ours."""
    f = stated(constructor, form)
    try:
        found = DOORS[door](f)
    except ChainRulesError:
        return ""
    except (TypeError, ValueError):
        if constructor != "scalar_rule" and form != "masked":
            raise
        return ""  # a partial is a factor: what NumPy does not multiply it refuses itself
    forward = ("jvp", "linearize", "jacobian forward")
    if (constructor == "push" and door not in forward) or (
        constructor == "pull" and door in (*forward, "hvp")
    ):
        return ""  # the half that is right
    if constructor in ("linear_rule", "bilinear_rule") and door in (*forward, "hvp"):
        return ""  # as the function itself
    if form == "masked" and door in (*forward, "hvp"):
        return ""  # an array, which shows its mask
    if (constructor, form) == ("custom_vjp", "None"):
        return ""  # as in JAX: a zero
    if constructor in PULLS and form in PROJECTED and np.shape(found)[-1:] == (3,):
        return ""
    return f"{found!r}"
