"""Saved modules are called as their function is, or refuse; never with other arguments in place."""

from __future__ import annotations

import functools
import inspect
import itertools
import runpy
from typing import Any

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_tape import value_and_grad

SIGNATURES = (
    "x, y",
    "x, /, y",
    "x, *, y",
    "x, y=2.0",
    "x, n=2.0, y=3.0",
    "x, n=2.0, *, y=3.0",
    "x, n=2.0, /, y=3.0",
    "x, n=2.0, y=3.0, /",
    "x=1.0, n=float('inf'), y=3.0",
    "x, n=None, y=-0.0",
    "x, n=(), y=3.0",
    "x, n=object(), y=3.0",
    "x, **k",
    "x, y=2.0, **k",
    "x, /, n=1.0, *, y=2.0, **k",
    "*xs",
    "x, y, *xs",
    "x, *xs, y=2.0",
    "MISS, x, known=1.5",
    "numpy, call, captured_has_changed=1.5",
)
NUMBERS = (0.5, -1.25, 4.0)


def function(signature):
    """Make a function of all that it is given: each counts otherwise."""
    names = list(inspect.signature(eval(f"lambda {signature}: 0")).parameters)
    terms = [
        f"sum([{7 + i}.0 * a * a for i, a in enumerate(xs)])"
        if name == "xs"
        else "sum([11.0 * a for a in k.values()])"
        if name == "k"
        else f"({i + 2}.0 * {name} if isinstance({name}, float) else 0.0)"
        for i, name in enumerate(names)
    ]
    scope: dict[str, Any] = {}
    body = f'"""Give "numbers" \\\\ of {names[0]}."""\n    return {" + ".join(terms)}'
    exec(f"def call_({signature}):\n    {body}", scope)
    return scope["call_"], [name for name in names if name not in ("xs", "k")]


def ways(names):
    """Give arguments by place, and by name."""
    for n in range(4):
        for some in itertools.chain.from_iterable(
            itertools.combinations([*names, "z"], k) for k in range(3)
        ):
            yield NUMBERS[:n], {name: 8.0 + 2.0 * i for i, name in enumerate(some)}


def answer(f, args, keywords):
    try:
        return f(*args, **keywords)
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_module_has_the_parameters_of_its_function(signature, tmp_path):
    """They were by place or by name alone, as in the call that recorded it, without defaults."""
    f, names = function(signature)
    told = inspect.signature(f).parameters
    for k, (args, keywords) in enumerate(ways(names)):
        wanted = answer(f, args, keywords)
        if type(wanted) is type:
            continue
        compiled = compile(f)
        compiled(*args, **keywords)
        compiled.save(tmp_path / f"m{k}.py")
        module = runpy.run_path(str(tmp_path / f"m{k}.py"))["call_"]
        assert module(*args, **keywords) == wanted
        assert inspect.getdoc(module) == inspect.getdoc(f)
        for name, p in inspect.signature(module).parameters.items():
            if p.default is not p.empty:
                assert repr(p.default) == repr(told[name].default)
        for others in ways(names):
            found, right = answer(module, *others), answer(f, *others)
            assert type(found) is type or found == right, (args, keywords, others)
        bound = inspect.signature(f).bind(*args, **keywords)
        more = bound.arguments.pop("k", {})
        if "xs" not in bound.arguments and more.keys().isdisjoint(told):
            # By name what was by place, and back.
            by = {n: p.kind for n, p in told.items()}
            given = bound.arguments.items()
            placed = [x for n, x in given if by[n] is inspect.Parameter.POSITIONAL_ONLY]
            rest = {n: x for n, x in given if by[n] is not inspect.Parameter.POSITIONAL_ONLY}
            assert module(*placed, **rest, **more) == wanted


class Energy:
    """Energy of a spring."""

    def __call__(self, x):
        return np.sum(x * x)


def of_two(x, y):
    return np.sum(x * y)


NAMED = {
    "Energy": (Energy(), 1),
    "of_two": (functools.partial(of_two, np.ones(3)), 1),
    "call": (lambda x: np.sum(x), 1),
}


@pytest.mark.parametrize("made", [lambda f: f, value_and_grad, lambda f: functools.partial(f)])
@pytest.mark.parametrize("name", NAMED)
def test_modules_are_named_by_what_people_wrote(name, made, tmp_path):
    compiled = compile(made(NAMED[name][0]))
    compiled(np.ones(3))
    compiled.save(tmp_path / "m.py")
    assert name in runpy.run_path(str(tmp_path / "m.py"))
