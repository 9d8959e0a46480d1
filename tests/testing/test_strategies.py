"""What hypothesis draws is what it says, and what is left of a failure is the smallest."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import chainrules_py.testing.strategies as s
from chainrules_py import ops as v
from chainrules_py import primitive, scalar_rule
from chainrules_py.testing import RuleCheckError, check_rule

FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None)
# Judging takes longer than drawing: the first orders in the cheap core, and the second.
CORE = ("value", "types", "push", "adjoint", "zeros")


# ------------------------------------------------------------------------- what is drawn is so


@FEW
@given(s.broadcastable_shapes(3))
def test_shapes_broadcast(found):
    assert len(found) == 3
    np.broadcast_shapes(*found)


@FEW
@given(s.broadcastable_arrays(2, dtype=s.dtypes("real", "complex"), low=0.5, high=1.5))
def test_arrays_broadcast(found):
    x, y = found
    np.broadcast_arrays(x, y)
    for part in (x.real, y.real):
        assert np.all((part >= 0.5) & (part <= 1.5))


@FEW
@given(s.arrays(dtype=s.dtypes(), low=-3.0, high=5.0, avoid=(0.0,)))
def test_numbers_lie_in_the_domain(x):
    if x.dtype.kind != "b":
        assert np.all((x.real >= -3) & (x.real <= 5) & (x.real != 0))


@FEW
@given(st.data(), s.shapes())
def test_axes_are_axes(data, shape):
    axis = data.draw(s.axes(len(shape)))
    np.sum(np.zeros(shape), axis=axis)


@FEW
@given(st.data(), s.shapes())
def test_indices_index(data, shape):
    x = np.zeros(shape)
    where = data.draw(s.indices(shape))
    x[where]


KINDS = {
    "an integer": lambda *parts: any(isinstance(e, int) for e in parts),
    "a negative step": lambda *parts: any(isinstance(e, slice) and e.step == -2 for e in parts),
    "None": lambda *parts: any(e is None for e in parts),
    "Ellipsis before an entry": lambda *parts: parts[0] is Ellipsis and len(parts) > 1,
    "a mask": lambda *parts: any(_is(bool, e) and e.any() for e in parts),
    "a mask of two axes": lambda *parts: any(_is(bool, e) and e.ndim == 2 for e in parts),
    "a repeated integer": lambda *parts: any(
        _is(int, e) and len(np.unique(e)) < e.size for e in parts
    ),
    "two arrays": lambda *parts: sum(_is(int, e) for e in parts) == 2,
}


def _is(dtype, entry):
    return isinstance(entry, np.ndarray) and entry.dtype == dtype


@pytest.mark.parametrize("kind", KINDS)
def test_indices_of_every_kind_occur(kind):
    def occurs(index):
        parts = index if isinstance(index, tuple) else (index,)
        return bool(parts) and KINDS[kind](*parts)

    first = settings(FEW, max_examples=500, phases=[Phase.generate])
    find(s.indices((3, 2)), occurs, settings=first)


@FEW
@given(st.data(), st.sampled_from(["float64", "complex128"]), st.sampled_from([(), (2,)]))
def test_matrices_are_what_they_are_called(data, dtype, batch):
    options = {"batch": batch, "dtype": dtype}
    a = data.draw(s.well_conditioned_matrices(3, 2, **options))
    values = np.linalg.svd(a, compute_uv=False)
    assert values.min() >= 1 - 1e-12
    assert values.max() <= 3 + 1e-12
    spd = data.draw(s.spd_matrices(3, **options))
    np.testing.assert_allclose(spd, np.conj(np.swapaxes(spd, -1, -2)), atol=1e-15)
    assert np.linalg.eigvalsh(spd).min() >= 1 - 1e-12
    assert {a.dtype, spd.dtype} == {np.dtype(dtype)}
    assert {x.shape[:-2] for x in (a, spd)} == {batch}


def test_without_hypothesis_the_error_says_what_to_install():
    program = (
        "import sys\n"
        "sys.modules['hypothesis'] = None\n"
        "import chainrules_py.testing\n"
        "try:\n"
        "    import chainrules_py.testing.strategies\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install hypothesis" in done.stdout, done.stderr


# --------------------------------------------------------------------------------- rules of ours


@FEW
@given(s.broadcastable_arrays(2, max_side=3, dtype=s.dtypes("real", "complex")))
def test_multiply(operands):
    check_rule(v.multiply, *operands, checks=CORE)


@FEW
@given(st.data(), s.shapes(max_side=3))
def test_getitem(data, shape):
    x = data.draw(s.arrays(shape))
    pattern, found = v.Index.split(data.draw(s.indices(shape)), np.ndarray)
    report = check_rule(v.getitem, x, *found, index=pattern, checks=CORE)
    assert report.verdict("adjoint") == "passed"


@FEW
@given(st.data(), s.shapes(max_side=3), st.booleans())
def test_sum(data, shape, keepdims):
    x = data.draw(s.arrays(shape, dtype=s.dtypes("real", "complex")))
    check_rule(v.sum, x, axis=data.draw(s.axes(len(shape))), keepdims=keepdims, checks=CORE)


@FEW
@given(s.well_conditioned_matrices(3), s.spd_matrices(3))
def test_solve(a, b):
    check_rule(v.solve, a, b, checks=CORE)


# ------------------------------------------------------------------------ what is left of a failure


def smallest(strategy, f):
    """The arguments that hypothesis ends with, of those at which the rule of f is wrong."""
    tried = []

    @settings(FEW, max_examples=200, report_multiple_bugs=False)
    @given(strategy)
    def run(x):
        tried.append(x)
        check_rule(f, x, checks=("push",))

    with pytest.raises(RuleCheckError) as caught:
        run()
    return tried[-1], str(caught.value)


def test_rule_that_is_wrong_from_three_columns_on_shrinks_to_three_columns():
    @primitive
    def wrong_sine(x, /):
        return v.sin(x)

    def partial(_y, x):
        return v.cos(x) * (2.0 if x.ndim == 2 and x.shape[1] >= 3 else 1.0)

    scalar_rule(wrong_sine, partial)
    x, text = smallest(s.arrays(s.shapes(max_side=5)), wrong_sine)
    assert x.shape == (1, 3)
    assert not x.any()
    assert "wrong_sine(float64[1,3])" in text


def test_rule_that_is_wrong_in_a_part_of_the_domain_shrinks_to_its_edge():
    @primitive
    def wrong_square(x, /):
        return v.multiply(x, x)

    scalar_rule(wrong_square, lambda _y, x: 2 * x * v.where(x > 1, 1.5, 1.0))
    x, _ = smallest(s.arrays(), wrong_square)
    assert x.shape == ()
    assert float(x) == 1 + 1 / 1024
