"""Compiled gradients with zeros known by structure: no program keeps those of one point."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_tape import grad
from tests.tape.functions.test_zeros import LOST, SELECTED, point

pytestmark = pytest.mark.filterwarnings("ignore")
CASES = [(f, x) for f, x, *_ in (*SELECTED, *LOST)]


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_the_tape_at_one_point_after_another(case, target):
    f, x = case[0], point(case[1])
    turned = x[::-1].copy() if np.ndim(x) else 2.0 * x
    compiled, plain = compile(grad(f), target=target), grad(f)
    for y in (x, turned, 1.1 * x, 1.3 * turned, 0.0 * np.abs(np.nan_to_num(x)) + 0.7, x):
        np.testing.assert_allclose(compiled(y), plain(y), rtol=1e-9)
