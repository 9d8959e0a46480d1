"""Rules that look something up: every constructor and way, changed before differentiation.

The function is w sin(z), whose rule looks up w in one of many ways. Between the call and its
derivative somebody writes to w, or puts something else in its place. The derivative is then that of
the call, w cos(z), or an error; never one with another w.
"""

from __future__ import annotations

import collections
import functools
import importlib
import itertools
import operator
import random
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import ChainRulesError, MutationError, export, rrule
from chainrules_tape import Tape, grad, jacobian, linearize, value_and_grad, vjp

X = np.array([0.3, 1.2, 2.0])
OLD, NEW = np.array([1.0, 2.0, 3.0]), np.array([50.0, 2.0, 7.0])

# ------------------------------------------------------------------------------- the statements

_HEAD = """
import array, collections, contextvars, dataclasses, enum, functools, operator, threading, types
import weakref
import numpy as np
from chainrules_py import LinearMap, frule, linear_rule, bilinear_rule, primitive, rrule, rule
from chainrules_py import scalar_rule
from chainrules_tape import checkpoint
from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp, user_grad
from chainrules_py.ops import cos, sin
"""
CONSTRUCTORS = {
    "scalar_rule": """
    g = primitive(lambda z: sin(z) * READ)
    scalar_rule(g, lambda _y, z: cos(z) * READ)
""",
    "scalar_rule, w itself": """
    g = primitive(lambda z: z * READ)
    scalar_rule(g, lambda _y, _z: READ)
""",
    "linear_rule": """
    g = primitive(lambda z: z * READ)
    linear_rule(g, lambda c, z: c * READ)
""",
    "bilinear_rule": """
    h = primitive(lambda z, u: z * u * READ)
    bilinear_rule(h, lambda c, z, u: c * u * READ, lambda c, z, u: z * c * READ)
    g = lambda z: h(z, sin(z)) / z
""",
    "rule": """
    g = primitive(lambda z: sin(z) * READ)
    @rule(g, types=(object,))
    def g_rule(z):
        def pull(c):
            out = c * 0.0
            out = out + c * cos(z) * READ
            return out
        return g(z), (LinearMap(lambda t: t * cos(z) * READ, pull),)
""",
    "rule that saves": """
    g = primitive(lambda z: sin(z) * READ)
    @rule(g, types=(object,))
    def g_rule(z):
        times = lambda t, slope, w: t * slope * w
        return g(z), (LinearMap(times, times, cos(z), READ),)
""",
    "rrule": """
    g = primitive(lambda z: sin(z) * READ)
    @rrule.register(g, types=(object,))
    def g_rrule(z):
        return g(z), lambda c: (c * cos(z) * READ,)
""",
    "frule": """
    g = primitive(lambda z: sin(z) * READ)
    @frule.register(g, types=(object,))
    def g_frule(dots, z):
        return g(z), dots[0] * cos(z) * READ
""",
    "rrule and frule": """
    g = primitive(lambda z: sin(z) * READ)
    @frule.register(g, types=(object,))
    def g_frule(dots, z):
        return g(z), dots[0] * cos(z) * READ
    @rrule.register(g, types=(object,))
    def g_rrule(z):
        return g(z), lambda c: (c * cos(z) * READ,)
""",
    "custom_vjp": """
    g = custom_vjp(lambda z: sin(z) * READ)
    g.defvjp(lambda z: (g(z), z), lambda z, c: (c * cos(z) * READ,))
""",
    "custom_jvp": """
    g = custom_jvp(lambda z: sin(z) * READ)
    g.defjvp(lambda zs, ts: (g(*zs), ts[0] * cos(zs[0]) * READ))
""",
    "augmented_rule": """
    g = primitive(lambda z: sin(z) * READ)
    augmented_rule(g, lambda z: (g(z), (z,)), lambda z, c: (c * cos(z) * READ,), types=(object,))
""",
    "checkpoint": """
    g = checkpoint(lambda z: sin(z - X0) * READ)
""",
    "user_grad": """
    def g(z):
        return user_grad(z)(lambda z: (sin(z) * READ, lambda c: (c * cos(z) * READ,)))
""",
}


NO_PRIMITIVES = ("user_grad", "bilinear_rule", "checkpoint")


class Way(NamedTuple):
    """How w is reached: what is written around the rule, what reads it, what replaces it."""

    setup: str
    read: str
    replace: str


WAYS = {
    "cell": Way("v = w", "v", "nonlocal v; v = new"),
    "view": Way("v = w[:] if np.ndim(w) else w", "v", ""),
    "global": Way("global V; V = w", "V", "global V; V = new"),
    "list": Way("box = [w]", "box[0]", "box[0] = new"),
    "dict": Way("box = {'w': w}", "box['w']", "box['w'] = new"),
    "nested": Way("box = {'a': [(w,)]}", "box['a'][0][0]", "box['a'][0] = (new,)"),
    "ordered": Way("box = collections.OrderedDict(w=w)", "box['w']", "box['w'] = new"),
    "deque": Way("box = collections.deque([w])", "box[0]", "box[0] = new"),
    "global dict": Way("global BOX; BOX = {'w': w}", "BOX['w']", "BOX['w'] = new"),
    "attribute": Way("class A: pass\n    a = A(); a.w = w", "a.w", "a.w = new"),
    "namespace": Way("a = types.SimpleNamespace(w=w)", "a.w", "a.w = new"),
    "attribute of two": Way(
        "class A: pass\n    a = A(); a.b = A(); a.b.w = w", "a.b.w", "a.b.w = new"
    ),
    "slot": Way("class A: __slots__ = ('w',)\n    a = A(); a.w = w", "a.w", "a.w = new"),
    "dataclass": Way(
        "D = dataclasses.make_dataclass('D', ['w'])\n    a = D(w)", "a.w", "a.w = new"
    ),
    "in a list of objects": Way(
        "class A: pass\n    a = A(); a.w = w; layers = [a]", "layers[0].w", "a.w = new"
    ),
    "class": Way("class A: w = W0", "A.w", "A.w = new"),
    "class of an object": Way("class A: w = W0\n    a = A()", "a.w", "A.w = new"),
    "inherited by a class": Way("class A: w = W0\n    class B(A): pass", "B.w", "B.w = new"),
    "inherited by an object": Way(
        "class A: w = W0\n    class B(A): pass\n    a = B()", "a.w", "B.w = new"
    ),
    "another class": Way(
        "class A: w = W0\n    C = type('C', (), {'w': new}); a = A()", "a.w", "a.__class__ = C"
    ),
    "module": Way("mod = types.ModuleType('settings'); mod.w = w", "mod.w", "mod.w = new"),
    **{
        f"imported by {how}": Way(
            f"import sys; mod = sys.modules['a_part'] = types.ModuleType('a_part'); mod.w = w\n"
            f"    def get():\n        {body}",
            "get()",
            "mod.w = new",
        )
        for how, body in (
            ("from", "from a_part import w as u; return u"),
            ("import", "import a_part as m; return m.w"),
            (
                "a helper",
                "inner = lambda: __import__('a_part')\n        return inner().w",
            ),
            ("sys.modules", "import sys; return sys.modules['a_part'].w"),
            ("its name", "return __import__('a_part').w"),
            ("importlib", "import importlib; return importlib.import_module('a_part').w"),
        )
    },
    "method": Way(
        "class A:\n        def get(self): return self.w\n    a = A(); a.w = w",
        "a.get()",
        "a.w = new",
    ),
    "called": Way(
        "class A:\n        def __call__(self): return self.w\n    a = A(); a.w = w",
        "a()",
        "a.w = new",
    ),
    "helper": Way("box = [w]\n    def helper(): return box[0]", "helper()", "box[0] = new"),
    "global helper": Way(
        "global BOX, helper; BOX = [w]\n    def helper(): return BOX[0]", "helper()", "BOX[0] = new"
    ),
    "partial": Way("get = functools.partial(lambda w: w, w)", "get()", ""),
    "partial of a list": Way(
        "box = [w]; get = functools.partial(lambda b: b[0], box)", "get()", "box[0] = new"
    ),
    "default": Way("get = lambda w=w: w", "get()", ""),
    "default list": Way("box = [w]\n    def get(*, b=box): return b[0]", "get()", "box[0] = new"),
    "primitive": Way(
        "box = [w]; get = primitive(lambda k: k * box[0])", "get(1.0)", "box[0] = new"
    ),
    "sum of a list": Way("box = [w]", "sum(box)", "box.append(new)"),
    **{
        name: Way(f"class A:\n        {body}\n    a = A(); a.w = w", read, "a.w = new")
        for name, body, read in (
            ("property", "@property\n        def p(self): return self.w", "a.p"),
            ("cached", "@functools.cached_property\n        def p(self): return self.w", "a.p"),
            ("getattr method", "def __getattr__(self, n): return self.w", "a.p"),
            ("getitem", "def __getitem__(self, i): return self.w", "a[0]"),
            ("iter", "def __iter__(self): return iter([self.w])", "sum(a)"),
            ("operator", "def __add__(self, n): return self.w + n", "(a + 0.0)"),
            ("descriptor", "p = type('D', (), {'__get__': lambda s, o, c: o.w})()", "a.p"),
            ("base", "def p(self): return self.w\n    class A(A): pass", "a.p()"),
            (
                "super",
                "def p(self): return self.w\n    class A(A): p = lambda s: super(A, s).p()",
                "a.p()",
            ),
            ("vars", "pass", "vars(a)['w']"),
            ("getattr", "pass", "getattr(a, 'w')"),
            ("getattr, computed", "w1 = 0", "getattr(a, f'{chr(119)}')"),
            ("attrgetter", "pass\n    get = operator.attrgetter('w')", "get(a)"),
            ("dict of it", "pass", "a.__dict__['w']"),
            ("method of another", "def p(self): return self.w", "(lambda o: o.p())(a)"),
            (
                "match",
                "pass\n    def get():\n        match a:\n            case A(w=u): return u",
                "get()",
            ),
        )
    },
    **{
        name: Way(f"d = {{'w': w}}; box = {made}", read, "d['w'] = new")
        for name, made, read in (
            ("proxy", "types.MappingProxyType(d)", "box['w']"),
            ("chain", "collections.ChainMap({}, d)", "box['w']"),
            ("view of values", "d.values()", "sum(box)"),
            ("bound get", "d.get", "box('w')"),
            ("itemgetter", "operator.itemgetter('w')", "box(d)"),
            ("keywords", "lambda: dict(**d)", "box()['w']"),
            ("cache", "functools.cache(lambda: d)", "box()['w']"),
            (
                "reference",
                "collections.UserDict(d=d); global KEPT; KEPT = box; ref = weakref.ref(box)",
                "ref()['d']['w']",
            ),
            ("comprehension", "[d]", "sum([e['w'] for e in box])"),
            ("generator", "[d]", "sum(e['w'] for e in box)"),
            ("map", "[d]", "sum(map(operator.itemgetter('w'), box))"),
        )
    },
    "user dict": Way("box = collections.UserDict(w=w)", "box['w']", "box['w'] = new"),
    "default dict": Way("box = collections.defaultdict(int, w=w)", "box['w']", "box['w'] = new"),
    "new key": Way("box = {}", "box.get('w', w)", "box['w'] = new"),
    "new attribute": Way("class A: pass\n    a = A()", "getattr(a, 'w', w)", "a.w = new"),
    "over the class": Way("class A: w = W0\n    a = A()", "a.w", "a.w = new"),
    "function in a dict": Way("box = {'f': lambda: w}", "box['f']()", "box['f'] = lambda: new"),
    "attribute of a function": Way(
        "def get(): return get.w\n    get.w = w", "get()", "get.w = new"
    ),
    "class method": Way(
        "class A: w = W0\n    A.get = classmethod(lambda c: c.w)", "A.get()", "A.w = new"
    ),
    "helper that is replaced": Way(
        "helper = lambda: w", "helper()", "nonlocal helper; helper = lambda: new"
    ),
    "helper of the same name": Way(
        "def helper(): return w",
        "helper()",
        "nonlocal helper; again = lambda: new; again.__name__ = 'helper'; helper = again",
    ),
    "context": Way("var = contextvars.ContextVar('var', default=w)", "var.get()", "var.set(new)"),
    "thread": Way("a = threading.local(); a.w = w", "a.w", "a.w = new"),
    "object array": Way("box = np.empty(1, object); box[0] = w", "box[0]", "box[0] = new"),
    "memoryview": Way("m = memoryview(np.asarray(w))", "np.asarray(m)", ""),
    "bytes": Way(
        "b = bytearray(np.asarray(w).tobytes())",
        "np.frombuffer(b).reshape(np.shape(w))",
        "b[:] = np.asarray(new).tobytes()",
    ),
    "array.array": Way(
        "b = array.array('d', np.asarray(w).tobytes())",
        "np.array(b).reshape(np.shape(w))",
        "b[0] = 50.0",
    ),
    "member": Way("s = {False}", "(w if False in s else 7.0 * w)", "s.clear()"),
    "truth": Way("s = []", "(7.0 * w if s else w)", "s.append(1)"),
    "enum": Way(
        "E = enum.Enum('E', 'A B'); E.A.w = w; E.B.w = new; box = [E.A]", "box[0].w", "box[0] = E.B"
    ),
}
KINDS = ("array", "number")
CHANGES = ("write", "replace", "nothing")


class Made(NamedTuple):
    """A function with a rule that looks up w."""

    f: Any
    w: Any
    old: Any
    change: Callable[[], None]
    slope: Callable[[Any], Any]


HELPED = {f"{constructor}, helped": constructor for constructor in CONSTRUCTORS}
"""Constructors whose functions name only a function of their module, which names another."""


def _written(constructor: str, how: Way) -> str:
    """Write the program whose rule reads w; if helped by functions of its module alone."""
    change = f"    def change():\n        {how.replace or 'pass'}\n"
    if constructor not in HELPED:
        stated = CONSTRUCTORS[constructor].replace("READ", how.read)
        return f"def build(w, new):\n    {how.setup}\n{stated}\n{change}    return g, change\n"
    stated = CONSTRUCTORS[HELPED[constructor]]
    lines = (
        f"    {how.setup}\n    def reader(): return {how.read}\n    def read(): return reader()\n"
        f"    def cosine(z): return cos(z)\n"
        f"{stated.replace('READ', 'read()').replace(' cos(', ' cosine(')}\n{change}"
    )
    lines = "\n".join([line.removeprefix("    ") for line in lines.splitlines()])
    lines = re.sub(r"^global [\w, ]+; ", "", lines, flags=re.MULTILINE)
    return f"{lines.replace('nonlocal', 'global')}\ndef build(w, new): return g, change\n"


def built(constructor: str, way: str, w: Any, new: Any = None) -> Any:
    """Make a function around w, and what puts another value in its place."""
    program = f"{_HEAD}\n{_written(constructor, WAYS[way])}"
    program = program.replace("class A: w = W0", "A = type('A', (), {'w': w})")
    names: dict[str, Any] = {"__name__": "a_program", "X0": X, "w": w, "new": new}
    exec(compile(program, "<a program>", "exec"), names)
    return names["build"](w, new)


def made(
    constructor: str, way: str, kind: str, change: str, asarray: Any = np.array
) -> Made | None:
    """Make a draw; None where there is nothing to be changed so."""
    how = WAYS[way]
    if (change == "write" and kind == "number") or (change == "replace" and not how.replace):
        return None
    w: Any = asarray(OLD) if kind == "array" else 2.0
    new: Any = asarray(NEW) if kind == "array" else 50.0
    f, replace = built(constructor, way, w, new)

    def written() -> None:
        w[...] = new

    act = {"write": written, "replace": replace, "nothing": lambda: None}[change]
    is_linear = HELPED.get(constructor, constructor) in (
        "linear_rule",
        "scalar_rule, w itself",
        "checkpoint",
    )
    old = np.array(w)
    return Made(f, w, old, act, lambda z: old * (1.0 if is_linear else np.cos(z)))


HABITS = {
    "counts in a list": ("n = [0]", "n[0] += 1"),
    "counts by a name": ("n = 0", "nonlocal n; n = n + 1"),
    "counts by a global": ("global N; N = 0", "global N; N += 1"),
    "counts in a dict": ("n = {'calls': 0}", "n['calls'] = n['calls'] + 1"),
    "counts in an attribute": ("n = types.SimpleNamespace(calls=0)", "n.calls += 1"),
    "counts in a dict of an object": (
        "n = types.SimpleNamespace(calls={})",
        "n.calls['a'] = 1 + n.calls.get('a', 0)",
    ),
    "keeps a list": ("calls = []", "calls.append(1.0)"),
    "keeps two lists": ("calls = [[], []]", "calls[0].append(1.0)"),
    "counts in lists": ("n = [[0, 0]]; i = 1", "n[i - 1][i] += 1"),
    "remembers": ("known = {}", "known[len(known)] = 2.0"),
    "remembers by method": ("known = {}", "known.setdefault(len(known), 2.0)"),
    "has a method that counts": (
        "class A:\n        n = 0\n        def up(self): self.n += 1\n    a = A()",
        "a.up()",
    ),
}
"""What a rule changes itself, and is its own business: set up, and done at each call."""


def habitual(constructor: str, habit: str) -> Made:
    """Make a function whose rule, or body, changes something of its own at each call."""
    setup, does = HABITS[habit]
    functions = {
        "scalar_rule": "def p(_y, z):\n        DO; return 2.0 * cos(z)\n    scalar_rule(g, p)",
        "linear_rule": "def p(c, z):\n        DO; return 2.0 * c\n    linear_rule(g, p)",
        "rule": """def p(c, s):
        DO; return 2.0 * c * s
    @rule(g, types=(object,))
    def g_rule(z):
        DO; return g(z), (LinearMap(p, p, cos(z)),)""",
        "rrule": """@rrule.register(g, types=(object,))
    def g_rrule(z):
        DO
        def p(c):
            DO; return (2.0 * c * cos(z),)
        return g(z), p""",
        "frule": """@frule.register(g, types=(object,))
    def p(dots, z):
        DO; return g(z), 2.0 * cos(z) * dots[0]""",
    }
    value = "2.0 * z" if constructor == "linear_rule" else "2.0 * sin(z)"
    program = (
        f"{_HEAD}\ndef build():\n    {setup}\n    @primitive\n    def g(z):\n"
        f"        DO; return {value}\n    {functions[constructor]}\n    return g\n"
    )
    names: dict[str, Any] = {"__name__": "a_program"}
    lines = program.replace("DO", does)
    exec(compile(lines, "<a program>", "exec"), names)
    linear = constructor == "linear_rule"
    slope = lambda z: 2.0 * np.ones_like(z) if linear else 2.0 * np.cos(z)
    return Made(names["build"](), None, None, lambda: None, slope)


# ----------------------------------------------------------------------------------- the doors


def _grad(f: Any, act: Any, **keywords: Any) -> Any:
    def loss(x: Any) -> Any:
        y = np.sum(f(x))
        act()
        return y

    return grad(loss, **keywords)(X)


def _taped(f: Any, act: Any) -> Any:
    with Tape() as tape:
        x = tape.variable(X)
        y = np.sum(f(x))
    act()
    return tape.grad(y, x)


def _vjp(f: Any, act: Any) -> Any:
    _, pull = vjp(f, X)
    act()
    return pull(np.ones(3))[0]


def _vjp_twice(f: Any, act: Any) -> Any:
    _, pull = vjp(f, X)
    _, other = vjp(f, X)
    pull(np.ones(3))
    other(np.ones(3))
    act()
    return pull(np.ones(3))[0]


def _linearize(f: Any, act: Any) -> Any:
    _, push = linearize(f, X)
    act()
    return push(np.ones(3))


def _jacobian(f: Any, act: Any) -> Any:
    def g(x: Any) -> Any:
        y = f(x)
        act()
        return y

    return np.diag(jacobian(g, mode="reverse")(X))


def _rrule(f: Any, act: Any) -> Any:
    _, pull = rrule(f, X)
    act()
    return pull(np.ones(3))[0]


def _twice(f: Any, act: Any) -> Any:
    def loss(x: Any) -> Any:
        y = np.sum(f(x) + 0.0 * f(2.0 * x))
        act()
        return y

    return value_and_grad(loss)(X)[1]


TAPE: dict[str, Callable[[Any, Any], Any]] = {
    "grad": _grad,
    "grad, full": functools.partial(_grad, guard="full"),
    "vjp": _vjp,
    "vjp twice": _vjp_twice,
    "linearize": _linearize,
    "jacobian": _jacobian,
    "Tape": _taped,
    "rrule": _rrule,
    "two calls": _twice,
}


def _torch(f: Any, act: Any, door: str) -> Any:
    torch: Any = importlib.import_module("torch")
    g, x = export(f, to="torch"), torch.tensor(X)
    if door == "vjp":
        _, pull = torch.func.vjp(g, x)
        act()
        return pull(torch.ones(3, dtype=x.dtype))[0].numpy()
    y = g(x.requires_grad_()).sum()
    act()
    (bar,) = torch.autograd.grad(y, x, create_graph=door == "create_graph")
    return bar.detach().numpy()


def _jax(f: Any, act: Any, door: str) -> Any:
    jax: Any = importlib.import_module("jax")
    g, x = export(f, to="jax"), jax.numpy.asarray(X)
    if door == "vjp":
        _, pull = jax.vjp(g, x)
        act()
        return np.asarray(pull(jax.numpy.ones(3))[0])
    _, push = jax.linearize(g, x)
    act()
    return np.asarray(push(jax.numpy.ones(3)))


def _autograd(f: Any, act: Any, door: str) -> Any:
    autograd: Any = importlib.import_module("autograd")
    pull, _ = autograd.make_vjp(export(f, to="autograd"))(X)
    act()
    return pull(np.ones(3))


def _mlx(f: Any, act: Any, door: str) -> Any:
    mx: Any = importlib.import_module("mlx.core")
    x = mx.array(X)

    def loss(x: Any) -> Any:
        y = mx.sum(export(f, to="mlx")(x))
        act()
        return y

    return np.asarray(mx.grad(loss)(x) if door == "grad" else mx.vjp(loss, [x], [mx.array(1.0)])[1])


DOORS: dict[tuple[str, str], Callable[[Any, Any], Any]] = {
    **{("tape", door): run for door, run in TAPE.items()},
    **{
        (engine, door): functools.partial(run, door=door)
        for engine, run, doors in (
            ("torch", _torch, ("backward", "create_graph", "vjp")),
            ("jax", _jax, ("vjp", "linearize")),
            ("autograd", _autograd, ("vjp",)),
            ("mlx", _mlx, ("grad", "vjp")),
        )
        for door in doors
    },
}


# ---------------------------------------------------------------------- what is being traced
# The gradient in w of the sum of w sin(z), or the refusal; with an operand that is traced as well,
# or none. Zero it is in no case.


def _traced_by_torch(loss: Any, door: str) -> Any:
    torch: Any = importlib.import_module("torch")
    w = torch.tensor(OLD)
    if door == "backward":
        w.requires_grad_()
        y = loss(w)
        return torch.autograd.grad(y, w)[0] if y.requires_grad else np.zeros(3)
    if door == "jvp":
        basis = torch.eye(3, dtype=w.dtype)
        return torch.stack([torch.func.jvp(loss, (w,), (v,))[1] for v in basis])
    if door == "vmap":
        return torch.func.vmap(torch.func.grad(loss))(torch.stack([w, w]))[1]
    return getattr(torch.func, door)(loss)(w)


def _traced_by_jax(loss: Any, door: str) -> Any:
    jax: Any = importlib.import_module("jax")
    w, basis = jax.numpy.asarray(OLD), jax.numpy.eye(3)
    if door == "jvp":
        return jax.numpy.stack([jax.jvp(loss, (w,), (v,))[1] for v in basis])
    if door == "jit":
        return jax.jit(jax.grad(loss))(w)
    if door == "vmap":
        return jax.vmap(jax.grad(loss))(jax.numpy.stack([w, w]))[1]
    return getattr(jax, door)(loss)(w)


def _traced_by_autograd(loss: Any, door: str) -> Any:
    autograd: Any = importlib.import_module("autograd")
    if door == "jvp":
        return np.stack([autograd.make_jvp(loss)(OLD)(v)[1] for v in np.eye(3)])
    return getattr(autograd, door)(loss)(OLD)


def _traced_by_mlx(loss: Any, door: str) -> Any:
    mx: Any = importlib.import_module("mlx.core")
    w, basis = mx.array(OLD), mx.eye(3)
    if door == "jvp":
        return mx.stack([mx.jvp(loss, [w], [v])[1][0] for v in basis])
    if door == "vmap":
        return mx.vmap(mx.grad(loss))(mx.stack([w, w]))[1]
    found = mx.grad(loss)
    return (mx.compile(found) if door == "compile" else found)(w)


TRACING = {
    (engine, door): functools.partial(run, door=door)
    for engine, run, doors in (
        ("torch", _traced_by_torch, "backward grad jacfwd jacrev jvp vmap"),
        ("jax", _traced_by_jax, "grad jacfwd jvp jit vmap"),
        ("autograd", _traced_by_autograd, "grad jvp"),
        ("mlx", _traced_by_mlx, "grad jvp vmap compile"),
    )
    for door in doors.split()
}


def everything_traced() -> list[Any]:
    """List all draws: constructor, way, whether an operand is traced as well, and door."""
    constructors, ways = (
        CONSTRUCTORS.keys() - {"checkpoint"},
        WAYS.keys() - {"memoryview", "bytes", "array.array"},
    )
    return list(itertools.product(sorted(constructors), sorted(ways), (False, True), TRACING))


def verdict_traced(constructor: str, way: str, among: bool, door: tuple[str, str]) -> str:
    """Tell what is given for the gradient in w: "right", "refused", or what is wrong."""
    engine, _ = door
    module, asarray = {
        "torch": ("torch", "tensor"),
        "jax": ("jax.numpy", "asarray"),
        "autograd": ("autograd.numpy", "asarray"),
        "mlx": ("mlx.core", "array"),
    }[engine]
    of: Any = importlib.import_module(module)
    make = getattr(of, asarray)

    def loss(w: Any) -> Any:
        f, _ = built(constructor, way, w)
        z = make(X) + 0.0 * w if among else make(X)
        return of.sum(export(f, to=engine)(z))

    try:
        found = np.asarray(TRACING[door](loss))
    except ChainRulesError:
        return "refused"
    except Exception as error:
        return f"wrong: {type(error).__name__}: {error}"
    due = X if constructor in ("linear_rule", "scalar_rule, w itself") else np.sin(X)
    return "right" if np.allclose(found, due) else f"wrong: {found} for {due}"


# ------------------------------------------------------------------------------------ the judge


def everything() -> list[Any]:
    """List all draws: constructor, way, kind, change and door."""
    found = itertools.product((*CONSTRUCTORS, *HELPED), WAYS, KINDS, CHANGES, DOORS)
    return [draw for draw in found if "checkpoint" not in draw[0] or draw[4][0] == "tape"]


def sample(seed: int, n: int, engines: tuple[str, ...] = ("tape",)) -> Iterator[Any]:
    """Draw some of them, without return."""
    among = [draw for draw in everything() if draw[4][0] in engines]
    yield from random.Random(seed).sample(among, min(n, len(among)))


def verdict(constructor: str, way: str, kind: str, change: str, door: tuple[str, str]) -> str:
    """Tell what a draw gives: "right", "refused", "nothing to do", or what is wrong."""
    tensors = importlib.import_module("torch").tensor if door[0] == "torch" else np.array
    draw = made(constructor, way, kind, change, tensors)
    if draw is None or (
        HELPED.get(constructor, constructor) in NO_PRIMITIVES and door[1] == "rrule"
    ):
        return "nothing to do"
    try:
        found = DOORS[door](draw.f, draw.change)
    except MutationError:
        return "wrong: refused" if change == "nothing" else "refused"
    except ChainRulesError as error:
        return f"wrong: {type(error).__name__}: {error}"
    except Exception as error:
        own = "modified by an inplace operation" in str(error)  # PyTorch watches over tensors
        return "refused" if own else f"wrong: {type(error).__name__}: {error}"
    due = draw.slope(X)
    return "right" if np.allclose(found, due) else f"wrong: {found} for {due}"


_SAME = lambda held: held
ORDERED: dict[str, tuple[Any, Any, Any]] = {
    "dict": (dict, _SAME, _SAME),
    "ordered": (collections.OrderedDict, _SAME, _SAME),
    "of one's own": (type("Own", (dict,), {}), _SAME, _SAME),
    "user dict": (collections.UserDict, _SAME, _SAME),
    "in a list": (dict, lambda d: [d], operator.itemgetter(0)),
    "attribute": (dict, lambda d: types.SimpleNamespace(d=d), operator.attrgetter("d")),
    "read only": (dict, types.MappingProxyType, _SAME),
}
"""Ways to hold entries: of which class, in what, and how they are looked up there."""
ORDERS = {
    "put back": lambda d: d.update(a=d.pop("a")),
    "all anew": lambda d: [d.update(it) for it in [[*d.items()][::-1]] if not d.clear()],
    "one more": lambda d: d.update(c=1.0, a=d.pop("a")),
}
"""Ways to put entries in another order; the last enters one more, of no effect."""


def ordered(held: str) -> tuple[Any, Callable[[Any], Any]]:
    """Make entries, and a function whose value depends on their order."""
    cls, put, look = ORDERED[held]
    entries = cls({"a": 2.0, "b": 3.0})
    holder = put(entries)

    def f(x: Any) -> Any:
        for key, value in look(holder).items():
            x = x * value if key == "a" else x**value
        return x

    return entries, f
