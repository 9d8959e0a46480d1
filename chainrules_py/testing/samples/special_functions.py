"""Samples of special functions, which are called in the same way as SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

Interval = tuple[float, float]
_SHAPES: dict[int, tuple[tuple[Any, ...], ...]] = {
    1: (((2, 3),), ((),), ((0,),), (None,)),
    2: (
        ((2, 3), (2, 3)),
        ((3,), (2, 1)),
        ((), ()),
        ((0,), (1,)),
        ((2, 3), None),
        (None, (2,)),
        (None, None),
    ),
}


def samples_at(
    *intervals: Interval, order: tuple[int, int] | None = None, **more: Any
) -> tuple[Sample, ...]:
    """Return samples of a function of one or two operands, drawn from these intervals.

    With ``order``, an operand of integers precedes them.
    """
    found: list[Sample] = []
    for shapes in _SHAPES[len(intervals)]:
        draws = [Draw(s, *at) for s, at in zip(shapes, intervals, strict=True)]
        if order is None:
            found.append(Sample(*draws, **more))
            continue
        # Orders of the same shape, broadcast, and as one number.
        several = (shapes[0], (2, 1, 1), None) if shapes[0] == (2, 3) else (None,)
        orders = [Draw(shape, *order, kind="int") for shape in several]
        found += [Sample(n, *draws, **more) for n in orders]
    return tuple(found)


_A, _B = Draw((3,), 1, 5, kind="int"), Draw((2, 1), 1, 5, kind="int")
REDUCTIONS = (
    Sample(Draw((2, 3)), complex=True),
    Sample(Draw((2, 3)), complex=True, axis=1),
    Sample(Draw((2, 3, 2)), axis=-2),
    Sample(Draw((2, 3, 2)), axis=(0, -1)),
    Sample(Draw((4,)), axis=0),
    Sample(Draw((1,))),
    Sample(Draw((1, 3)), axis=0),
)
"""Samples of `logsumexp`, `softmax` and `log_softmax`."""
_FAR = Draw((3,), -0.5, 0.5, make=lambda x: 3 * np.sign(x) + x)

enter_table(
    {
        # gamma:
        v.gamma: (
            *samples_at((0.5, 3.0)),
            *samples_at((-0.8, -0.2)),
        ),
        v.gammaln: (
            *samples_at((0.5, 5.0)),
            *samples_at((-1.8, -1.2)),
        ),
        v.loggamma: samples_at((0.5, 5.0)),
        v.gammasgn: samples_at((-1.8, -1.2)),
        v.rgamma: (
            *samples_at((-2.5, 3.0)),
            Sample([-2.0, -1.0, 0.0, 1.0, 0.5]),
        ),
        v.digamma: (
            *samples_at((0.5, 3.0)),
            *samples_at((-0.8, -0.2)),
        ),
        v.polygamma: samples_at((0.5, 3.0), order=(0, 4)),
        v.beta: samples_at((0.5, 2.0), (0.5, 2.0)),
        v.betaln: samples_at((0.5, 2.0), (0.5, 2.0)),
        v.gammainc: samples_at((0.5, 3.0), order=(1, 4)),
        v.gammaincc: samples_at((0.5, 3.0), order=(1, 4)),
        v.betainc: (
            Sample(_A, _B, Draw((3,), 0.1, 0.9)),
            Sample(2, 3, Draw((2, 2), 0.1, 0.9)),
            Sample(2, 3, Draw(None, 0.1, 0.9)),
        ),
        v.binom: (
            *samples_at((3.0, 6.0), (0.5, 2.5)),
            *samples_at((2.0, 3.0), (4.2, 4.8)),
            Sample([3.0, 3.0, 4.0], [5.0, -1.0, 2.0]),
        ),
        # errors:
        (v.erf, v.erfc, v.erfcx, v.erfi, v.dawsn, v.ndtr, v.log_ndtr): samples_at(
            (-1.5, 1.5), complex=True
        ),
        v.wofz: samples_at((-1.5, 1.5), complex=True),
        v.erfcx: (Sample([24.0, 26.0, 40.0, 300.0]),),
        v.dawsn: (Sample([-300.0, -26.0, 24.0, 40.0]),),
        v.log_ndtr: (Sample([-40.0, -10.0, 5.0]),),
        v.erfinv: samples_at((-0.7, 0.7)),
        v.erfcinv: samples_at((0.3, 1.7)),
        v.ndtri: samples_at((0.1, 0.9)),
        v.owens_t: samples_at((-1.5, 1.5), (-1.5, 1.5)),
        # logistic:
        v.expit: samples_at((-3.0, 3.0)),
        v.logit: samples_at((0.1, 0.9)),
        v.log_expit: samples_at((-3.0, 3.0)),
        (v.logsumexp, v.softmax, v.log_softmax): (
            *REDUCTIONS,
            Sample(Draw(())),
            Sample(Draw((0, 2)), axis=1),
        ),
        v.logsumexp: (
            Sample(Draw((2, 3)), complex=True, axis=0, keepdims=True),
            Sample(Draw((2, 3)), keepdims=True),
            Sample(Draw((0, 2)), axis=0, smooth=False),
        ),
        # information:
        v.xlogy: samples_at((0.5, 2.0), (0.5, 2.0), complex=True),
        v.xlog1py: samples_at((0.5, 2.0), (-0.5, 2.0), complex=True),
        v.entr: samples_at((0.2, 2.0)),
        v.rel_entr: samples_at((0.2, 2.0), (0.2, 2.0)),
        v.kl_div: samples_at((0.2, 2.0), (0.2, 2.0)),
        v.huber: (
            *samples_at((0.8, 1.0), (-0.7, 0.7)),
            *samples_at((0.8, 1.0), (1.1, 2.0)),
            *samples_at((0.8, 1.0), (-2.0, -1.1)),
        ),
        v.pseudo_huber: samples_at((0.5, 2.0), (-2.0, 2.0)),
        v.exprel: (
            *samples_at((-2.0, 2.0)),
            Sample([0.0, 1e-3, -1e-8, 30.0, -30.0]),
        ),
        v.exp10: samples_at((-1.0, 1.0)),
        v.cosm1: samples_at((-2.0, 2.0)),
        v.boxcox: samples_at((0.5, 2.0), (-0.5, 0.5)),
        v.boxcox1p: samples_at((-0.5, 1.0), (-0.5, 0.5)),
        v.inv_boxcox: samples_at((-0.5, 0.5), (-0.5, 0.5)),
        v.inv_boxcox1p: samples_at((-0.5, 0.5), (-0.5, 0.5)),
        (v.boxcox, v.boxcox1p, v.inv_boxcox, v.inv_boxcox1p): (
            Sample(Draw((3,), 0.5, 2.0), [0.0, 1e-6, -1e-9]),
        ),
        (v.boxcox, v.boxcox1p): (Sample(Draw((3,), 2.0, 3.0), _FAR),),
        (v.inv_boxcox, v.inv_boxcox1p): (Sample(Draw((3,), 0.5, 1.0), Draw((3,), 0.5, 3.0)),),
        # Bessel:
        (v.j0, v.j1, v.i0, v.i1): samples_at((-3.0, 3.0)),
        (v.i0e, v.i1e): (
            *samples_at((0.1, 3.0)),
            *samples_at((-3.0, -0.1)),
        ),
        (v.j1, v.i1): (Sample([0.0, 1e-4, 0.45, 0.55, -7.0]),),
        v.i1e: (Sample([1e-3, 0.45, 0.55, -7.0]),),
        (v.y0, v.y1, v.k0, v.k1, v.k0e, v.k1e): samples_at((0.5, 4.0)),
        (v.jv, v.iv): samples_at((-3.0, 3.0), order=(-2, 4)),
        (v.yv, v.kv, v.kve): samples_at((0.5, 3.0), order=(0, 4)),
        v.ive: samples_at((0.5, 3.0), order=(0, 4)),
        (v.jv, v.yv, v.iv, v.kv, v.ive, v.kve): (Sample(1, Draw((3,), 0.5, 2.0), complex=True),),
        # integrals:
        v.ellipk: (
            *samples_at((-2.0, 0.8)),
            Sample([0.0, 1e-6, 0.99, -30.0]),
        ),
        v.ellipkm1: (
            *samples_at((0.1, 2.0)),
            Sample([1.0, 1e-3, 0.501, 0.499]),
        ),
        v.ellipe: (
            *samples_at((-2.0, 0.8)),
            Sample([0.0, 1e-6, 0.99, -30.0]),
        ),
        v.expi: samples_at((0.5, 3.0), complex=True),
        v.exp1: samples_at((0.5, 3.0), complex=True),
        v.sici: samples_at((0.5, 4.0)),
        v.fresnel: samples_at((-2.0, 2.0), complex=True),
        v.spence: (
            *samples_at((0.3, 3.0), complex=True),
            Sample([1.0, 1.0 + 1e-6, 1.09, 1.11, 20.0]),
        ),
        # others:
        v.zeta: samples_at((0.5, 3.0), order=(2, 5)),
        v.lambertw: (
            Sample(Draw((2, 3), -0.2, 3.0), 0, complex=True),
            Sample(Draw((3,), -0.3, -0.1), Draw((2, 1), -1, 1, kind="int")),
            Sample([0.0, 0.5], 0),
            Sample(Draw(None, 0.5, 2.0), 0),
        ),
        v.hyp0f1: samples_at((-2.0, 2.0), order=(1, 4)),
        v.hyp1f1: (
            Sample(_A, _B, Draw((3,), -1.0, 1.0)),
            Sample(1, 2, Draw((2,), -1.0, 1.0), complex=True),
            Sample(1, 2, Draw(None, -1.0, 1.0)),
        ),
        v.hyp2f1: (
            Sample(_A, _B, 6, Draw((3,), -0.5, 0.5)),
            Sample(1, 2, 3, Draw((2,), -0.5, 0.5), complex=True),
            Sample(1, 2, 3, Draw(None, -0.5, 0.5)),
        ),
    }
)
