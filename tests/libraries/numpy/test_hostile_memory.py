"""Every call that was entered, with operands laid out in memory as a hostile user has them.

The derivatives are those at a plain copy: contiguous, in the machine's order of bytes, in double
precision. What NumPy refuses is left out, and what has no derivative of plain arrays either.
"""

from __future__ import annotations

import itertools
import warnings
import zlib

import numpy as np
import pytest

from chainrules_py import ChainRulesError
from chainrules_py.tangents.zeros import is_zero
from chainrules_tape import jvp, vjp
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point, dense


def _filled(lay):
    return lambda x: lay(x) if x.ndim and x.size else x.copy()


def _strided(x):
    room = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    room[..., ::2] = x
    return room[..., ::2]


def _read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def _swapped(x):
    return x.astype(x.dtype.newbyteorder(">")) if x.dtype.kind in "fciu" else x


def _unaligned(x):
    room = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    room[...] = x
    return room


def _of_dtype(**chars):
    return lambda x: x.astype(chars.get(x.dtype.char, x.dtype))


# By a name: how an array is laid out, and how near derivatives have to be.
KINDS = {
    "Fortran": (np.asfortranarray, 1e-9),
    "strided": (_filled(_strided), 1e-9),
    "backwards": (_filled(lambda x: np.flip(np.flip(x).copy())), 1e-9),
    "read-only": (_read_only, 1e-9),
    "stride 0, last axis": (_filled(lambda x: np.broadcast_to(x[..., :1], x.shape)), 1e-9),
    "stride 0, first axis": (_filled(lambda x: np.broadcast_to(x[:1], x.shape)), 1e-9),
    "bytes swapped": (_swapped, 1e-9),
    "unaligned": (_filled(_unaligned), 1e-9),
    "half": (_of_dtype(d="e", D="F"), 3e-2),
    "long": (_of_dtype(d="g", D="G"), 1e-6),
}
LAYS = [lay for lay, _ in KINDS.values()][:-2]


def _mixed(start):
    """Each array in a layout of its own."""
    lays = itertools.cycle(LAYS[start % len(LAYS) :] + LAYS[: start % len(LAYS)])
    return lambda x: next(lays)(x)


def _plain(x):
    dtype = {"e": "d", "g": "d", "G": "D"}.get(x.dtype.char, x.dtype.newbyteorder("="))
    return np.array(x, dtype, order="C")


def _near(a, b, tolerance):
    a, b = np.asarray(a).astype("D"), np.asarray(b).astype("D")
    finite = np.isfinite(b)
    scale = max(1.0, np.max(np.abs(b[finite]), initial=0))
    return np.array_equal(np.isfinite(a), finite) and bool(
        np.all(np.abs(a[finite] - b[finite]) <= tolerance * scale)
    )


def _same_dtype(a, b):
    """The dtype, up to the order of bytes: what NumPy computes is in the machine's."""
    return np.asarray(a).dtype.newbyteorder("=") == np.asarray(b).dtype.newbyteorder("=")


# Of one by one matrices SciPy takes long numbers as well: it calls the number's own function.
_ONE_BY_ONE = ("expm", "cosm", "sinm", "coshm", "sinhm", "tanhm", "tanm")
# SciPy warns that these are not accurate to more than that.
_ROUGH = ("logm",)


def _is_out_of_reach(call, kind):
    name = call.name.rpartition(".")[2]
    return kind == "long" and name in (*_ONE_BY_ONE, *_ROUGH)


def _check(call, kind):
    """Whether there was something to check."""
    lay, tolerance = KINDS.get(kind) or (None, 1e-9)
    seed = zlib.crc32(str(call).encode())
    if lay is None:
        point, base = Point(call, _mixed(seed)), Point(call, _plained(_mixed(seed)))
    else:
        point, base = Point(call, lay), Point(call, _plained(lay))
    of_arrays = point.xs and all([isinstance(x, np.ndarray) for x in point.xs])
    if not (call.sample.smooth and of_arrays) or _is_out_of_reach(call, kind):
        return False
    try:
        plain, truth = point(*point.xs), base(*base.xs)
    except Exception:  # whatever NumPy says to such memory
        return False
    if [*map(np.shape, plain)] != [*map(np.shape, truth)] or not plain:
        return False
    if not all([_near(a, b, tolerance) for a, b in zip(plain, truth, strict=True)]):
        return False  # equal elements, or half precision, make it another point
    try:
        wide, pull_wide = vjp(base, *base.xs)
        y_bar = [base.direction(p) for p in wide]
        want = pull_wide(y_bar)
        ts = base.directions()
        _, want_dot = jvp(base, tuple(base.xs), tuple(ts))
    except (ChainRulesError, np.linalg.LinAlgError):
        return False  # of plain arrays as well: a singular matrix, an argument without derivative
    y, pull = vjp(point, *point.xs)
    have = pull([np.asarray(b, np.asarray(p).dtype) for b, p in zip(y_bar, y, strict=True)])
    narrow = [t.astype(x.dtype) for t, x in zip(ts, point.xs, strict=True)]
    _, have_dot = jvp(point, tuple(point.xs), tuple(narrow))
    for like, found, right, what in (
        (plain, y, truth, "value"),
        (point.xs, have, want, "gradient"),
        (y, have_dot, want_dot, "derivative"),
    ):
        for x, a, b in zip(like, found, right, strict=True):
            if is_zero(a) and is_zero(b):
                continue
            a, b = dense(a, x), dense(b, x)
            assert np.shape(a) == np.shape(x), (what, str(call), kind)
            assert _same_dtype(a, x), (what, str(call), kind, np.asarray(a).dtype)
            assert _near(a, b, tolerance), (what, str(call), kind, a, b)
    return True


def _plained(lay):
    return lambda x: _plain(lay(x))


NAMES = [name for library in ("numpy", "scipy") for name in names_with_calls(library)]


def _run(name, kinds_of):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in surface_calls(name):
            for kind in kinds_of(call):
                _check(call, kind)


@pytest.mark.parametrize("name", NAMES[::2])  # of each name `make test-all` tries all memory
def test_derivatives_do_not_depend_on_memory(name):
    kinds = [*KINDS, "mixed"]
    start = zlib.crc32(name.encode())
    _run(name, lambda call: (kinds[(start + call.number) % len(kinds)],))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_do_not_depend_on_any_memory(name):
    _run(name, lambda call: (*KINDS, "mixed"))


def test_the_sweep_looks_at_most_calls():
    calls = [call for name in ("sin", "linalg.det", "fft.fft") for call in surface_calls(name)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        checked = [_check(call, kind) for call in calls for kind in ("Fortran", "bytes swapped")]
    assert sum(checked) > 0.7 * len(checked)
