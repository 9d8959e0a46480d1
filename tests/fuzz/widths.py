"""Calls whose operands are whole numbers, booleans, or narrow, against the same call in float64.

A `Narrow` names a call that was entered, the dtype that some of its operands are given, and by how
much these are enlarged before they are rounded: small numbers never wrap. It is judged where NumPy
itself computes the function of real numbers, so that its derivative is that function's.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, final

import numpy as np

from chainrules_py import NotDifferentiableError, TracerError
from chainrules_py.testing.cases.backends import backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.sample_runs import operations_of
from chainrules_tape import jvp, vjp
from tests.fuzz.smaller import without_one
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.calls.call import SurfaceCall
from tests.surface.point import Point, leaves

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
NARROW = ("float16", "float32")  # and complex64, of complex calls
SCALES = (1, 7, 40)
Entered = tuple[SurfaceCall, Any]
"""A call, with the function that it calls if that is no name of NumPy's."""


@functools.cache
def entered() -> tuple[Entered, ...]:
    """Every smooth call of a function of NumPy or SciPy, and sample of an operation."""
    names = [*names_with_calls(), *names_with_calls("scipy")]
    found: list[Entered] = [(call, None) for name in names for call in surface_calls(name)]
    operations: Any = operations_of()
    for instance in [i for operation in operations for i in instances(operation)]:
        name = f"v.{instance.operation.__name__}"
        call = SurfaceCall(name, instance.sample, instance.number, instance.complex)
        found.append((call, functools.partial(_called, instance)))
    return tuple([(call, f) for call, f in found if _is_judged(call)])


def _is_judged(call: SurfaceCall) -> bool:
    """Tell whether a call is one of real numbers, and converts none of them to whole ones."""
    dtype = call.sample.options.get("dtype")
    whole = dtype is not None and np.dtype(dtype).kind in "biu"
    return call.sample.smooth and not call.sample.gauge and not whole


def _called(instance: Any, *xs: Any, **_: Any) -> Any:
    operands = [np.asarray(x) if type(x) is list else x for x in xs]
    return instance.operation(*operands, **_options(instance))


@functools.cache
def _options(instance: Any) -> dict[str, Any]:
    return instance.build(backend("numpy"))[1]  # type: ignore[no-any-return]


@final
@dataclasses.dataclass(frozen=True)
class Narrow:
    """A call with operands of a dtype.

    Attributes
    ----------
    number : int
        Which of the calls in `entered`.
    dtype : str
        Of these operands.
    places : tuple of int
        Which operands, among those that move.
    scale : int
        What their numbers are multiplied by.
    draw : int
        Which draw of these numbers.
    """

    number: int
    dtype: str
    places: tuple[int, ...]
    scale: int
    draw: int = 0

    def __str__(self) -> str:
        return f"check({self!r})  # {entered()[self.number][0]}"


DRAWS = 4
"""How many draws of its numbers a call is judged at."""
WIDTHS = [*itertools.product(WHOLE[:-1], SCALES), (WHOLE[-1], 1), *itertools.product(NARROW, (1,))]


@functools.cache
def _kinds() -> list[tuple[int, list[tuple[str, int]]]]:
    """How many operands of each call move, and in which dtypes, with which scales, they may be."""
    points = [Point(call, f=f) for call, f in entered()]
    single = [("complex64", 1)]
    return [(len(p.xs), single if any(map(np.iscomplexobj, p.xs)) else WIDTHS) for p in points]


@functools.cache
def _ends() -> list[int]:
    """How many programs there are of each call and of those before it."""
    return [*itertools.accumulate([DRAWS * (2**n - 1) * len(kinds) for n, kinds in _kinds()])]


def size() -> int:
    """How many programs there are: each call, dtype, scale and draw, in each choice of operands."""
    return _ends()[-1]


def program(at: int) -> Narrow:
    """The program at a place, of as many as there are."""
    number = bisect.bisect_right(_ends(), at)
    n, kinds = _kinds()[number]
    at -= _ends()[number] - DRAWS * (2**n - 1) * len(kinds)
    at, draw = divmod(at, DRAWS)
    chosen, kind = divmod(at, len(kinds))
    places = tuple([i for i in range(n) if (chosen + 1) >> i & 1])
    return Narrow(number, kinds[kind][0], places, kinds[kind][1], draw)


def of_calls(numbers: Iterable[int], rng: Any) -> Iterator[Narrow]:
    """Draw a program of each of these calls that has any."""
    for number in numbers:
        first, end = _ends()[number - 1] if number else 0, _ends()[number]
        if first < end:
            yield program(int(rng.integers(first, end)))


def check(drawn: Narrow) -> bool:
    """Check both modes, in the operands that are narrow and in the others; False if none applies.

    Raises
    ------
    AssertionError
        If a derivative is not that of the same numbers in float64, or not as wide as it has to be.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _check(drawn)


def _check(drawn: Narrow) -> bool:
    call, f = entered()[drawn.number]
    point = Point(call, f=f, draws=drawn.draw)
    xs = [_numbers(x, drawn, i in drawn.places) for i, x in enumerate(point.xs)]
    wide = [_widened(x, drawn) for x in xs]
    function = functools.partial(numbers_of, point)
    rtol = _tolerance(drawn, function, xs)
    if not rtol:
        return False
    judged = False
    given = tuple([i for i, x in enumerate(xs) if _is_given(x, drawn) and drawn.dtype != "bool"])
    others = tuple([i for i in range(len(xs)) if i not in drawn.places])
    if any([np.asarray(y).dtype.kind in "biu" for y in function(*xs, real=False)]):
        others = ()  # what is inserted into whole numbers is rounded
    for moving in filter(None, (given, others)):
        try:
            judged |= _both_modes(drawn, function, xs, wide, moving, rtol)
        except TracerError:  # NumPy converts whole numbers that a plain array's method is given,
            # those of which polyint makes a list, and those beside a plain array as like=
            whole = moving is given and np.dtype(drawn.dtype).kind in "iu"
            listed = str(call).startswith(("ndarray.", "polyint")) or "like" in call.sample.options
            if not (whole and listed):
                raise
    return judged


def _is_given(x: Any, drawn: Narrow) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == drawn.dtype


def _widened(x: Any, drawn: Narrow) -> Any:
    if not _is_given(x, drawn):
        return x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _both_modes(
    drawn: Narrow, function: Any, xs: list[Any], wide: list[Any], moving: Any, rtol: float
) -> bool:
    """Compare the derivatives in some operands; the others stay as they are."""
    rng = np.random.default_rng(drawn.number)

    def of(values: list[Any], **keywords: Any) -> Any:
        def f(*moved: Any) -> Any:
            full = [*values]
            for i, x in zip(moving, moved, strict=True):
                full[i] = x
            return function(*full, **keywords)

        return f, tuple([values[i] for i in moving])

    (f, at), (g, wide_at) = of(xs), of(wide)
    ts = [_direction(rng, x) for x in at]
    try:
        truth, pull_truth = vjp(g, *wide_at)
    except TracerError:
        return False  # NumPy asks the argument itself whether it is an array of its own
    if not all(map(functools.partial(_near, rtol=rtol), truth, g(*wide_at))):
        return False  # NumPy itself leaves it open, as which of two equal knots it takes
    y_bar = [_direction(rng, p) for p in truth]
    try:
        bars_truth = pull_truth(y_bar)
    except np.linalg.LinAlgError:
        return False  # a matrix that is singular but for rounding
    dots_truth = jvp(g, wide_at, tuple([_like(t, x) for t, x in zip(ts, wide_at, strict=True)]))[1]
    if not all([np.all(np.isfinite(t)) for t in (*bars_truth, *dots_truth)]):
        return False
    try:
        y, pull = vjp(f, *at)
        bars = pull([_like(b, p) for b, p in zip(y_bar, y, strict=True)])
        dots = jvp(f, at, tuple([_like(t, x) for t, x in zip(ts, at, strict=True)]))[1]
    except (NotDifferentiableError, TypeError) as error:
        if "whole numbers" not in str(error) and "unsupported in linalg" not in str(error):
            raise
        return False  # rounded; or NumPy has no algebra of float16, which SciPy widens
    for p, plain in zip(y, f(*at), strict=True):
        _compare(drawn, "value", p, plain, rtol, getattr(plain, "dtype", None))
    for x, bar, want in zip(at, bars, bars_truth, strict=True):
        whole = getattr(x, "dtype", np.dtype(float)).kind not in "fc"
        _compare(drawn, "reverse", bar, want, rtol, None if whole else _width(x))
    _compare_seeds(drawn, rng, of(xs, real=False)[0], at)
    for p, dot, want in zip(y, dots, dots_truth, strict=True):
        _compare(drawn, "forward", dot, want, rtol, _width(p))
    return True


def _compare_seeds(drawn: Narrow, rng: Any, f: Any, at: Any) -> None:
    """Compare what cotangents give that are whole numbers, as the results are, and real ones."""
    y, pull = vjp(f, *at)
    if not any([np.asarray(p).dtype.kind in "iu" for p in y]):
        return
    seeds = [np.asarray(rng.integers(1, 100, np.shape(p))) for p in y]
    whole = [s.astype(np.asarray(p).dtype) for s, p in zip(seeds, y, strict=True)]
    real = [_like(s, p) for s, p in zip(whole, y, strict=True)]
    for found, want in zip(pull(whole), pull(real), strict=True):
        _compare(drawn, "whole cotangents", found, want, 1e-9, getattr(want, "dtype", None))


def _direction(rng: Any, x: Any) -> Any:
    t = rng.standard_normal(np.shape(x))
    return t + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else t


def _numbers(x: Any, drawn: Narrow, given: bool) -> Any:
    """Return the numbers of an array as others of the dtype, the largest it holds at most."""
    dtype = np.dtype(drawn.dtype)
    if dtype.kind == "c":
        return x.astype(dtype) if given and np.iscomplexobj(x) and np.ndim(x) else x
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f" or not given:
        # Beside whole numbers NumPy may convert the others to whole ones.
        single = isinstance(x, float) or (isinstance(x, np.ndarray) and x.shape == ())
        return np.round(x) + 0.0 if single and dtype.kind in "biu" else x
    if dtype.kind == "b":
        return x > 0
    if dtype.kind == "f":
        return x.astype(dtype)
    info = np.iinfo(dtype)
    whole = np.nan_to_num(np.round(x * drawn.scale))
    whole = np.abs(whole) if info.min == 0 else whole
    return np.clip(whole, max(info.min, -1000), min(info.max, 1000)).astype(dtype)


def numbers_of(point: Point, *xs: Any, real: bool = True) -> list[Any]:
    """List the numbers in a result, whole ones as real ones, or as they are."""
    found = []
    for leaf in leaves(point.gauged(*xs)):
        if not isinstance(leaf, (type, str)):
            cls = getattr(type(leaf), "__dispatch_type__", type(leaf))
            if np.dtype(getattr(leaf, "dtype", cls)).kind in "iufcO":  # objects may be traced
                found.append(leaf * 1.0 if real else leaf)
    return found


def _width(x: Any) -> Any:
    """The dtype of tangents of x; None if it is a number of Python's."""
    dtype = getattr(x, "dtype", None)
    return dtype if dtype is None or dtype.kind in "fc" else np.dtype(np.float64)


def _like(t: Any, x: Any) -> Any:
    width = _width(x)
    return np.asarray(t).item() if width is None else np.asarray(t).astype(width)


def _tolerance(drawn: Narrow, function: Any, xs: list[Any]) -> float:
    """How far numbers may be from those in float64; 0 if NumPy computes another function here.

    It may take none, wrap, overflow, or round to whole numbers, which shows at some other points.
    """
    rng, rtol = np.random.default_rng(drawn.number), 0.0
    for _ in range(3):
        try:
            y, truth = function(*xs), function(*[_widened(x, drawn) for x in xs])
        except (TypeError, ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError):
            return 0.0
        # NumPy computes functions of int8, and of bool, in float16.
        least = min([8, *[np.asarray(np.real(p)).itemsize for p in y]])
        narrow = {"float16": 2, "float32": 4, "complex64": 4}
        least = min(least, narrow.get(drawn.dtype, 8))
        if "scimath" in str(drawn) and np.dtype(drawn.dtype).itemsize < 4:
            least = min(least, 4)  # on the way NumPy makes complex64 of them
        rtol = {2: 4e-2, 4: 2e-4}.get(least, 1e-9)
        if not y or [np.shape(p) for p in y] != [np.shape(p) for p in truth]:
            return 0.0
        if not all(map(functools.partial(_near, rtol=rtol), y, truth)):
            return 0.0
        if np.dtype(drawn.dtype).kind in "iu":
            xs = [x + rng.integers(0, 2, x.shape, x.dtype) if _is_given(x, drawn) else x
                  for x in xs]  # fmt: skip
    return rtol


def _near(a: Any, b: Any, rtol: float) -> bool:
    least = 1e-2 if rtol > 1e-3 else 1e-3  # 1 - y² of a half near 1 has no digits
    scale = max(least, np.max(np.abs(b), initial=0.0)) if rtol > 1e-8 else 1.0
    return bool(np.all(np.isfinite(b)) and np.allclose(a, b, rtol, rtol * scale))


def _compare(drawn: Narrow, what: str, found: Any, truth: Any, rtol: float, width: Any) -> None:
    dtype = getattr(found, "dtype", None)
    if width is not None and dtype != width:
        raise AssertionError(f"{drawn}\n{what}: a derivative of {dtype} for {width}")
    if getattr(dtype, "itemsize", 8) <= 4 and np.dtype(dtype).kind == "f":
        rtol = max(rtol, 2e-4)  # NumPy computes functions of int16 in float32, on the way as well
    if not _near(found, truth, rtol):
        msg = f"{drawn}\n{what}: {found!r}, and {truth!r} of the same numbers in float64"
        raise AssertionError(msg)


def verdict(drawn: Narrow) -> str:
    """Tell what is wrong with a call: what `check` raises."""
    try:
        check(drawn)
    except AssertionError as error:
        return str(error)
    return ""


def smaller(drawn: Narrow) -> Iterator[Narrow]:
    """List calls with fewer operands of the dtype, with smaller numbers, or wider."""
    for places in without_one(drawn.places):
        if places:
            yield dataclasses.replace(drawn, places=places)
    for scale in SCALES[: SCALES.index(drawn.scale)]:
        yield dataclasses.replace(drawn, scale=scale)
    for draw in range(drawn.draw):
        yield dataclasses.replace(drawn, draw=draw)


def beside_single(number: int) -> str:
    """Tell whose derivative has fewer digits than the value, where one operand is narrower.

    Where the value is that of the same numbers in double precision, so are the derivatives in the
    other operands.
    """
    call, f = entered()[number]
    point = Point(call, f=f)
    if call.complex or len(point.xs) < 2 or call.name.startswith(COMPUTED_NARROW):
        return ""
    function, rng = functools.partial(numbers_of, point), np.random.default_rng(number)
    for i, x in enumerate(point.xs):
        if not isinstance(x, np.ndarray) or x.dtype != np.float64:
            continue
        others = [
            k for k, x in enumerate(point.xs) if k != i and isinstance(x, (float, np.ndarray))
        ]
        single = x.astype(np.float32)

        def of(narrow: Any, i: int = i, others: list[int] = others) -> Any:
            def moved(*ys: Any) -> Any:
                values = {i: narrow, **dict(zip(others, ys, strict=True))}
                return function(*[values.get(k, x) for k, x in enumerate(point.xs)])

            return moved

        at = tuple([point.xs[k] for k in others])
        try:
            (y, pull), (z, want) = vjp(of(single), *at), vjp(of(single.astype(float)), *at)
            if not all(
                [
                    _is_double(p) and np.allclose(p, q, 1e-13, 1e-13)
                    for p, q in zip(y, z, strict=True)
                ]
            ):
                continue
            bars = [rng.standard_normal(np.shape(p))[()] for p in z]
            ts = tuple([rng.standard_normal(np.shape(x))[()] for x in at])
            pairs = [*zip(pull(bars), want(bars), strict=True)]
            dots = [jvp(of(x), at, ts)[1] for x in (single, single.astype(float))]
        except (NotDifferentiableError, TracerError, TypeError):
            continue
        for found, right in [*pairs, *zip(*dots, strict=True)]:
            if not np.max(np.abs(found - right), initial=0.0) <= 1e-11 * np.max(
                np.abs(right), initial=0.0
            ):
                return f"{call}, operand {i}: {found} for {right}"
    return ""


COMPUTED_NARROW = ("scipy.special.chndtr",)  # whose derivatives are differences


def _is_double(x: Any) -> bool:
    return np.asarray(x).dtype == np.float64
