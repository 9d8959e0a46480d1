"""Calls of ``scipy.interpolate``."""

from __future__ import annotations

import numpy as np

from tests.libraries.scipy.samples.common import draw, sample

X, Y = np.array([0.0, 0.7, 1.5, 2.1, 3.0, 3.8, 4.1]), draw(7)
AT = np.array([0.3, 1.1, 2.9])
KNOTS = np.array([0.0, 0, 0, 0, 1, 2, 3, 3, 3, 3])
POINTS, PLACES = draw(12, 2), 0.3 * draw(3, 2)
GX, GY, GZ = np.arange(5.0), np.arange(6.0), draw(5, 6)
AT2 = np.array([[1.2, 2.3], [2.7, 3.1]])

for _name in ("PchipInterpolator", "Akima1DInterpolator"):
    sample(f"interpolate.{_name}", X, Y, AT, call=lambda f, x, y, at: f(x, y)(at))
sample("interpolate.CubicSpline", Y, AT, call=lambda f, y, at: f(X, y)(at))
sample("interpolate.CubicSpline", Y, AT, call=lambda f, y, at: f(X, y).derivative()(at))
sample("interpolate.CubicSpline", Y, call=lambda f, y: f(X, y).integrate(0.3, 2.0))
sample(
    "interpolate.CubicHermiteSpline", Y, Y[::-1].copy(), AT, call=lambda f, y, d, at: f(X, y, d)(at)
)
for _name in ("KroghInterpolator", "FloaterHormannInterpolator"):
    sample(f"interpolate.{_name}", X, Y, AT, call=lambda f, x, y, at: f(x, y)(at))
for _name in ("krogh_interpolate", "pchip_interpolate"):
    sample(f"interpolate.{_name}", X, Y, AT)
sample("interpolate.make_interp_spline", Y, AT, call=lambda f, y, at: f(X, y)(at))
sample("interpolate.make_splrep", Y, AT, call=lambda f, y, at: f(X, y)(at))
sample("interpolate.make_splprep", Y, call=lambda f, y: f([Y, y], u=X)[0](AT))
sample("interpolate.BSpline", Y[:6], AT, call=lambda f, c, at: f(KNOTS, c, 3)(at))
sample("interpolate.BSpline", Y[:6], call=lambda f, c: f(KNOTS, c, 3).integrate(0.2, 2.0))
sample("interpolate.PPoly", draw(3, 2), AT, call=lambda f, c, at: f(c, [0.0, 1.0, 3.0])(at))
sample("interpolate.interp1d", Y, AT, call=lambda f, y, at: f(X, y)(at))
sample("interpolate.interp1d", Y, AT, call=lambda f, y, at: f(X, y, kind="cubic")(at))
sample("interpolate.interpn", GZ, AT2, call=lambda f, z, at: f((GX, GY), z, at))
sample("interpolate.RegularGridInterpolator", GZ, AT2, call=lambda f, z, at: f((GX, GY), z)(at))
sample(
    "interpolate.RegularGridInterpolator",
    GZ,
    AT2,
    call=lambda f, z, at: f((GX, GY), z, method="cubic")(at),
)
sample(
    "interpolate.RBFInterpolator", POINTS, draw(12), PLACES, call=lambda f, p, y, at: f(p, y)(at)
)
sample(
    "interpolate.RBFInterpolator",
    POINTS,
    draw(12),
    PLACES,
    call=lambda f, p, y, at: f(p, y, kernel="gaussian", epsilon=0.7, smoothing=0.1)(at),
)
for _method in ("nearest", "linear"):
    sample(
        "interpolate.griddata",
        draw(12),
        PLACES,
        call=lambda f, y, at, m=_method: f(POINTS, y, at, method=m),
    )
sample("interpolate.griddata", draw(12), call=lambda f, y: f(POINTS, y, PLACES, method="cubic"))
sample("interpolate.LinearNDInterpolator", draw(12), PLACES, call=lambda f, y, at: f(POINTS, y)(at))
sample(
    "interpolate.CloughTocher2DInterpolator",
    draw(12),
    call=lambda f, y: f(POINTS, y, tol=1e-12)(PLACES),
)
sample(
    "interpolate.NearestNDInterpolator", draw(12), PLACES, call=lambda f, y, at: f(POINTS, y)(at)
)
sample("interpolate.pade", np.array([1.0, 1.0, 0.5, 1 / 6]), call=lambda f, a: f(a, 1)[0](0.3))
