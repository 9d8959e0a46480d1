"""Costs of the tape, counted without a clock: the same on every machine, however busy it is.

Counted are the Python functions of this project that are called, in both passes of one operation
or for one argument more; those among them that rules are written in; and what the tape holds.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_tape import Tape, hvp, value_and_grad
from chainrules_tape.core.cotangent_routing import Cotangents

_rng = np.random.default_rng(0)
X, W, B = _rng.normal(size=(8, 8)), _rng.normal(size=(8, 8)), _rng.normal(size=8)

OPERATIONS: dict[str, Callable[..., Any]] = {
    "x * w": lambda x, w, b: x * w,
    "x + b, broadcast": lambda x, w, b: x + b,
    "2.0 * x": lambda x, w, b: 2.0 * x,
    "1.0 / x": lambda x, w, b: 1.0 / x,
    "x / w": lambda x, w, b: x / w,
    "np.tanh(x)": lambda x, w, b: np.tanh(x),
    "x @ w": lambda x, w, b: x @ w,
    "np.sum(x, axis=1)": lambda x, w, b: np.sum(x, axis=1),
    "x[:, 2:4]": lambda x, w, b: x[:, 2:4],
    "x.T": lambda x, w, b: x.T,
    "np.concatenate([x, w])": lambda x, w, b: np.concatenate([x, w]),
}


def calls(f: Callable[[], Any], among: str = "chainrules_") -> int:
    """Count the functions called by ``f`` that are in files whose names contain ``among``."""
    number = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal number
        number += event == "call" and among in frame.f_code.co_filename

    collecting = gc.isenabled()
    gc.disable()  # what a collection calls that happens to come now is not called by f
    sys.setprofile(count)
    try:
        f()
    finally:
        sys.setprofile(None)
        if collecting:
            gc.enable()
    return number


def stacks(f: Callable[[], Any], among: str = "chainrules_") -> str:
    """List the stacks of the functions that ``f`` calls, one a line with a 1, as samplers do."""
    found: list[str] = []
    under: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if among not in code.co_filename:
            return
        if event == "call":
            package = "chainrules_" + code.co_filename.rpartition("/chainrules_")[2]
            under.append(f"{code.co_qualname} ({package}:{code.co_firstlineno})")
            found.append(";".join(["below", *under]) + " 1")
        elif event == "return" and under:
            under.pop()

    sys.setprofile(note)
    try:
        f()
    finally:
        sys.setprofile(None)
    return "\n".join(found)


def instructions(f: Callable[[], Any]) -> int:
    """Count the instructions of Python that ``f`` runs: always as many in one version of it."""
    number = 0

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal number
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        number += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        f()
    finally:
        sys.settrace(before)
    return number


def of_operation(name: str) -> dict[str, int]:
    """Count what an operation on small arrays costs, when its rule is bound.

    Calls in the forward and in the backward pass, calls of rules in the latter, records, and blocks
    of memory that the tape holds for it.
    """
    operation = OPERATIONS[name]
    tape = Tape()
    xs = tape.inputs([X, W, B])
    bars = Cotangents(len(tape))

    def pull() -> None:
        """Pull the last record back."""
        (half, links, *saved), index = tape[-1], len(tape) - 1
        if hasattr(links, "pull"):
            bars.extend([None] * (len(tape) - len(bars)))
            links.pull(bars, index, y_bar, tape[-1])
        else:
            half(y_bar, *saved)

    for _ in range(3):  # rules are loaded and bound, and what adds in place has its buffer
        y = operation(*xs)
        y_bar = np.ones_like(y.payload)
        pull()
    n = len(tape)
    forward = calls(lambda: operation(*xs))
    held, ys = [], [y]
    for _ in range(5):  # a list that grows, or is freed, is not the operation's
        before = sys.getallocatedblocks()
        ys.append(operation(*xs))
        held.append(sys.getallocatedblocks() - before)
    records = (len(tape) - n - 1) // 5
    return {
        "forward": forward,
        "backward": calls(pull),
        "rules": calls(pull, "chainrules_py/rules"),
        "records": records,
        "blocks": sorted(held)[2],
    }


def _total(*xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return np.sum(total)


def of_argument(n: int = 4) -> int:
    """Count the calls that one more argument costs where it is added to the others."""
    xs = [X + i for i in range(n + 1)]
    both = [value_and_grad(_total, tuple(range(k))) for k in (n, n + 1)]
    for f, k in zip(both, (n, n + 1), strict=True):
        f(*xs[:k])
    return calls(lambda: both[1](*xs)) - calls(lambda: both[0](*xs[:n]))


def of_product(f: Callable[[Any], Any], x: Any) -> int:
    """Count the calls that a product with a Hessian costs."""
    for _ in range(4):  # what is called often is bound at its second call
        hvp(f, (x,), (x,))
    return calls(lambda: hvp(f, (x,), (x,)))
