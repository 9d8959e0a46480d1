"""Rules that write in place to what they are handed: operands, tangents, cotangents, what was kept.

The rule of a square, whose parts write to a value that others read as well: the derivative is what
differences of the square tell, or there is an error. Parts that write to copies are right.
"""

from __future__ import annotations

from typing import Any

from tests.fuzz.keeps import RAW, judged

WRITES = {
    "nothing": "pass",
    "a copy": "w = V.copy(); w *= 3.0",
    "a result": "w = V * 1.0; w[0] = 9.0; w += 1.0",
    "*=": "w = V; w *= 2.0",
    "[...] =": "V[...] = 2.0 * V",
    "a part": "V[1:] = 0.5",
    "a view": "w = V.reshape(3, 1).T; w += 1.0",
    "flat": "V.flat[0] = 4.0",
    "out=": "np.multiply(V, 2.0, out=V)",
    "the last operand": "np.multiply(V, 2.0, V)",
    "fill": "V.fill(2.0)",
    "sort": "V.sort()",
    "put": "np.put(V, [0], 7.0)",
    "copyto": "np.copyto(V, 0.3)",
    "at": "np.add.at(V, 0, 1.0)",
    "operator": "operator.imul(V, 2.0)",
    "a method by its name": "getattr(V, 'fill')(2.0)",
    "a special method": "V.__imul__(2.0)",
    "a memory view": "memoryview(V)[0] = 9.0",
    "exec": "exec('V[0] = 3.0', {'V': V})",
    "a function": "doubled(V)",
    "a method of an object": "maker.doubled(V)",
    "a function that is partial": "functools.partial(np.multiply, V, 2.0, out=V)()",
    "a function in a table": "table['double'](V)",
    "the address": "ctypes.memset(V.ctypes.data, 0, 8)",
}
"""By name: what writes to V. The first three write to nothing that was given."""
RIGHT = tuple(WRITES)[:3]

PENS = {
    "rrule": """
    @rrule.register(g)
    def g_rrule(z):
        RULE
        d = 2.0 * z
        def pull(c):
            bar = c * d
            HALF
            return (bar,)
        return z * z, pull
""",
    "frule": """
    @frule.register(g)
    def g_frule(dots, z):
        RULE
        c, d = dots[0], z
        pair = z * z, 2.0 * z * c
        HALF
        return pair
""",
    "rule": """
    @rule(g, types=(object,))
    def g_rule(z):
        RULE
        def half(c, d):
            t = c * d
            HALF
            return t
        return z * z, (LinearMap(half, half, 2.0 * z),)
""",
    "augmented_rule": """
    def forward(z):
        RULE
        return z * z, (2.0 * z,)
    def backward(d, c):
        bar = c * d
        HALF
        return (bar,)
    augmented_rule(g, forward, backward, types=(object,))
""",
    "custom_vjp": """
    inner, g = g, custom_vjp(lambda z: inner(z))
    def forward(z):
        RULE
        return inner(z), {"d": [2.0 * z]}
    def backward(saved, c):
        d = saved["d"][0]
        bar = c * d
        HALF
        return (bar,)
    g.defvjp(forward, backward)
""",
    "custom_jvp": """
    inner, g = g, custom_jvp(lambda z: inner(z))
    @g.defjvp
    def push(primals, dots):
        z, = primals
        RULE
        c, d = dots[0], z
        pair = z * z, 2.0 * z * c
        HALF
        return pair
""",
    "scalar_rule": """
    def partial(y, z):
        c, d = y, z
        slope = 2.0 * z
        HALF
        return slope
    scalar_rule(g, partial)
""",
    "user_grad": """
    inner = g
    def g(z):
        @user_grad(z)
        def region(z):
            RULE
            d = 2.0 * z
            def pull(c):
                bar = c * d
                HALF
                return (bar,)
            return inner(z), pull
        return region
""",
}
PARTS = {
    "the function": ("BODY", "z"),
    "the rule": ("RULE", "z"),
    "a half, what it is given": ("HALF", "c"),
    "a half, what was saved": ("HALF", "d"),
}
"""By name: which line of a statement writes, and to what."""

_HEAD = """
import ctypes, functools, operator
import numpy as np
from chainrules_compat import augmented_rule, custom_jvp, custom_vjp, user_grad
from chainrules_py import LinearMap, frule, primitive, rrule, rule, scalar_rule

def doubled(w):
    w *= 2.0

class Maker:
    def doubled(self, w):
        w *= 2.0

maker = Maker()
table = {"double": doubled}

def build():
    @primitive
    def g(z):
        BODY
        return z * z
"""


def made(pen: str, part: str, write: str) -> Any:
    """Make the square, with a rule of which a part writes to something."""
    line, name = PARTS[part]
    text = _HEAD + PENS[pen] + "\n    return g\n"
    text = text.replace(line, WRITES[write].replace("V", name))
    for other in {"BODY", "RULE", "HALF"} - {line}:
        text = text.replace(other, "pass")
    names: dict[str, Any] = {"__name__": "a_program"}
    exec(compile(text, "<a program>", "exec"), names)
    return names["build"]()


def verdict(pen: str, part: str, write: str, program: str, door: str) -> str:
    """Tell what is wrong with a derivative, or that a right program is refused."""
    if pen == "user_grad" and door in RAW:  # which ask for a primitive
        return ""
    refused = "a right program is refused" if write in RIGHT else ""
    return judged(made(pen, part, write), program, door, refused)
