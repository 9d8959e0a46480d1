"""Comparison with SciPy: of values, and of derivatives with differences of SciPy's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_tape import grad, jvp

_rng = np.random.default_rng(0)


def _parts(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


def check_same(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    *xs: Any,
    fixed: tuple[int, ...] = (),
    still: Any = None,
    rtol: float = 1e-9,
    step: float = 1e-6,
    **options: Any,
) -> None:
    """Check values, and both modes in each operand that is an array, but for the fixed ones."""
    known, found = _parts(theirs(*xs, **options)), _parts(ours(*xs, **options))
    assert len(known) == len(found)
    for y, z in zip(known, found, strict=True):
        assert np.shape(y) == np.shape(z)
        np.testing.assert_allclose(z, y, rtol=rtol, atol=rtol)
    for part, y in enumerate(known):
        weights = _rng.normal(size=np.shape(y))
        for k, x in enumerate(xs):
            if not isinstance(x, np.ndarray) or k in fixed:
                continue

            def total(z: Any, f: Any, k: int = k, part: int = part, weights: Any = weights) -> Any:
                operands = [z if i == k else other for i, other in enumerate(xs)]
                return np.sum(weights * np.real(_parts(f(*operands, **options))[part]))

            way = _rng.normal(size=x.shape)
            if still is not None:
                way = np.where(still(k, x), 0.0, way)
            ahead = [total(x + s * step * way, theirs) for s in (1, -1)]
            truth = (ahead[0] - ahead[1]) / (2 * step)
            scale = abs(truth) + np.sum(abs(weights)) * 1e-3
            slope = np.sum(grad(lambda z, total=total: total(z, ours), unused="zero")(x) * way)
            assert abs(slope - truth) <= 1e-4 * scale, (k, options, slope, truth)
            pushed = jvp(lambda z, total=total: total(z, ours), (x,), (way,))[1]
            assert abs(pushed - slope) <= 1e-9 * scale, (k, options, pushed, slope)
