"""Calls of what ``scipy.interpolate`` makes: classes, conditions, extrapolation, and methods."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.interpolate

from tests.libraries.scipy.options.judge import Call

theirs: Any = scipy.interpolate

X = np.array([0.0, 0.4, 1.1, 2.0, 2.9, 4.0, 5.2])
Y = np.random.default_rng(3).standard_normal(7)
K = np.arange(-3.0, 8.0)
ROUND = (None, False, True, "periodic")
INSIDE = np.array([0.0, 0.3, 2.0, 4.4, 5.2])
OUTSIDE = np.array([-0.7, 0.3, 5.9, 13.0])
RANGES = (
    *((0.3, 4.4), (4.4, 0.3), (0.0, 5.2), (1.0, 6.0), (-1.0, 2.0), (1.0, 11.0), (0.0, 10.4)),
    *((11.0, 1.0), (6.0, 7.0), (-3.0, -1.0), (2.0, 2.0), (-6.0, 12.0), (0.3, 5.5)),
)


def _closed(q: Any) -> Any:
    """Return values of which the last is the first."""
    return np.concatenate([q[:-1], q[:1]])


def _clamped(n: int, k: int) -> Any:
    inner = np.linspace(0.0, 5.2, n - k + 1)
    return np.concatenate([[0.0] * k, inner, [5.2] * k])


MADE: dict[str, Callable[..., Any]] = {
    "CubicSpline": lambda q, **e: theirs.CubicSpline(X, q, **e),
    "CubicSpline(natural)": lambda q, **e: theirs.CubicSpline(X, q, bc_type="natural", **e),
    "CubicSpline(clamped)": lambda q, **e: theirs.CubicSpline(X, q, bc_type="clamped", **e),
    "CubicSpline(pair)": lambda q, **e: theirs.CubicSpline(
        X, q, bc_type=((1, 0.3), "natural"), **e
    ),
    "CubicSpline(periodic)": lambda q, **e: theirs.CubicSpline(
        X, _closed(q), bc_type="periodic", **e
    ),
    "CubicSpline(2)": lambda q, **e: theirs.CubicSpline(X[:2], q[:2], **e),
    "CubicSpline(3)": lambda q, **e: theirs.CubicSpline(X[:3], q[:3], **e),
    "CubicSpline(3, periodic)": lambda q, **e: theirs.CubicSpline(
        X[:3], _closed(q[:3]), bc_type="periodic", **e
    ),
    "CubicHermiteSpline": lambda q, **e: theirs.CubicHermiteSpline(X, q, q[::-1], **e),
    "PchipInterpolator": lambda q, **e: theirs.PchipInterpolator(X, q, **e),
    "Akima1DInterpolator": lambda q, **e: theirs.Akima1DInterpolator(X, q, **e),
    "Akima1DInterpolator(makima)": lambda q, **e: theirs.Akima1DInterpolator(
        X, q, method="makima", **e
    ),
    "PPoly": lambda q, **e: theirs.PPoly(np.stack([q[:3], q[3:6]]), [0.0, 1.0, 2.5, 5.2], **e),
    "PPoly(falling)": lambda q, **e: theirs.PPoly(
        np.stack([q[:3], q[3:6]]), [5.2, 2.5, 1.0, 0.0], **e
    ),
    "BSpline": lambda q, **e: theirs.BSpline(K, q, 3, **e),
    "BSpline(2)": lambda q, **e: theirs.BSpline(K[:-1], q, 2, **e),
    "BSpline(0)": lambda q, **e: theirs.BSpline(np.append(X, 6.0), q, 0, **e),
    "BSpline(clamped)": lambda q, **e: theirs.BSpline(_clamped(7, 3), q, 3, **e),
    "BSpline(twice)": lambda q, **e: theirs.BSpline([0.0, 0, 0, 1, 2, 2, 4, 5.2, 5.2, 5.2], q, 2),
}
FITTED: dict[str, Callable[..., Any]] = {
    **{
        f"make_interp_spline({k})": lambda q, k=k: theirs.make_interp_spline(X, q, k)
        for k in range(6)
    },
    "make_interp_spline(natural)": lambda q: theirs.make_interp_spline(X, q, bc_type="natural"),
    "make_interp_spline(clamped)": lambda q: theirs.make_interp_spline(X, q, bc_type="clamped"),
    "make_interp_spline(pair)": lambda q: theirs.make_interp_spline(
        X, q, bc_type=([(1, 0.4)], [(2, 0.1)])
    ),
    **{
        f"make_interp_spline({k}, periodic)": lambda q, k=k: theirs.make_interp_spline(
            X, _closed(q), k, bc_type="periodic"
        )
        for k in (2, 3, 4)
    },
}


def _of(how: Any) -> dict[str, Any]:
    return {} if how is None else {"extrapolate": how}


def _objects() -> Iterator[tuple[str, Callable[..., Any]]]:
    for (name, made), how in itertools.product(MADE.items(), ROUND):
        yield f"{name} {how}", lambda q, made=made, how=how: made(q, **_of(how))
    yield from FITTED.items()


def pieces() -> Iterator[Call]:
    """Go through the methods of piecewise polynomials and splines."""
    for name, made in _objects():
        for how, nu in itertools.product(ROUND, range(5)):
            at = OUTSIDE if nu < 4 else INSIDE
            yield Call(
                f"{name} call {how} {nu}",
                lambda q, x, made=made, nu=nu, how=how: made(q)(x, nu, **_of(how)),
                (Y, at),
            )
        yield Call(f"{name} knots", lambda q, x, made=made: made(q)(x), (Y, INSIDE))
        yield Call(f"{name} call -1", lambda q, made=made: made(q)(INSIDE, -1), (Y,))
        for method, nu in itertools.product(("derivative", "antiderivative"), range(-1, 5)):
            yield Call(
                f"{name} {method} {nu}",
                lambda q, x, made=made, m=method, nu=nu: getattr(made(q), m)(nu)(x),
                (Y, OUTSIDE),
            )
        yield Call(
            f"{name} antiderivative integrate",
            lambda q, made=made: made(q).antiderivative().integrate(0.3, 6.0),
            (Y,),
        )
        for how, (a, b) in itertools.product(ROUND, RANGES):
            yield Call(
                f"{name} integrate {how} {a} {b}",
                lambda q, a, b, made=made, how=how: made(q).integrate(a, b, **_of(how)),
                (Y, np.float64(a), np.float64(b)),
            )


KINDS = (
    *("linear", "slinear", "quadratic", "cubic", "nearest", "nearest-up", "previous", "next"),
    *("zero", 0, 1, 2, 3, 4, 5, "other"),
)
FILLS: tuple[Any, ...] = (
    *(np.nan, 2.5, (1.0, 2.0), "extrapolate", [1.0, 2.0], None, (np.array([1.0]), 2.0)),
)


def lines() -> Iterator[Call]:
    """Go through ``interp1d``."""
    edges = np.array([-0.7, 0.0, 0.2, 0.4, 0.75, 5.2, 5.9])
    for kind, fill, bounds in itertools.product(KINDS, FILLS, (None, False, True)):
        for at in (INSIDE, edges):
            given = {"kind": kind, "fill_value": fill, "bounds_error": bounds}
            yield Call(
                f"interp1d {given} {len(at)}",
                lambda q, x, g=given: theirs.interp1d(X, q, **g)(x),
                (Y, at),
            )
    for kind, axis, order in itertools.product(KINDS[:-1], (0, 1, -1), (1, -1)):
        ends: tuple[Any, ...] = (9.0, (np.arange(2.0), 5.0), "extrapolate", np.arange(2.0))
        for fill in ends:
            yield Call(
                f"interp1d {kind} {axis} {order} {fill}",
                lambda q, x, k=kind, a=axis, o=order, f=fill: theirs.interp1d(
                    X[::o],
                    np.stack([q, 2 * q], axis=1 - a % 2),
                    k,
                    a,
                    bounds_error=False,
                    fill_value=f,
                )(x),
                (Y, edges.reshape(1, -1)),
            )


GRID = (X[:5], X[:6] - 1.0)
Z = np.random.default_rng(4).standard_normal((5, 6))
METHODS = (
    *("linear", "nearest", "slinear", "cubic", "quintic", "pchip", "slinear_legacy"),
    *("cubic_legacy", "quintic_legacy", "splinef2d", "other"),
)
PAIRS = np.array([[0.3, 0.2], [1.1, -1.0], [2.9, 3.0], [0.75, -0.8]])
BEYOND = np.array([[0.3, 0.2], [-0.4, 0.1], [2.5, 7.1], [np.nan, 0.3]])


def grids() -> Iterator[Call]:
    """Go through ``RegularGridInterpolator`` and ``interpn``."""
    for m, fill, bounds, at in itertools.product(
        METHODS, (np.nan, None, 2.5), (True, False), (PAIRS, BEYOND[:3], BEYOND, PAIRS[0])
    ):
        given = {"method": m, "fill_value": fill, "bounds_error": bounds}
        yield Call(
            f"interpn {given} {at.shape}",
            lambda z, x, g=given: theirs.interpn(GRID, z, x, **g),
            (Z, at),
        )
        yield Call(
            f"RegularGridInterpolator {given} {at.shape}",
            lambda z, x, g=given: theirs.RegularGridInterpolator(GRID, z, **g)(x),
            (Z, at),
        )
    for m, after, nu in itertools.product(METHODS, (None, *METHODS), (None, (0, 0), (1, 0))):
        yield Call(
            f"RegularGridInterpolator {m} then {after} {nu}",
            lambda z, x, m=m, a=after, nu=nu: theirs.RegularGridInterpolator(GRID, z, m)(
                x, a, **({} if nu is None else {"nu": nu})
            ),
            (Z, PAIRS),
        )
    for m in METHODS:
        yield Call(
            f"interpn falling {m}",
            lambda z, x, m=m: theirs.interpn((GRID[0][::-1], GRID[1]), z, x, m),
            (Z, PAIRS),
        )
        yield Call(
            f"interpn pair {m}",
            lambda z, a, b, m=m: theirs.interpn(GRID, z, (a, b), m),
            (Z, PAIRS[:, 0], PAIRS[:, :1]),
        )
        yield Call(
            f"interpn values {m}",
            lambda z, x, m=m: theirs.interpn(GRID, np.stack([z, 2 * z], axis=-1), x, m),
            (Z, PAIRS),
        )


POINTS = np.random.default_rng(5).standard_normal((14, 2))
LEVELS = np.random.default_rng(6).standard_normal(14)
NEAR = np.array([[0.1, 0.2], [-0.3, 0.1], [0.4, -0.2]])
FAR = np.array([[0.1, 0.2], [8.0, 0.1]])


def scattered() -> Iterator[Call]:
    """Go through the interpolation between points anywhere."""
    for method, fill, rescale, at in itertools.product(
        ("nearest", "linear", "cubic", "other"), (np.nan, 2.0), (False, True), (NEAR, FAR)
    ):
        given = {"method": method, "fill_value": fill, "rescale": rescale}
        yield Call(
            f"griddata {given} {len(at)}",
            lambda q, x, g=given: theirs.griddata(POINTS, q, x, **g),
            (LEVELS, at),
            tolerance=1e-5 if method == "cubic" else 1e-11,
        )
        yield Call(
            f"griddata 1 {given} {len(at)}",
            lambda q, x, g=given: theirs.griddata(X, q, x, **g),
            (Y, OUTSIDE[: len(at)]),
        )
        yield Call(
            f"griddata columns {given} {len(at)}",
            lambda q, x, g=given: theirs.griddata(POINTS, np.stack([q, 2 * q], -1), x, **g),
            (LEVELS, at),
            tolerance=1e-5 if method == "cubic" else 1e-11,
        )
    for name in ("LinearNDInterpolator", "NearestNDInterpolator", "CloughTocher2DInterpolator"):
        for rescale, at in itertools.product((False, True), (NEAR, FAR, NEAR[0])):
            yield Call(
                f"{name} {rescale} {at.shape}",
                lambda q, x, n=name, r=rescale: getattr(theirs, n)(POINTS, q, rescale=r)(x),
                (LEVELS, at),
                tolerance=1e-5,
            )
            yield Call(
                f"{name} {rescale} {at.shape} pair",
                lambda q, a, b, n=name, r=rescale: getattr(theirs, n)(POINTS, q, rescale=r)(a, b),
                (LEVELS, at[..., 0], at[..., 1]),
                tolerance=1e-5,
            )
    for kernel in (
        *("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric"),
        *("inverse_multiquadric", "inverse_quadratic", "gaussian", "other"),
    ):
        for degree, near, smooth, eps in itertools.product(
            (None, -1, 0, 1, 2), (None, 6), (0.0, 0.1), (None, 0.8)
        ):
            given = {"degree": degree, "neighbors": near, "smoothing": smooth, "epsilon": eps}
            yield Call(
                f"RBFInterpolator {kernel} {given}",
                lambda q, x, k=kernel, g=given: theirs.RBFInterpolator(POINTS, q, kernel=k, **g)(x),
                (LEVELS, NEAR),
                tolerance=1e-7,
            )


def polynomials() -> Iterator[Call]:
    """Go through polynomials through all points."""
    for name in ("KroghInterpolator", "FloaterHormannInterpolator"):
        made = lambda q, n=name: getattr(theirs, n)(X[:5], q[:5])
        yield Call(f"{name} call", lambda q, x, f=made: f(q)(x), (Y, OUTSIDE))
        for der in (0, 1, 2, 5, None):
            yield Call(
                f"{name} derivative {der}",
                lambda q, x, f=made, d=der: f(q).derivative(x, d),
                (Y, OUTSIDE),
            )
            yield Call(
                f"{name} derivatives {der}",
                lambda q, x, f=made, d=der: f(q).derivatives(x, d),
                (Y, OUTSIDE),
            )
        yield Call(
            f"{name} axis",
            lambda q, x, n=name: getattr(theirs, n)(X[:5], np.stack([q[:5], 2 * q[:5]]), axis=1)(x),
            (Y, OUTSIDE),
        )
    orders: tuple[Any, ...] = (0, 1, 2, [0, 1], [2])
    for order in orders:
        yield Call(
            f"krogh_interpolate {order}",
            lambda q, x, d=order: theirs.krogh_interpolate(X[:5], q[:5], x, der=d),
            (Y, INSIDE),
        )
    for order in (0, 1, [0, 1]):
        yield Call(
            f"pchip_interpolate {order}",
            lambda q, x, d=order: theirs.pchip_interpolate(X, q, x, der=d),
            (Y, INSIDE),
        )


ALL = (pieces, lines, grids, scattered, polynomials)
