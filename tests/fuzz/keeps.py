"""Rules that keep something of a call: a buffer that is used again, a name, an attribute.

The rule of a square computes its slope at the call, leaves it somewhere, and reads it there later;
or it computes what it gives in an array of its own. Programs call it more than once. The derivative
is what differences of the function tell, or there is an error.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainrules_compile import compile as compiled
from chainrules_py import ChainRulesError, export, frule, rrule
from chainrules_tape import Tape, grad, jacobian, jvp, linearize, vjp

X, U = np.array([0.5, 1.2, 0.7]), np.array([1.0, -0.5, 2.0])


class Place(NamedTuple):
    """Where something is kept: what precedes the rule, what keeps D there, and what reads it."""

    setup: str
    keep: str
    read: str


PLACES = {
    "nowhere": Place("pass", "d = D", "d"),
    "a cell": Place("kept = None", "nonlocal kept; kept = D", "kept"),
    "a global": Place("pass", "global KEPT; KEPT = D", "KEPT"),
    "a list": Place("box = [None]", "box[0] = D", "box[0]"),
    "the end of a list": Place("box = []", "box.append(D)", "box[-1]"),
    "a dict": Place("box = {}", "box['d'] = D", "box['d']"),
    "an attribute": Place("a = types.SimpleNamespace()", "a.d = D", "a.d"),
    "setattr": Place("a = types.SimpleNamespace()", "setattr(a, 'd', D)", "getattr(a, 'd')"),
    "a class": Place("class A: pass", "A.d = D", "A.d"),
    "a module": Place("m = types.ModuleType('m')", "m.d = D", "m.d"),
    "a function": Place("def h(): pass", "h.d = D", "h.d"),
    "a deque": Place("q = collections.deque(maxlen=1)", "q.append(D)", "q[0]"),
    "a context variable": Place("v = contextvars.ContextVar('v')", "v.set(D)", "v.get()"),
    "a cache": Place("box = functools.lru_cache(lambda: [None])", "box()[0] = D", "box()[0]"),
    "a buffer": Place("b = np.zeros(3)", "b[...] = D", "b"),
    "a buffer, by out=": Place("b = np.zeros(3)", "np.add(D, 0.0, out=b)", "b"),
    "a view of a buffer": Place("b = np.zeros((2, 3))", "b[0] = D", "b[0]"),
    "a field of a record": Place("b = np.zeros(3, [('d', float)])", "b['d'] = D", "b['d']"),
    "bytes": Place("b = bytearray(24)", "np.frombuffer(b)[:] = D", "np.frombuffer(b)"),
    "a memory view": Place(
        "b = array.array('d', [0.0] * 3)", "memoryview(b)[:] = array.array('d', D)", "np.array(b)"
    ),
    "a buffer given away": Place("b = np.zeros(3)", "d = D", "OUT"),
    "a list that is given away": Place("box = [None]", "d = D", "GIVEN"),
}

PENS = {
    "rrule": """
    @rrule.register(g)
    def g_rrule(z):
        KEEP
        return z * z, lambda c: (TIMES(c),)
""",
    "frule": """
    @frule.register(g)
    def g_frule(dots, z):
        KEEP
        return z * z, TIMES(dots[0])
""",
    "rule": """
    @rule(g, types=(object,))
    def g_rule(z):
        KEEP
        return z * z, (LinearMap(lambda t: TIMES(t), lambda c: TIMES(c)),)
""",
    "rule that saves": """
    @rule(g, types=(object,))
    def g_rule(z):
        KEEP
        half = lambda t, READ_AS: TIMES(t)
        return z * z, (LinearMap(half, half, READ),)
""",
    "augmented_rule": """
    def forward(z):
        KEEP
        return z * z, (READ,)
    augmented_rule(g, forward, lambda READ_AS, c: (TIMES(c),), types=(object,))
""",
    "custom_vjp": """
    g = custom_vjp(lambda z: z * z)
    def forward(z):
        KEEP
        return z * z, READ
    g.defvjp(forward, lambda READ_AS, c: (TIMES(c),))
""",
    "custom_jvp": """
    g = custom_jvp(lambda z: z * z)
    @g.defjvp
    def push(primals, dots):
        z, = primals
        KEEP
        return z * z, TIMES(dots[0])
""",
    "scalar_rule": """
    def partial(_y, z):
        KEEP
        return READ
    scalar_rule(g, partial)
""",
    "the value": """
    out = np.zeros(3)
    @primitive
    def g(z):
        return np.multiply(z, z, out=out)
    scalar_rule(g, lambda _y, z: 2.0 * z)
""",
}

_HEAD = """
import array, collections, contextvars, functools, types
import numpy as np
from chainrules_compat import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import LinearMap, frule, primitive, rrule, rule, scalar_rule

def build():
    SETUP
    @primitive
    def g(z):
        return z * z
"""


def made(pen: str, place: str) -> Callable[[Any], Any]:
    """Make the square, with a rule that keeps something."""
    setup, keep, read = PLACES[place]
    text = _HEAD + PENS[pen] + "\n    return g\n"
    times: dict[str, str] = {
        "OUT": "np.multiply({}, d, out=b)",
        "GIVEN": "box.__setitem__(0, {} * d) or box[0]",
    }
    saved = "READ_AS" in PENS[pen]
    name = "d" if read in times else "saved" if saved else read
    product = times.get(read, "{} * " + name)
    for t in ("t", "c", "dots[0]"):
        text = text.replace(f"TIMES({t})", product.format(t))
    text = text.replace("READ_AS", name).replace("READ", "d" if read in times else read)
    text = text.replace("KEEP", keep.replace("D", "2.0 * z")).replace("SETUP", setup)
    names: dict[str, Any] = {"__name__": "a_program"}
    exec(compile(text, "<a program>", "exec"), names)
    return names["build"]()  # type: ignore[no-any-return]


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "once": lambda g, x, u: g(x),
    "of itself": lambda g, x, u: g(g(x)),
    "two": lambda g, x, u: g(x) * g(x * 2.0),
    "a sum": lambda g, x, u: g(x) * 2.0 + g(x) * u,
    "a sum of others": lambda g, x, u: g(x) + g(x * 3.0) * u,
    "a loop": lambda g, x, u: g(g(g(x) * 0.5) * 0.5),
}
"""By name: of a function, an array, and the numbers U as an array like it."""


def _taped(f: Any, x: Any) -> Any:
    with Tape() as tape:
        a = tape.variable(x)
        y = f(a)
    return tape.grad(y, a) @ U


def _later(f: Any, x: Any) -> Any:
    pull, _ = vjp(f, x)[1], vjp(f, 3.0 * x)
    return pull(1.0)[0] @ U


def _pulled_twice(f: Any, x: Any) -> Any:
    pull = vjp(f, x)[1]
    first = pull(1.0)[0]
    pull(5.0)
    return first @ U


def _pushed_twice(f: Any, x: Any) -> Any:
    push = linearize(f, x)[1]
    first = push(U)
    push(5.0 * U)
    return first


def _raw(g: Any, x: Any, twice: bool) -> Any:
    pull = rrule(g, x)[1]
    first = pull(np.ones(3))[0]
    if twice:
        pull(5.0 * np.ones(3))
    else:
        rrule(g, 3.0 * x)
        first = pull(np.ones(3))[0]
    return first @ U


def _raw_push(g: Any, x: Any) -> Any:
    first = frule((U,), g, x)[1]
    frule((5.0 * U,), g, x)
    return np.sum(first)


DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: grad(f)(x) @ U,
    "jvp": lambda f, x: jvp(f, (x,), (U,))[1],
    "linearize": lambda f, x: linearize(f, x)[1](U),
    "jacobian forward": lambda f, x: jacobian(f, mode="forward")(x) @ U,
    "jacobian reverse": lambda f, x: jacobian(f, mode="reverse")(x) @ U,
    "Tape": _taped,
    "vjp, pulled later": _later,
    "vjp, pulled twice": _pulled_twice,
    "linearize, pushed twice": _pushed_twice,
    "compile": lambda f, x: compiled(grad(f))(x) @ U,
    "compile, jvp": lambda f, x: compiled(lambda x: jvp(f, (x,), (U,))[1])(x),
}
RAW: dict[str, Callable[[Any, Any], Any]] = {
    "rrule, pulled twice": lambda g, x: _raw(g, x, True),
    "rrule, pulled later": lambda g, x: _raw(g, x, False),
    "frule, twice": _raw_push,
}


def _torch(program: Any, g: Any, door: str) -> Any:
    torch: Any = importlib.import_module("torch")
    h, x, u = export(g, to="torch"), torch.tensor(X), torch.tensor(U)
    f: Any = lambda x: program(h, x, u).sum()
    if door == "jvp":
        return torch.func.jvp(f, (x,), (u,))[1]
    if door == "grad":
        return torch.func.grad(f)(x) @ u
    f(x.requires_grad_()).backward()
    return x.grad @ u


def _jax(program: Any, g: Any, door: str) -> Any:
    jax: Any = importlib.import_module("jax")
    with jax.enable_x64(True):
        h, x, u = export(g, to="jax"), jax.numpy.array(X), jax.numpy.array(U)
        f: Any = lambda x: program(h, x, u).sum()
        return jax.jvp(f, (x,), (u,))[1] if door == "jvp" else jax.grad(f)(x) @ u


def _autograd(program: Any, g: Any, door: str) -> Any:
    autograd: Any = importlib.import_module("autograd")
    h, total = export(g, to="autograd"), importlib.import_module("autograd.numpy").sum
    f: Any = lambda x: total(program(h, x, U))
    return autograd.make_jvp(f)(X)(U)[1] if door == "jvp" else autograd.grad(f)(X) @ U


ENGINES: dict[str, Callable[[Any, Any], Any]] = {
    f"{engine}, {door}": functools.partial(run, door=door)
    for engine, run, doors in (
        ("torch", _torch, ("grad", "backward", "jvp")),
        ("jax", _jax, ("grad", "jvp")),
        ("autograd", _autograd, ("grad", "jvp")),
    )
    for door in doors
}
"""Of a program and a function that is exported: what an engine gives has memory of its own."""


def verdict(pen: str, place: str, program: str, door: str) -> str:
    """Tell what is wrong with a derivative; the empty text if nothing is."""
    return judged(made(pen, place), program, door)


def judged(g: Any, program: str, door: str, refused: str = "") -> str:
    """Tell what is wrong with a derivative of a program of a square; ``refused`` of an error."""
    h = 1e-6
    plain: Any = lambda x: np.sum(PROGRAMS[program](np.square, x, U))
    f: Any = lambda x: np.sum(PROGRAMS[program](g, x, U))
    try:
        if door in RAW:
            found, due = RAW[door](g, X.copy()), 2.0 * X @ U
        else:
            due = (plain(X + h * U) - plain(X - h * U)) / (2 * h)
            in_engine = door in ENGINES
            found = ENGINES[door](PROGRAMS[program], g) if in_engine else DOORS[door](f, X.copy())
    except ImportError:
        return ""
    except ChainRulesError as error:
        return refused and f"{refused}: {error}"
    except RuntimeError as error:  # PyTorch's: memory of NumPy's for a value that it follows
        if "storage" in str(error) or "numpy()" in str(error):
            return ""
        raise
    finally:
        U[...] = 1.0, -0.5, 2.0  # which a program may have written to
    return "" if np.isclose(np.asarray(found), due, rtol=1e-4) else f"{found} for {due}"
