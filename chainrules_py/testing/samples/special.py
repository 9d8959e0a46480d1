"""Samples of special functions; their calls, as functions of SciPy, are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import vocabulary as v
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.testing.samples.sample import Draw, Sample, enter_samples

_word: Any

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
    """Make samples of a function of one or two operands, drawn from these intervals.

    With ``order`` there is a first operand more, of whole numbers.
    """
    found: list[Sample] = []
    for shapes in _SHAPES[len(intervals)]:
        draws = [Draw(s, *at) for s, at in zip(shapes, intervals, strict=True)]
        if order is None:
            found.append(Sample(*draws, **more))
            continue
        # Of the same shape, broadcast, and one number.
        several = (shapes[0], (2, 1, 1), None) if shapes[0] == (2, 3) else (None,)
        orders = [Draw(shape, *order, kind="int") for shape in several]
        found += [Sample(n, *draws, **more) for n in orders]
    return tuple(found)


def _enter(word: Primitive[..., Any], *intervals: Interval, **more: Any) -> None:
    enter_samples(word, *samples_at(*intervals, **more))


# ---------------------------------------------------------------------------------- gamma

_enter(v.gamma, (0.5, 3.0))
_enter(v.gamma, (-0.8, -0.2))
_enter(v.gammaln, (0.5, 5.0))
_enter(v.gammaln, (-1.8, -1.2))
_enter(v.loggamma, (0.5, 5.0))
_enter(v.gammasgn, (-1.8, -1.2))
_enter(v.rgamma, (-2.5, 3.0))
enter_samples(v.rgamma, Sample([-2.0, -1.0, 0.0, 1.0, 0.5]))
_enter(v.digamma, (0.5, 3.0))
_enter(v.digamma, (-0.8, -0.2))
_enter(v.polygamma, (0.5, 3.0), order=(0, 4))
_enter(v.beta, (0.5, 2.0), (0.5, 2.0))
_enter(v.betaln, (0.5, 2.0), (0.5, 2.0))
_enter(v.gammainc, (0.5, 3.0), order=(1, 4))
_enter(v.gammaincc, (0.5, 3.0), order=(1, 4))
_A, _B = Draw((3,), 1, 5, kind="int"), Draw((2, 1), 1, 5, kind="int")
enter_samples(
    v.betainc,
    Sample(_A, _B, Draw((3,), 0.1, 0.9)),
    Sample(2, 3, Draw((2, 2), 0.1, 0.9)),
    Sample(2, 3, Draw(None, 0.1, 0.9)),
)
_enter(v.binom, (3.0, 6.0), (0.5, 2.5))
_enter(v.binom, (2.0, 3.0), (4.2, 4.8))
enter_samples(v.binom, Sample([3.0, 3.0, 4.0], [5.0, -1.0, 2.0]))

# ---------------------------------------------------------------------------------- errors

for _word in (v.erf, v.erfc, v.erfcx, v.erfi, v.dawsn, v.ndtr, v.log_ndtr):
    _enter(_word, (-1.5, 1.5), complex=True)
_enter(v.wofz, (-1.5, 1.5), complex=True)
enter_samples(v.erfcx, Sample([24.0, 26.0, 40.0, 300.0]))
enter_samples(v.dawsn, Sample([-300.0, -26.0, 24.0, 40.0]))
enter_samples(v.log_ndtr, Sample([-40.0, -10.0, 5.0]))
_enter(v.erfinv, (-0.7, 0.7))
_enter(v.erfcinv, (0.3, 1.7))
_enter(v.ndtri, (0.1, 0.9))
_enter(v.owens_t, (-1.5, 1.5), (-1.5, 1.5))

# ---------------------------------------------------------------------------------- logistic

_enter(v.expit, (-3.0, 3.0))
_enter(v.logit, (0.1, 0.9))
_enter(v.log_expit, (-3.0, 3.0))

REDUCTIONS = (
    Sample(Draw((2, 3)), complex=True),
    Sample(Draw((2, 3)), complex=True, axis=1),
    Sample(Draw((2, 3, 2)), axis=-2),
    Sample(Draw((2, 3, 2)), axis=(0, -1)),
    Sample(Draw((4,)), axis=0),
    Sample(Draw((1,))),
    Sample(Draw((1, 3)), axis=0),
)
"""Of `logsumexp`, `softmax` and `log_softmax`."""

for _word in (v.logsumexp, v.softmax, v.log_softmax):
    enter_samples(_word, *REDUCTIONS, Sample(Draw(())), Sample(Draw((0, 2)), axis=1))
enter_samples(
    v.logsumexp,
    Sample(Draw((2, 3)), complex=True, axis=0, keepdims=True),
    Sample(Draw((2, 3)), keepdims=True),
    Sample(Draw((0, 2)), axis=0, smooth=False),
)

# ---------------------------------------------------------------------------------- information

_enter(v.xlogy, (0.5, 2.0), (0.5, 2.0), complex=True)
_enter(v.xlog1py, (0.5, 2.0), (-0.5, 2.0), complex=True)
_enter(v.entr, (0.2, 2.0))
_enter(v.rel_entr, (0.2, 2.0), (0.2, 2.0))
_enter(v.kl_div, (0.2, 2.0), (0.2, 2.0))
_enter(v.huber, (0.8, 1.0), (-0.7, 0.7))
_enter(v.huber, (0.8, 1.0), (1.1, 2.0))
_enter(v.huber, (0.8, 1.0), (-2.0, -1.1))
_enter(v.pseudo_huber, (0.5, 2.0), (-2.0, 2.0))

# ---------------------------------------------------------------------------------- powers

_FAR = Draw((3,), -0.5, 0.5, make=lambda x: 3 * np.sign(x) + x)
_enter(v.exprel, (-2.0, 2.0))
enter_samples(v.exprel, Sample([0.0, 1e-3, -1e-8, 30.0, -30.0]))
_enter(v.exp10, (-1.0, 1.0))
_enter(v.cosm1, (-2.0, 2.0))
_enter(v.boxcox, (0.5, 2.0), (-0.5, 0.5))
_enter(v.boxcox1p, (-0.5, 1.0), (-0.5, 0.5))
_enter(v.inv_boxcox, (-0.5, 0.5), (-0.5, 0.5))
_enter(v.inv_boxcox1p, (-0.5, 0.5), (-0.5, 0.5))
for _word in (v.boxcox, v.boxcox1p, v.inv_boxcox, v.inv_boxcox1p):
    enter_samples(_word, Sample(Draw((3,), 0.5, 2.0), [0.0, 1e-6, -1e-9]))
for _word in (v.boxcox, v.boxcox1p):
    enter_samples(_word, Sample(Draw((3,), 2.0, 3.0), _FAR))
for _word in (v.inv_boxcox, v.inv_boxcox1p):
    enter_samples(_word, Sample(Draw((3,), 0.5, 1.0), Draw((3,), 0.5, 3.0)))

# ---------------------------------------------------------------------------------- Bessel

for _word in (v.j0, v.j1, v.i0, v.i1):
    _enter(_word, (-3.0, 3.0))
for _word in (v.i0e, v.i1e):
    _enter(_word, (0.1, 3.0))
    _enter(_word, (-3.0, -0.1))
for _word in (v.j1, v.i1):
    enter_samples(_word, Sample([0.0, 1e-4, 0.45, 0.55, -7.0]))
enter_samples(v.i1e, Sample([1e-3, 0.45, 0.55, -7.0]))
for _word in (v.y0, v.y1, v.k0, v.k1, v.k0e, v.k1e):
    _enter(_word, (0.5, 4.0))
for _word in (v.jv, v.iv):
    _enter(_word, (-3.0, 3.0), order=(-2, 4))
for _word in (v.yv, v.kv, v.kve):
    _enter(_word, (0.5, 3.0), order=(0, 4))
_enter(v.ive, (0.5, 3.0), order=(0, 4))
for _word in (v.jv, v.yv, v.iv, v.kv, v.ive, v.kve):
    enter_samples(_word, Sample(1, Draw((3,), 0.5, 2.0), complex=True))

# ---------------------------------------------------------------------------------- integrals

_enter(v.ellipk, (-2.0, 0.8))
_enter(v.ellipkm1, (0.1, 2.0))
_enter(v.ellipe, (-2.0, 0.8))
enter_samples(v.ellipk, Sample([0.0, 1e-6, 0.99, -30.0]))
enter_samples(v.ellipkm1, Sample([1.0, 1e-3, 0.501, 0.499]))
enter_samples(v.ellipe, Sample([0.0, 1e-6, 0.99, -30.0]))
_enter(v.expi, (0.5, 3.0), complex=True)
_enter(v.exp1, (0.5, 3.0), complex=True)
_enter(v.sici, (0.5, 4.0))
_enter(v.fresnel, (-2.0, 2.0), complex=True)
_enter(v.spence, (0.3, 3.0), complex=True)
enter_samples(v.spence, Sample([1.0, 1.0 + 1e-6, 1.09, 1.11, 20.0]))

# ---------------------------------------------------------------------------------- others

_enter(v.zeta, (0.5, 3.0), order=(2, 5))
enter_samples(
    v.lambertw,
    Sample(Draw((2, 3), -0.2, 3.0), 0, complex=True),
    Sample(Draw((3,), -0.3, -0.1), Draw((2, 1), -1, 1, kind="int")),
    Sample([0.0, 0.5], 0),
    Sample(Draw(None, 0.5, 2.0), 0),
)
_enter(v.hyp0f1, (-2.0, 2.0), order=(1, 4))
enter_samples(
    v.hyp1f1,
    Sample(_A, _B, Draw((3,), -1.0, 1.0)),
    Sample(1, 2, Draw((2,), -1.0, 1.0), complex=True),
    Sample(1, 2, Draw(None, -1.0, 1.0)),
)
enter_samples(
    v.hyp2f1,
    Sample(_A, _B, 6, Draw((3,), -0.5, 0.5)),
    Sample(1, 2, 3, Draw((2,), -0.5, 0.5), complex=True),
    Sample(1, 2, 3, Draw(None, -0.5, 0.5)),
)
