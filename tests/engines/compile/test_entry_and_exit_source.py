"""Saved modules are called as their function is, or refuse; never with other arguments in place."""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import keyword
import runpy
import shutil
from typing import Any

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_tape import grad, value_and_grad

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
def test_a_module_takes_its_arguments_by_place_and_by_name(signature, tmp_path):
    f, names = function(signature)
    for k, (args, keywords) in enumerate(ways(names)):
        wanted = answer(f, args, keywords)
        if type(wanted) is type:
            continue
        compiled = compile(f)
        compiled(*args, **keywords)
        compiled.save(tmp_path / f"m{k}.py")
        module = runpy.run_path(str(tmp_path / f"m{k}.py"))["call_"]
        assert module(*args, **keywords) == wanted


def test_a_module_takes_by_name_what_was_given_by_place(tmp_path):
    compiled = compile(of_two)
    compiled(X, X)
    compiled.save(tmp_path / "m.py")
    module = runpy.run_path(str(tmp_path / "m.py"))["of_two"]
    assert module(y=2.0 * X, x=X) == of_two(X, 2.0 * X)


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


# ------------------------------------------------------------------------------------------- names

MADE = (
    *("c0", "c1", "v1", "v2", "v3", "v07", "t1", "t2", "i", "j", "_", "part", "flat", "kept"),
    *("where", "last", "number", "keys", "keys_2", "keywords", "fits", "view", "joined", "arg0"),
    *("x_0", "x_1", "x_own0", "x_flat", "x_piece", "x_whole", "v1_piece", "v1_flat", "c0_", "x_c0"),
    *("MISS", "is_n", "same_keys", "multiply", "float64", "ndarray", "add", "numpy", "program"),
    *("self", "f", "args", "kw", "operands", "options", "function", "lock", "call_", "static_n"),
)
"""Names that the recorder, passes and writers make, and those of their own parameters."""
OWN = tuple(
    [n for n in dir(builtins) if n.isidentifier() and not keyword.iskeyword(n) and n[0] != "_"]
)
ODD = (
    *("class", "None", "True", "lambda", "not an id", "not_an_id", "", "1", "a-b", "a b", "a_b"),
    *("match", "type", "__debug__", "__builtins__", "__name__", "\ufb01", "x\u00b2", "\u212b"),
    *("a\nb", "'", "{x}", "\ud800", "\u00aa"),
)
"""Those that Python has another use for, reads otherwise, or that are none."""
X = np.array([0.5, -1.25, 4.0])

BODIES = {
    "constants": "np.ones(3) * X + A * (np.arange(3.0) + B)",
    "in place": "write(X, A, B)",
    "question": "X * A / B if np.sum(A) > -100.0 else X",
    "outputs": "(X, A, A[1:], {'a': B, 'b': B * 2.0})",
    "two results": "np.linalg.slogdet(np.outer(A, B) + 9.0 * np.eye(3))[1] * X",
    "reads": "X[0] * X[1] + X[2] * A[0] + A[1] * A[2] * B[1]",
}


def write(x, a, b):
    y = np.zeros(4, like=x)
    y[1:] += a
    y[:3] -= b
    return y * np.sum(x)


def taking(body, way, a, b):
    """Make a function of x, and of two that are called a and b, and how it is called."""
    scope: dict[str, Any] = {"np": np, "write": write}
    text = BODIES[body].replace("X", "X__")
    if way == "any":
        text = text.replace("A", f"kw[{a!r}]").replace("B", f"kw[{b!r}]")
        head = "X__, /, **kw"
    else:
        head = {"place": f"X__, {a}, {b}", "name": f"X__, *, {a}, {b}"}[way]
        text = text.replace("A", a).replace("B", b)
    # With names of builtins for arguments, what a body needs of these is looked up beside them.
    exec(f"def call_({head}):\n    return {text}".replace("X__", "the_x"), scope)

    def given(y, z):
        return ((X, y, z), {}) if way == "place" else ((X,), {a: y, b: z})

    return scope["call_"], given


def same(x, y):
    if isinstance(x, (tuple, dict)):
        x, y = (list(z.values()) if isinstance(z, dict) else list(z) for z in (x, y))
        return all(map(same, x, y))
    return type(x) is type(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes()


def check(f, given, target="numpy", path=None):
    """Call a compiled function twice: its one program, and the saved one, give what it gives."""
    compiled = compile(f, target=target)
    for y, z in ((X + 1.0, X * X), (X * 2.0, X + 3.0)):
        args, keywords = given(y, z)
        found, wanted = compiled(*args, **keywords), f(*args, **keywords)
        if target == "numpy":
            assert same(found, wanted), compiled.source
        assert not compiled.as_it_is
        assert len(compiled.programs) == 1, compiled.explain()
        if path is not None:
            compiled.save(path)
            module = runpy.run_path(str(path))[compiled.__name__]
            assert same(module(*args, **keywords), wanted), path.read_text()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("way", ["place", "name", "any"])
@pytest.mark.parametrize("body", BODIES)
def test_no_name_that_is_made_is_an_argument_s(body, way, tmp_path):
    """An argument c0 beside constants was "defined more than once"; one called part was written."""
    for a, b in zip(MADE, (*MADE[1:], MADE[0]), strict=True):
        f, given = taking(body, way, a, b)
        check(f, given, path=tmp_path / "m.py")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["c0", "v1", "_", "part", "len", "x_own0"])
@pytest.mark.parametrize("way", ["place", "name", "any"])
def test_nor_in_derivatives_and_for_other_targets(name, way, tmp_path):
    for body in ("constants", "question"):
        f, given = taking(body, way, name, "c1")
        check(grad(lambda *xs, f=f, **kw: np.sum(f(*xs, **kw))), given, path=tmp_path / "m.py")
        if shutil.which("cc"):
            check(f, given, "c")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("names", [OWN, ODD], ids=["builtins", "odd"])
def test_keywords_of_any_name(names, tmp_path):
    """Some gave errors of Python's own, were no source, or had helpers of the source shadowed."""

    def call_(x, /, **kw):
        return x * 2.0 + sum([a[0] * a[1][0] for a in kw.values()])

    def given(some):
        return lambda y, z: ((X,), {name: [y, {0: z}] for name in some})

    for name in names:
        check(call_, given([name]), path=tmp_path / "m.py")
    for k in range(0, len(names), 7):
        check(call_, given(names[k : k + 7]), path=tmp_path / "m.py")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("way", ["x, /, {}", "{}, x", "*, {}, x"])
def test_arguments_called_as_what_a_source_uses(way, tmp_path):
    scope: dict[str, Any] = {}
    for name in OWN:
        text = way.format(name)
        exec(f"def call_({text}): return x * {name}[0] * {name}[1][7] + {name}[1][2]", scope)
        f = scope["call_"]

        def given(y, z, text=text, name=name):
            other = [y, {7: z, 2: y}]
            if "/" in text:
                return (X, other), {}
            return ((), {name: other, "x": X}) if "*" in text else ((other, X), {})

        check(f, given, path=tmp_path / "m.py")
        saved = runpy.run_path(str(tmp_path / "m.py"))["call_"]
        assert name in inspect.signature(saved).parameters


@pytest.mark.filterwarnings("error")
def test_keywords_that_are_not_names_are_told_apart():
    compiled = compile(lambda x, /, **kw: x * kw.get("a b", 1.0) + 3.0 * kw.get("a_b", 2.0))
    for kw in ({"a b": X}, {"a_b": X}, {"a b": X, "a_b": 2.0 * X}, {"a_b": X, "a b": 2.0 * X}):
        for _ in range(2):
            wanted = X * kw.get("a b", 1.0) + 3.0 * kw.get("a_b", 2.0)
            assert same(compiled(X, **kw), wanted)
    assert len(compiled.programs) == 4
    static = compile(lambda x, /, **kw: x * kw["a b"], static="a b")
    assert same(static(X, **{"a b": 2.0}), X * 2.0)
    assert same(static(X, **{"a b": 3.0}), X * 3.0)
    assert len(static.programs) == 2


@pytest.mark.filterwarnings("error")
def test_what_asks_more_is_given_the_keywords_of_any_name():
    """A program hands its arguments on to one that asks whether each quotient is finite."""

    def f(x, /, **kw):
        return np.sum(x / kw["a b"] + kw["len"] / x)

    compiled = compile(grad(f))
    for y in (X, X * 0.0, X):
        with np.errstate(all="ignore"):
            found, wanted = (g(X, **{"a b": y, "len": X}) for g in (compiled, grad(f)))
        assert same(found, wanted)


def test_a_compiled_function_has_the_signature_of_its_function():
    def f(x, y=1.0, *, z=2):
        return x * y * z

    for compiled in (compile(f), compile(grad(f))):
        assert inspect.getfullargspec(compiled) == inspect.getfullargspec(f)
        assert inspect.signature(compiled) == inspect.signature(f)
