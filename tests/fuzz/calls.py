"""Lines of random programs that are calls entered for NumPy's functions, and samples of operations.

What a program has computed is brought to the shape and the domain of the operands that a call was
entered with, and moves them a little: so every function, with every keyword, stands somewhere in
a chain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.testing.cases.backends import backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.sample_runs import operations_of
from chainrules_py.testing.samples.sample import Draw
from tests.fuzz.lines import Choices, Line, is_number
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.calls.call import SurfaceCall
from tests.surface.point import Point, parts


@functools.cache
def _calls() -> tuple[SurfaceCall, ...]:
    """Every call that can be differentiated."""
    found = [c for name in names_with_calls() for c in surface_calls(name)]
    return tuple([c for c in found if c.sample.smooth])


@functools.cache
def _operations() -> tuple[Any, ...]:
    """Every sample of an operation that can be differentiated."""
    operations: Any = operations_of()
    found = [i for operation in operations for i in instances(operation)]
    return tuple([i for i in found if i.sample.smooth])


def call_line(c: Choices) -> Line | None:
    """Draw a call of one of NumPy's functions, as it was entered."""
    call = c.call(_calls())
    return _wired(c, Point(call), str(call))


def operation_line(c: Choices) -> Line | None:
    """Draw a call of an operation at one of its samples."""
    instance = c.call(_operations())
    numpy = backend("numpy")
    _, options = instance.build(numpy)
    call = SurfaceCall(
        instance.operation.__name__, instance.sample, instance.number, instance.complex
    )

    def f(*xs: Any, **_: Any) -> Any:
        return instance.operation(*[np.asarray(x) if type(x) is list else x for x in xs], **options)

    return _wired(c, Point(call, f=f), f"v.{instance.name}")


CALLS = (call_line, call_line, operation_line)
"""A family of lines: calls."""


def _wired(c: Choices, point: Point, text: str) -> Line | None:
    """Make a line of the call, with operands that depend on values of the program."""
    if not point.xs:
        return None
    sources: list[int] = []
    feeds: list[Callable[[Any], Any]] = []
    for x, d in zip(point.xs, point.draws, strict=True):
        i = c.pick(is_number)
        if i is None or not np.size(x):
            return None
        sources.append(i)
        feeds.append(_feed(c.rng, x, d, c.env[i]))

    def run(np: Any, *values: Any) -> list[Any]:
        return [*parts_of(point, [feed(y) for feed, y in zip(feeds, values, strict=True)])]

    shown = ", ".join([f"{{{i}}}" for i in range(len(sources))])
    escaped = text.replace("{", "(").replace("}", ")")
    return Line(f"{escaped}  # near {shown}", tuple(sources), run, False, "values")


def parts_of(point: Point, xs: list[Any]) -> list[Any]:
    """Return the parts of the result that are differentiated, where they are determined."""
    return [y for y in parts(point.gauged(*xs)) if np.size(y)]


def _feed(rng: Any, x: Any, d: Draw, source: Any) -> Callable[[Any], Any]:
    """From a value to an operand: near the one that was drawn, and as far as its domain is."""
    n = np.size(source) * (2 if np.iscomplexobj(source) else 1)
    size = np.size(x) * (2 if np.iscomplexobj(x) else 1)
    places = rng.integers(0, n, size)
    shape = np.shape(x)
    structured = d.make is not None or d.apart
    if structured:
        centre, reach = x, d.apart / 4 or 0.01 * (d.high - d.low)
        tilt: Any = 0.0
    else:
        middle, reach = (d.high + d.low) / 2, 0.4 * (d.high - d.low)
        centre = middle * (1 + 1j) if np.iscomplexobj(x) else middle
        tilt = rng.uniform(-1, 1, size)

    def feed(y: Any) -> Any:
        flat = np.ravel(y)
        if np.iscomplexobj(y):
            flat = np.concatenate([np.real(flat), np.imag(flat)])
        t = np.tanh(flat[places] + tilt)
        if np.iscomplexobj(x):
            t = t[: size // 2] + 1j * t[size // 2 :]
        return centre + reach * np.reshape(t, shape)

    return feed
