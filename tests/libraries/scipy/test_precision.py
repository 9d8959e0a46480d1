"""Values of traced operands have the shapes and the precision of SciPy's, of every sample."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import chainrules_scipy
from chainrules_py import ChainRulesError
from chainrules_tape import jvp
from tests.libraries.scipy.samples.judge import samples

OF = ("linalg", "signal", "fft", "stats", "interpolate", "ndimage", "spatial")
SHAPED = ("special.legendre_p", "special.assoc_legendre_p", "special.sph_legendre_p")
ALL = [
    (s, i)
    for of in samples().values()
    for i, s in enumerate(of)
    if s.name.split(".")[0] in OF or s.name in SHAPED
]
# All that SciPy gives in another precision than that of its operands, and some others.
NAMED: tuple[str, ...] = (
    "linalg.schur",
    "linalg.norm",
    "linalg.logm",
    "signal.filtfilt",
    "signal.find_peaks",
)
NAMED += ("signal.upfirdn", "stats.ttest_rel", "stats.pareto", "interpolate.interp1d", "fft.fht")
NAMED += ("special.legendre_p", "special.sph_legendre_p", "linalg.eig")
SOME = [s for s, i in ALL if i == 0 and s.name in NAMED]
SOME += [s for s, i in ALL if i == 0][::30]


def _leaves(y: Any) -> list[Any]:
    """Return the arrays of a result, whatever it is made of."""
    if isinstance(y, dict):
        y = [y[name] for name in sorted(y)]
    return [z for part in y for z in _leaves(part)] if isinstance(y, (list, tuple)) else [y]


def _forms(y: Any) -> list[Any]:
    return [(z.shape, z.dtype) for z in map(np.asarray, _leaves(y)) if z.dtype.kind in "fc"]


def _check(sample: Any) -> None:
    __tracebackhide__ = True
    for dtype in (np.float64, np.float32):
        xs = tuple(
            x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
            for x in sample.operands
        )
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                known = sample.run(*xs)
            except Exception:  # whatever SciPy cannot do in this precision
                continue
            try:
                with chainrules_scipy.install():
                    found = jvp(sample.run, xs, xs)[0]
            except Exception as error:
                # SciPy's own, of an array of objects, has a note that says what to write.
                if isinstance(error, ChainRulesError) or hasattr(error, "__notes__"):
                    continue
                raise
        assert _forms(found) == _forms(known)


@pytest.mark.parametrize("sample", SOME, ids=str)
def test_precision(sample: Any) -> None:
    _check(sample)


@pytest.mark.slow
@pytest.mark.parametrize("sample, i", ALL, ids=str)
def test_precision_of_every_sample(sample: Any, i: int) -> None:
    _check(sample)


@pytest.mark.parametrize("overwrite", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_asking_scipy_writes_to_nothing(dtype, overwrite):
    """SciPy may write to what it is given where it is told so; it is asked of copies."""
    a = np.asfortranarray(np.eye(3) * 2 + 0.25, dtype=dtype)
    b = np.asfortranarray([1.0, 2.0, 3.0], dtype=dtype)
    wanted = np.linalg.solve(a, b)
    options = dict(zip(("overwrite_a", "overwrite_b"), overwrite, strict=True))
    for _ in range(2):
        given = a.copy("F"), b.copy()
        y, _ = jvp(lambda p, q: chainrules_scipy.linalg.solve(p, q, **options), given, given)
        np.testing.assert_allclose(y, wanted, rtol=1e-5)
        np.testing.assert_array_equal(given[0], a)
        np.testing.assert_array_equal(given[1], b)
