"""Rules that give an attribute of an object that they saved another number, in a half.

The rule of a square saves an object that holds the slope. Its half reads it there, and puts
something in its place: called once more it would give another derivative. The derivative is what
differences of the square tell, or there is an error; counts, logs and memories are free.
"""

from __future__ import annotations

from typing import Any

from tests.fuzz.keeps import judged

CHANGES = {
    "nothing": "pass",
    "a count": "o.n = o.n + 1",
    "a log": "o.log.append('a')",
    "what was last": "o.last = c * 1.0",
    "what was computed once": "o.more = getattr(o, 'more', None) or 2.0",
    "an equal one": "o.d = o.d.copy()",
    "another": "o.d = o.d * 2.0",
    "another, in two lines": "e = o.d + 1.0\n            o.d = e",
    "in place": "o.d *= 2.0",
    "setattr": "setattr(o, 'd', o.d * 2.0)",
    "a function": "doubled(o)",
    "a method": "o.double()",
    "an inner one": "o.inner.s = o.inner.s * 2.0",
    "an item": "o.items[0] = o.items[0] * 2.0",
    "an entry": "o.table['s'] *= 2.0",
}
"""By name: what a half does to the object o. The first six are right programs."""
RIGHT = tuple(CHANGES)[:6]
OBJECTS = {
    "object": "class Saved(Base): pass",
    "slots": "class Saved(Base): __slots__ = 'd n log last more inner items table'.split()",
    "namespace": "Saved = types.SimpleNamespace",
    "called": "class Saved(Base):\n        def __call__(self, c): return HALF_OF(self, c)",
}
PENS = {
    "rrule": """
    @rrule.register(g)
    def g_rrule(z):
        o = make(z)
        return z * z, lambda c: (half(o, c),)
""",
    "rule": """
    @rule(g, types=(object,))
    def g_rule(z):
        o = make(z)
        f = o if callable(o) else functools.partial(half, o)
        return z * z, (LinearMap(f, f),)
""",
    "augmented_rule": """
    augmented_rule(g, lambda z: (z * z, (make(z),)), lambda o, c: (half(o, c),), types=(object,))
""",
    "custom_vjp": """
    inner, g = g, custom_vjp(lambda z: inner(z))
    g.defvjp(lambda z: (inner(z), make(z)), lambda o, c: (half(o, c),))
""",
    "custom_vjp, in a list": """
    inner, g = g, custom_vjp(lambda z: inner(z))
    g.defvjp(lambda z: (inner(z), [make(z)]), lambda o, c: (half(o[0], c),))
""",
}
_HEAD = """
import functools, types
import numpy as np
from chainrules_compat import augmented_rule, custom_vjp
from chainrules_py import LinearMap, primitive, rrule, rule

def doubled(o):
    o.d = o.d * 2.0

def build():
    @primitive
    def g(z):
        return z * z
    class Base:
        __slots__ = ()
        def double(self):
            self.d = self.d * 2.0
    def half(o, c):
        bar = c * o.d * o.inner.s * o.items[0] * o.table['s']
        CHANGE
        return bar
    OBJECT
    def make(z):
        o = Saved()
        o.d, o.n, o.log, o.items, o.table = 2.0 * z, 0, [], [1.0], {'s': 1.0}
        o.inner = types.SimpleNamespace(s=1.0)
        return o
"""


def made(pen: str, kind: str, change: str) -> Any:
    """Make the square, with a rule that changes an object which it saved."""
    text = _HEAD.replace("OBJECT", OBJECTS[kind]).replace("HALF_OF", "half")
    text = text.replace("CHANGE", CHANGES[change].replace("            ", "        "))
    names: dict[str, Any] = {"__name__": "a_program"}
    exec(compile(text + PENS[pen] + "\n    return g\n", "<a program>", "exec"), names)
    return names["build"]()


def verdict(pen: str, kind: str, change: str, program: str, door: str) -> str:
    """Tell what is wrong with a derivative, or that a right program is refused."""
    if change == "a method" and kind == "namespace":
        return ""
    refused = "a right program is refused" if change in RIGHT else ""
    return judged(made(pen, kind, change), program, door, refused)
