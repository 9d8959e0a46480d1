"""What to write for functions that take plain numbers alone."""

from __future__ import annotations

import cmath
import math
import re
from math import sin

import numpy as np
import pytest

from chainrules_py import TracerError
from chainrules_tape import grad

X = np.arange(1.0, 4.0)


@pytest.mark.parametrize(
    "f, line",
    [
        (lambda x: math.sin(x), "np.sin"),
        (lambda x: sin(x), "np.sin"),
        (lambda x: math.log1p(x * 2) + 1, "np.log1p"),
        (lambda x: math.pow(x, 2), "x**y"),
        (lambda x: math.atan2(1.0, x), "np.arctan2"),
        (lambda x: math.gamma(x), "scipy.special.gamma"),
        (lambda x: math.fsum([x, x]), "np.sum"),
        (lambda x: abs(cmath.exp(x)), "np.exp"),
        (lambda s: np.interp(-0.3, [0.0, 1.0], [1.0, 2.0], left=s), "np.where"),
        (lambda s: np.max(X, initial=s), "np.maximum"),
        (lambda s: np.prod(X, initial=np.sum(s)), "np.prod(x) * initial"),
    ],
)
@pytest.mark.parametrize("point", [2.0, np.float64(2.0), np.asarray(2.0)])
def test_the_refusal_names_the_function_to_write(f, line, point):
    with pytest.raises(TracerError, match=f"does not become a plain .*write {re.escape(line)}"):
        grad(f)(point)
