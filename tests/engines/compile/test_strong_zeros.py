"""Compiled gradients with zeros known by structure: no program keeps those of one point."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_tape import grad, value_and_grad
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


LARGEST = {
    "max": np.max,
    "logsumexp": lambda x: x.max() + np.log(np.sum(np.exp(x - x.max()))),
    "min along an axis": lambda x: np.sum(np.min(x.reshape(2, -1), axis=1)),
    "entropy": lambda p: -np.sum(np.where(p > 0, p * np.log(p), 0.0)),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", LARGEST)
def test_after_a_gradient_that_is_not_finite_finite_ones_are_programs(name, target):
    plain, x = value_and_grad(LARGEST[name]), np.linspace(0.1, 0.6, 6)
    compiled = compile(plain, target=target)
    for first in (0.0, np.nan):
        broken = x.copy()
        broken[2] = first
        np.testing.assert_allclose(compiled(broken)[0], plain(broken)[0], rtol=1e-12)
    for factor in (1.0, 1.5, 2.0):
        for found, wanted in zip(compiled(factor * x), plain(factor * x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert len(compiled.programs) in (1, 2)
    assert not compiled.as_it_is


def test_where_a_gradient_is_not_finite_strict_says_what_to_write():
    compiled = compile(value_and_grad(LARGEST["entropy"]), strict=True)
    with pytest.raises(RecordingError, match=r"np\.where\(x > 0, x, 1\)"):
        compiled(np.array([0.0, 0.5, 0.5]))
