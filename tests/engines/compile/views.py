"""Random programs that view arrays, write to them and through their views, and read them again."""

from __future__ import annotations

import random
import textwrap
import warnings

import numpy as np

import chainrules_tape as ct
from chainrules_compile import RecordingError, RecordingWarning
from chainrules_py import MutationError, TracerError
from tests.engines.compile.checked import compile_checked

VIEWS = """
{a}.reshape(-1)
{a}.reshape(-1, 3)
{a}.reshape(-1, order='F')
{a}.ravel()
np.ravel({a}, 'F')
{a}.T
{a}[::2]
{a}[1:]
{a}[..., :2]
{a}[0]
{a}[-1:]
{a}[:, ::-1]
{a}[:, 1]
{a}[None]
{a}.view()
np.einsum('ii->i', {a})
np.einsum('ij->ji', {a})
np.diagonal({a})
np.atleast_1d({a})
np.atleast_2d({a})
np.atleast_3d({a})
np.expand_dims({a}, 0)
np.squeeze({a})
np.flip({a}, 0)
np.rot90({a})
np.swapaxes({a}, 0, 1)
np.moveaxis({a}, 0, -1)
np.split({a}, 3)[1]
np.array_split({a}, 2)[0]
np.broadcast_arrays({a}, {b})[0]
np.real({a})
""".strip().splitlines()
NEW = """
{a} * {b}
{a} * 1.0
{a} + {b}
np.sin({a})
{a}.copy()
np.sum({a}) * {b}
np.where({a} > 0, {a}, {b})
np.zeros_like({a})
np.zeros({a}.shape, like={a})
{a} @ {b}
np.outer({a}, {b})
np.concatenate([{a}, {b}])
np.copy({a})
""".strip().splitlines()
WRITES = """
{a}[...] = {b}
{a}[0] = 2.0
{a}[1:] = {b}[0]
{a}[1:] = {a}[:-1]
{a}[::-1] += {b}
{a}[{a} > 0] = 0.5
{a}[[0, 1]] *= 2.0
{a} *= {b}
{a} += np.sum({b})
{a} -= 0.25
{a} /= 1.5
np.multiply({a}, {b}, out={a})
np.add({a}, 1.0, out={a})
for row in {a}: row *= 0.5
{a}[..., 0] = {b}[..., 0] * {b}[..., 0]
""".strip().splitlines()
GIVEN = {"x": np.linspace(-1.0, 1.5, 9).reshape(3, 3), "y": np.array([0.7, -1.3, 0.4])}


def text_of(lines, outputs):
    total = " + ".join([f"np.sum({name} * {name} * {0.3 + i / 7:.2f})" for i, name in outputs])
    return "def f(x, y):\n" + textwrap.indent("\n".join([*lines, f"return {total}"]), "    ")


def run(lines):
    """Run lines on plain arrays; None if they raise or give numbers that grow."""
    scope = {"np": np, **{name: x.copy() for name, x in GIVEN.items()}}
    with np.errstate(all="ignore"):
        try:
            exec("\n".join(lines), scope)
        except Exception:
            return None
    arrays = {k: v for k, v in scope.items() if isinstance(v, np.ndarray)}
    good = [np.all(np.abs(v) < 50) and v.size < 100 and v.dtype == float for v in arrays.values()]
    return arrays if all(good) else None


def draw(seed, n=7):
    """Return the text of a program."""
    rng = random.Random(seed)
    lines = ["a0 = x * y", "a1 = np.sin(y) + 1.0"]
    arrays = run(lines)
    while len(lines) < n + 2:
        kind = rng.choice([VIEWS, VIEWS, NEW, WRITES, WRITES, WRITES])
        a, b = rng.choice([*arrays]), rng.choice([*arrays])
        line = rng.choice(kind).format(a=a, b=b)
        if kind is WRITES:
            if any([np.shares_memory(arrays[a], arrays[name]) for name in GIVEN]):
                continue
        else:
            line = f"a{len(arrays)} = {line}"
        found = run([*lines, line])
        if found is not None:
            lines.append(line)
            arrays = found
    names = [*enumerate([name for name in arrays if name not in GIVEN])]
    return text_of(lines, rng.sample(names, min(3, len(names))))


def function(text):
    scope = {"np": np}
    exec(text, scope)
    return scope["f"]


def doors(f):
    ts = lambda xs: tuple([np.cos(x) for x in xs])
    return {
        "plain": lambda *xs: f(*xs),
        "gradient": ct.value_and_grad(f, (0, 1)),
        "jvp": lambda *xs: ct.jvp(f, xs, ts(xs)),
        "hvp": lambda *xs: ct.hvp(f, xs, ts(xs)),
    }


ERRORS = (TracerError, MutationError, ArithmeticError, ValueError, TypeError)


def judge(seed, same):
    """Return what each door says of a program: equal, refused, or an error of the function's."""
    text, said = draw(seed), {}
    for name, f in doors(function(text)).items():
        compiled = compile_checked(f)
        for factor in (1.0, 1.0, 0.75, -0.5):
            given = [x * factor for x in GIVEN.values()]
            kept = [x.copy() for x in given]
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RecordingWarning)
                try:
                    wanted = f(*[x.copy() for x in given])
                except ERRORS as error:
                    wanted = error
                try:
                    found = compiled(*given)
                except (RecordingError, RecordingWarning) as error:
                    said[name] = f"refused: {error}"
                    break
                except ERRORS as error:
                    found = error
            if isinstance(wanted, Exception):
                assert type(found) is type(wanted), f"{name}\n{text}\n{found!r} for {wanted!r}"
                said[name] = f"raises {type(wanted).__name__}"
                break
            problem = f"seed {seed}, {name}\n{text}\n{compiled.programs and compiled.source}"
            assert not isinstance(found, Exception), f"{problem}\n{found!r}"
            assert same(found, wanted), f"{problem}\n{found} for {wanted}"
            assert all(map(np.array_equal, given, kept)), f"{problem}\nan argument is written to"
            said[name] = "equal"
    return said
