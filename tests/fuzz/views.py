"""Programs with many names for the same memory: views of views, written to through any of them."""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import MutationError
from chainrules_py.testing.cases.differences import derivative
from chainrules_tape import Tape, jvp, linearize, vjp
from tests.fuzz.smaller import without_one

SHAPES = [(12,), (3, 4), (2, 3, 2), (4, 1, 3)]
NAMES = 9
"""How many arrays a program has at a time."""
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]
OUT = [np.add, np.multiply, np.subtract, np.arctan2, np.hypot]
ALONE = [np.sin, np.tanh, np.negative, np.square]


def _pick(rng: Any, names: list[Any]) -> Any:
    return names[int(rng.integers(len(names)))]


def _index_of(shape: Any, rng: Any) -> Any:
    """A basic index: elements, slices with any step, new axes, an ellipsis."""
    entries: list[Any] = []
    for n in shape:
        kind = int(rng.integers(7))
        if kind == 0:
            entries.append(int(rng.integers(-n, n)))
        elif kind == 1:
            entries.append(slice(None))
        elif kind == 2:
            entries.append(slice(None, None, -1))
        elif kind == 3:
            entries.append(slice(int(rng.integers(-n, n)), None, int(rng.choice([-2, -1, 1, 2]))))
        else:
            start, stop = sorted(int(i) for i in rng.integers(0, n + 1, 2))
            entries.append(slice(start, stop, int(rng.choice([1, 1, 2]))))
    if rng.integers(4) == 0:
        del entries[int(rng.integers(len(entries))) :]
        if rng.integers(2):
            entries.append(Ellipsis)
    if rng.integers(6) == 0:
        entries.insert(int(rng.integers(len(entries) + 1)), None)
    return entries[0] if len(entries) == 1 and rng.integers(2) else tuple(entries)


def _factors_of(n: int, rng: Any) -> Any:
    """A shape with n elements."""
    shape: list[int] = []
    while n > 1 and len(shape) < 3:
        found = [k for k in range(2, n + 1) if n % k == 0]
        k = found[int(rng.integers(len(found)))]
        shape.append(k)
        n //= k
    shape.append(n)
    return tuple(int(k) for k in rng.permutation(shape))


def _a_part(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    return a[_index_of(a.shape, rng)]


def _a_shape(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    return a.reshape(_factors_of(a.size, rng))


def _a_line(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    return (a.ravel(), a.reshape(-1), a.flatten(), np.ravel(a))[int(rng.integers(4))]


def _an_order(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    return np.transpose(a, tuple(int(i) for i in rng.permutation(a.ndim)))


def _a_turn(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    turns: list[Any] = [
        np.flip,
        np.atleast_2d,
        lambda a: a.T,
        np.squeeze,
        np.real,
        lambda a: a[::-1],
    ]
    turns += [lambda a: np.expand_dims(a, 0), lambda a: np.swapaxes(a, 0, -1), np.copy]
    turns += [lambda a: np.rot90(a) if a.ndim > 1 else a, lambda a: np.roll(a, 1)]
    turns += [lambda a: np.moveaxis(a, 0, -1)]
    return turns[int(rng.integers(len(turns)))](a)


def _a_half(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    halves: Any = np.array_split(a, 2, axis=int(rng.integers(a.ndim)))
    names.append(halves[0])
    return halves[1]


def _a_row(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    row: Any = None
    for row in a:
        if np.ndim(row):
            row *= 1.5
    return row if np.ndim(row) else None


ENDS: dict[str, tuple[Any, Any]] = {
    "all": (lambda a: a, lambda shape: shape),
    "transposed": (lambda a: a.T, lambda shape: shape[::-1]),
    "first": (lambda a: a[:1], lambda shape: (min(1, shape[0]), *shape[1:])),
    "first of the last axis": (
        lambda a: a[..., :1], lambda shape: (*shape[:-1], min(1, shape[-1])),
    ),
    "last of the last axis": (
        lambda a: a[..., -1:], lambda shape: (*shape[:-1], min(1, shape[-1])),
    ),
}  # fmt: skip
"""Parts of an array, and their shapes: none is looked at that is not used."""


def _fits(part: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether an array of one shape can be written into one of another."""
    aligned = zip(reversed(part), reversed(shape), strict=False)
    return len(part) <= len(shape) and all([n in (1, m) for n, m in aligned])


def _fitting(rng: Any, names: list[Any], shape: Any) -> Any:
    """What can be written into a shape: an array of it, or of a part of it, or a number."""
    found = [
        (a, take) for a in names for take, left in ENDS.values() if _fits(left(a.shape), shape)
    ]
    if not found or rng.integers(3) == 0:
        return float(rng.uniform(0.5, 1.5))
    a, take = found[int(rng.integers(len(found)))]
    return take(a)


def _a_write(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    where = _index_of(a.shape, rng)
    a[where] = _fitting(rng, names, np.shape(np.empty(a.shape)[where])) * 0.5


def _a_write_of_a_view(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    where = _index_of(a.shape, rng)
    a[where] = _fitting(rng, names, np.shape(np.empty(a.shape)[where]))


def _a_shift(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    """Both sides have elements in common."""
    a = _pick(rng, names)
    if len(a) > 1:
        if rng.integers(2):
            a[1:] = a[:-1]
        else:
            a[:] = a[::-1]


def _an_update(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    other = _fitting(rng, names, a.shape)
    change: Any = IN_PLACE[int(rng.integers(len(IN_PLACE)))]
    if change is operator.itruediv:
        other = np.abs(other) + 1.0
    change(a, np.tanh(other) if change is operator.imul else other)


def _an_update_of_a_part(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    where = _index_of(a.shape, rng)
    if rng.integers(2):
        a[where] *= 0.5
    else:
        a[where] += _fitting(rng, names, np.shape(np.empty(a.shape)[where]))


def _an_out(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    if rng.integers(2):
        f = OUT[int(rng.integers(len(OUT)))]
        b, c = _fitting(rng, names, a.shape), _fitting(rng, names, a.shape)
        f(np.add(b, 2.5), c, out=a)
    else:
        ALONE[int(rng.integers(len(ALONE)))](a, out=a)


def _an_out_of_a_part(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    part = a[_index_of(a.shape, rng)]
    if np.ndim(part) and part.size:
        np.tanh(part[::-1], out=part)


def _a_choice(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    places = np.arange(a.size).reshape(a.shape)
    if rng.integers(2):
        a[places % 3 == 1] = float(rng.uniform())
    else:
        a[rng.integers(0, len(a), 2)] *= 0.5


def _a_copyto(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    np.copyto(a, _fitting(rng, names, a.shape))


def _a_use(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    seen.append(np.sum(np.sin(_pick(rng, names))))


def _an_array(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    return np.cos(_pick(rng, names)) + 0.1


def _an_element(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    where = tuple(int(rng.integers(n)) for n in a.shape)
    seen.append(a[where] * 1.0)
    a[where] = a[where] * 0.5 + 0.25


def _a_buffer(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    a = _pick(rng, names)
    buffer = (np.zeros_like, np.empty_like)[int(rng.integers(2))](a)
    buffer[...] = 0.5
    return buffer


def _a_view_to_read(rng: Any, names: list[Any], seen: list[Any]) -> Any:
    """Views that cannot be written to, and see what is."""
    a = _pick(rng, names)
    if a.ndim > 1 and rng.integers(2):
        seen.append(np.diagonal(a))
    else:
        seen.append(np.broadcast_to(a, (2, *a.shape)))


STEPS = {
    f"{f.__name__} {i}": f
    for f, times in {
        _a_part: 5, _a_shape: 3, _a_line: 2, _an_order: 2, _a_turn: 4, _a_half: 1, _a_row: 1,
        _a_write: 3, _a_write_of_a_view: 2, _a_shift: 1, _an_update: 3, _an_update_of_a_part: 3,
        _an_out: 2, _an_out_of_a_part: 1, _a_choice: 1, _a_copyto: 1, _a_use: 2, _an_array: 1,
        _an_element: 1, _a_buffer: 1, _a_view_to_read: 1,
    }.items()
    for i in range(times)
}  # fmt: skip


def _total(ys: Any) -> Any:
    return sum([np.sum(np.sin(y) * (k + 1.5)) for k, y in enumerate(ys)])


class Program(NamedTuple):
    """Steps, each with a number that its draws depend on; shapes alone decide what it does."""

    seed: int
    shape: tuple[int, ...]
    steps: tuple[tuple[int, str], ...]

    def __call__(self, x: Any) -> list[Any]:
        names: list[Any] = [x * 1.0, np.flip(x) * 0.5]
        seen: list[Any] = []
        for number, step in self.steps:
            rng = np.random.default_rng((self.seed, number))
            made = STEPS[step](rng, names, seen)
            if made is not None and np.ndim(made) and made.size and made.size <= 40:
                names.append(made)
            while len(names) > NAMES:
                names.pop(int(rng.integers(len(names))))
        return [*seen, *names]


def program(seed: int) -> Program:
    """Draw a program."""
    chance = random.Random(seed)
    n = chance.randint(3, 12 if chance.random() < 0.8 else 40)
    steps = chance.choices([*STEPS], k=n)
    return Program(seed, chance.choice(SHAPES), tuple(enumerate(steps)))


def smaller(p: Program) -> Iterator[Program]:
    """List the programs without one of the steps."""
    yield from (p._replace(steps=steps) for steps in without_one(p.steps))


def _is_slope(found: Any, f: Any) -> bool:
    """Compare a derivative with differences: one of them first, the best if that is another."""
    h = 2.0**-20
    if np.isclose(found, (f(h) - f(-h)) / (2 * h), 1e-6, 1e-6):
        return True
    slope, doubt = derivative(f)
    return bool(abs(found - slope) <= max(1e-5 * max(1.0, abs(slope)), 20 * doubt))


def _by_vjp(f: Any, x: Any, t: Any) -> tuple[Any, Any]:
    y, pullback = vjp(f, x)
    return y, np.sum(pullback(1.0)[0] * t)


def _by_linearize(f: Any, x: Any, t: Any) -> tuple[Any, Any]:
    y, push = linearize(f, x)
    return y, push(t)


DOORS = (_by_vjp, lambda f, x, t: jvp(f, (x,), (t,)), _by_linearize)


def check(p: Program) -> bool:
    """Compare values with NumPy, the derivative of one of the modes with differences.

    Returns
    -------
    bool
        False if it is refused: nobody knows whether NumPy would have copied.

    Raises
    ------
    AssertionError
        If they differ.
    """
    rng = np.random.default_rng((p.seed, 2))
    x, t = rng.uniform(0.5, 1.5, p.shape), rng.standard_normal(p.shape)
    with np.errstate(all="ignore"):
        expected = [np.array(y) for y in p(x.copy())]

        def f(x: Any) -> Any:
            return _total(p(x))

        try:
            y, slope = DOORS[p.seed % len(DOORS)](f, x, t)
        except MutationError:
            return False
        with Tape(guard="off") as tape:
            values = [getattr(y, "value", y) for y in p(tape.variable(x))]
        assert len(values) == len(expected)
        for value, of_numpy in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, of_numpy, rtol=1e-12, atol=1e-12)
        if np.isfinite(y) and abs(y) < 1e6:
            assert _is_slope(slope, lambda h: f(x + h * t))
    return True


def verdict(p: Program) -> str:
    """Tell what is wrong with a program: what `check` raises."""
    try:
        check(p)
    except AssertionError as error:
        return str(error)
    return ""
