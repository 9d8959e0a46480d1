"""Calls that others wrote, judged: the value, both derivatives, and compiled programs.

What is given is differentiated in each of its arguments alone. The value under tracing is that of
NumPy or SciPy, the derivatives are those of differences, or there is an error of ours.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import pickle
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import chainrules_scipy
from chainrules_py import ChainRulesError
from chainrules_py.extend import untraced
from chainrules_py.testing.cases.differences import derivative
from chainrules_scipy.result_checks import Unstated
from chainrules_tape import jvp, value_and_grad, vjp
from tests.engines.compile.shadow import ask
from tests.fuzz.harvest import Harvested, size

GAUGE = ("svd", "eigh", "eig", "qr", "rq", "schur", "null_space", "orth", "hessenberg", "ldl")
"""Factors that are defined up to signs or phases: differences may take others, and so may another
driver of LAPACK's, so that magnitudes are compared."""
TRIANGLES = ("cho_factor",)
"""Factors of which one triangle is used, as the flag beside them says: the other is arbitrary."""
UNSET = ("empty", "empty_like")
"""Memory that nobody wrote: its numbers mean nothing."""
SOLVED = {"newton": 1e-6, "solve_bvp": 1e-4}
"""Absolute errors of differences where a solver stops early, at 1.5e-8 or so: they divide it."""
ROUGH = {"solve_ivp": 1e-2, "ncfdtrinc": 1e-2}
"""Errors of differences, relative to the largest, of what SciPy finds to three digits: the steps of
`solve_ivp` by default, and the search of `ncfdtrinc`. Ours are right to seven or six: against
`expm`, and mpmath."""
APART = ("freqs",)
"""Coefficients of polynomials, up to 90 orders apart: each is moved by its own size."""
STEPS = ("scipy.stats.yulesimon.cdf",)
"""Steps at whole numbers, between which SciPy's formula goes on: ours refuse those between."""
ROUNDED = {
    "dot": 1e-15,  # sums that cancel
    "stats": 1e-9,  # moments that cancel; SciPy's of nchypergeom_fisher are sums cut off
    "firls": 1e-6,  # a system that is nearly singular
    "minimum_phase": 1e-4,  # the logarithm of a response that is 0
    "boxcox_normmax": 1e-6,  # a search that stops early
    "solve_bvp": 1e-6,  # Newton's method, which stops early
}
"""Absolute errors of values whose rounding is magnified, in SciPy's own as well."""
TIES = ("percentile", "quantile", "median", "medfilt", "medfilt2d", "round", "astype", "around")
"""Where numbers are equal, or rounded, differences say something else."""


def resolve(name: str) -> Any:
    """Find a function by its name."""
    if name.startswith("ndarray."):
        return lambda x, *args, **how: getattr(x, name[8:])(*args, **how)
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        with contextlib.suppress(ImportError):
            found: Any = importlib.import_module(".".join(parts[:i]))
            for part in parts[i:]:
                found = getattr(found, part)
            return found
    raise LookupError(name)


def run(call: Harvested) -> Any:
    """Make a call."""
    if call.made_by is None:
        return resolve(call.name)(*call.arguments, **call.options)
    made = run(call.made_by)
    method = call.name.rpartition("()")[2]
    return (getattr(made, method[1:]) if method else made)(*call.arguments, **call.options)


def _moves(x: Any) -> bool:
    if type(x) is np.ndarray:
        return bool(x.dtype.kind in "fc" and x.dtype.names is None)
    return isinstance(x, (float, complex, np.inexact)) and not isinstance(x, np.ndarray)


def _leaves(y: Any, depth: int = 5) -> Iterator[Any]:
    if isinstance(y, (list, tuple)) and depth:
        for part in y:
            yield from _leaves(part, depth - 1)
    elif isinstance(y, dict):
        yield from _leaves(list(y.values()), depth)
    else:
        yield y


def _is_number(y: Any) -> bool:
    return isinstance(y, (np.ndarray, np.generic, float, complex)) and (
        np.asarray(y).dtype.kind in "fc"
    )


def _with(call: Harvested, where: Any, x: Any) -> Harvested:
    """Put another value in the place of an argument."""
    call = copy.deepcopy(call)
    if type(where) is str:
        return call._replace(options={**call.options, where: x})
    arguments = list(call.arguments)
    arguments[where] = x
    return call._replace(arguments=tuple(arguments))


def _plain(y: Any) -> Any:
    """Give the numbers of a traced value, or of an array of objects that holds some."""
    y = untraced(y)
    is_of_objects = isinstance(y, np.ndarray) and y.dtype == object
    return np.reshape([untraced(x) for x in y.flat], y.shape) if is_of_objects else y


def _unlike(found: Any, known: Any, name: str = "") -> str:
    """Say in what a value is not that of the plain call, as far as the function promises one."""
    if not _is_number(known):
        return ""
    if not _is_number(found):
        is_whole = type(found) is int and found == known  # the 0 of `Normal().pmf`
        return "" if is_whole else f"{type(found).__name__} for {type(known).__name__}"
    found, known = np.asarray(found), np.asarray(known)
    if (found.dtype, found.shape) != (known.dtype, known.shape):
        return f"{found.dtype}{found.shape} for {known.dtype}{known.shape}"
    if name in UNSET:
        return ""
    if name in GAUGE:
        found, known = np.abs(found), np.abs(known)
    size = np.max(np.abs(known), initial=0.0, where=np.isfinite(known))
    eps = 2048 * float(np.finfo(known.dtype).eps)
    error = eps * float(size) + ROUNDED.get(name, 0.0)
    near = np.allclose(found, known, rtol=eps, atol=error, equal_nan=True)
    return "" if near else f"value {found.ravel()[:4]} for {known.ravel()[:4]}"


def _row(ys: Any) -> Any:
    rows = [np.reshape(np.asarray(y), (-1,)) for y in ys]
    return np.concatenate(
        [part.astype(float) for y in rows for part in (np.real(y), np.imag(y))] or [np.zeros(0)]
    )


def judged(call: Harvested, *, compiled: bool = False) -> list[str]:
    """Say what is wrong with a call, in each of its arguments; refusals are right."""
    if sum(map(size, call.arguments)) > 300:
        return []
    places: list[Any] = [*range(len(call.arguments)), *call.options]
    lines = []
    with warnings.catch_warnings(), np.errstate(all="ignore"), chainrules_scipy.install():
        warnings.simplefilter("ignore")
        for where in places:
            x = call.options[where] if type(where) is str else call.arguments[where]
            if _moves(x):
                lines += [f"[{where}] {line}" for line in _in_one(call, where, x, compiled)]
    return lines


def _in_one(call: Harvested, where: Any, x: Any, compiled: bool) -> Iterator[str]:
    outer: list[Any] = []

    last = call.name.rpartition(".")[2]

    def leaves(z: Any) -> list[Any]:
        ys = list(_leaves(run(_with(call, where, z))))
        if last in TRIANGLES:
            ys[0] = np.tril(ys[0]) if np.all(ys[1]) else np.triu(ys[0])
        return ys

    def program(z: Any) -> list[Any]:
        outer[:] = leaves(z)
        numbers[:] = [n and type(y) is not Unstated for n, y in zip(numbers, outer, strict=True)]
        return [y for y, is_number in zip(outer, numbers, strict=True) if is_number]

    try:
        known, again = leaves(copy.deepcopy(x)), leaves(copy.deepcopy(x))
        pickle.dumps(known)
    except Exception:  # what plain NumPy refuses
        return
    numbers = [_is_number(y) for y in known]
    if any(map(_unlike, again, known)):  # it draws
        return
    try:
        _, pull = vjp(program, x)
    except ChainRulesError:
        return
    except Exception as error:
        yield f"raises {type(error).__name__}: {error}"
        return
    known = [z if is_stated else None for z, is_stated in zip(known, numbers, strict=True)]
    for y, z in zip(outer, known, strict=True):
        unlike = _unlike(_plain(y), z, last)
        if unlike:
            yield unlike
            return
    real = [y for y in known if _is_number(y)]
    if real and last not in GAUGE + TIES and call.name not in STEPS:
        yield from _derivatives(program, pull, x, real, call.name)
    if compiled and real:
        yield from _compiled(program, x, real)


def _derivatives(
    program: Callable[..., Any], pull: Any, x: Any, known: list[Any], name: str
) -> Iterator[str]:
    rng, array = np.random.default_rng(zlib.crc32(name.encode())), np.asarray(x)
    last = name.rpartition(".")[2]
    solved, rough = SOLVED.get(last, 0.0), ROUGH.get(last, 1e-3)
    least = 1.0 if last in ROUGH else 1e-3
    finite = [np.isfinite(np.asarray(y)).all() for y in [x, *known]]
    precise = [np.asarray(y).dtype.char in "dD" for y in [x, *known]]
    if not all(finite + precise):
        return
    size: Any = float(np.max(np.abs(array), initial=0.0)) or 1.0
    size = np.where(array, np.abs(array), 1.0) if last in APART else size
    way: Any = 0.5 * size * rng.standard_normal(array.shape)
    way = way + 1j * rng.standard_normal(array.shape) if array.dtype.kind == "c" else way
    way = type(x)(way) if not isinstance(x, np.ndarray) else np.asarray(way)

    def moved(t: float) -> Any:
        with contextlib.suppress(Exception):
            row = _row(map(untraced, program(x + t * way)))
            if row.shape == base.shape:
                return row
        return np.full(base.shape, np.nan)

    base = _row(known)
    truth, error = (np.asarray(y, float) for y in derivative(moved))
    scale = np.maximum(
        np.abs(truth), least * np.max(np.abs(truth), initial=0.0, where=truth == truth)
    )
    scale = scale + 1e-9 * np.abs(base)
    tells = np.isfinite(truth) & (error <= 1e-4 * scale + 1e-13)
    weights = np.where(tells, rng.standard_normal(base.shape), 0.0)
    seeds, start = [], 0
    for y in map(np.asarray, known):
        parts = [weights[start + k * y.size :][: y.size].reshape(y.shape) for k in (0, 1)]
        seeds.append((parts[0] + 1j * parts[1]) if y.dtype.kind == "c" else parts[0])
        start += 2 * y.size
    # Of real results the second parts are zeros that nothing weighs.
    seeds = [
        type(y)(s) if not hasattr(y, "dtype") else s for s, y in zip(seeds, known, strict=True)
    ]
    try:
        found = _row(jvp(program, (x,), (way,))[1])
        back = float(np.sum(np.real(np.conj(np.asarray(pull(seeds)[0])) * way)))
    except ChainRulesError:
        return
    except Exception as error_:
        yield f"differentiated, raises {type(error_).__name__}: {error_}"
        return
    off = tells & ~(np.abs(found - truth) <= rough * scale + 100 * error + solved)
    if off.any():
        yield f"forward {found[off][:3]} for {truth[off][:3]}"
    total = float(np.sum(np.where(tells, weights * truth, 0.0)))
    most = float(np.sum(np.where(tells, np.abs(weights) * scale, 0.0)))
    if not abs(back - total) <= rough * most + solved * float(np.sum(np.abs(weights))) + 1e-300:
        yield f"reverse {back} for {total}"


def _compiled(program: Callable[..., Any], x: Any, known: list[Any]) -> Iterator[str]:
    rng = np.random.default_rng(1)
    weights = [rng.standard_normal(np.shape(y)) for y in known]

    def loss(z: Any) -> Any:
        return sum(np.sum(np.real(y * w)) for y, w in zip(program(z), weights, strict=True))

    for asked in (lambda z: tuple(program(z)), value_and_grad(loss)):
        said = ask(asked, (x,))
        if said.startswith("wrong"):
            yield f"compiled: {said.splitlines()[0][:200]}"
