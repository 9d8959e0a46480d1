"""PyTorch's own samples of its functions: operations that are exported give what PyTorch gives.

Value, gradient, forward mode and second order, where PyTorch says that it has them. What differs
stands in a table with the reason, and an entry of the table that does not differ is an error.
"""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="PyTorch's samples ask for it")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the import
    from tests.engines.torch.samples_of_torch import asked, calls, compared, key, ops

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch
DTYPES = ("float64", "complex128")
WHOLE = "NumPy's exponents are whole numbers; ours is refused"
AXES = "NumPy refuses axes that are not of length one; PyTorch leaves them"
DIFFERENT = {
    ("ldexp", "float64"): WHOLE,
    ("ldexp", "complex128"): WHOLE,
    ("cat", "float64"): "PyTorch leaves out vectors without elements among matrices; NumPy refuses",
    ("cat", "complex128"): "as for real numbers",
    ("squeeze", "float64"): AXES,
    ("squeeze", "complex128"): AXES,
    ("squeeze multiple", "float64"): AXES,
    ("squeeze multiple", "complex128"): AXES,
    ("linalg.vander", "float64"): "NumPy's is of one vector",
    ("linalg.vander", "complex128"): "NumPy's is of one vector",
    ("lerp", "complex128"): "how far it goes is a real number",
    ("sort", "float64"): "NumPy refuses to sort a number; PyTorch gives it",
    ("logaddexp", "complex128"): "NumPy's is of real numbers; no rule is stated for others",
    ("sigmoid", "complex128"): "SciPy's is of real numbers",
}
"""By function and dtype, why samples differ."""
OPS = {key(op): op for op in ops()}
CASES = [
    (name, dtype)
    for name, op in OPS.items()
    for dtype in DTYPES
    if getattr(torch, dtype) in op.supported_dtypes("cpu")
]


def differing(name, dtype, most=None):
    """Check the samples of a function, and list what differs."""
    op, dtype = OPS[name], getattr(torch, dtype)
    found = []
    for n, call in enumerate(calls(op, dtype)):
        if n == most:
            break
        checks = asked(op, dtype) if call.xs else ["value"]
        said = {check: compared(call, check) for check in checks}
        found += [f"{check} of sample {n}: {text}" for check, text in said.items() if text]
    return found


@pytest.mark.parametrize("name, dtype", CASES[::6])
def test_some_samples(name, dtype):
    found = differing(name, dtype, 2)
    assert not found or (name, dtype) in DIFFERENT, "\n".join(found[:5])


@pytest.mark.slow
@pytest.mark.parametrize("name, dtype", CASES)
def test_every_sample(name, dtype):
    found = differing(name, dtype)
    assert bool(found) == ((name, dtype) in DIFFERENT), "\n".join(found[:5])


def test_products_and_sums_of_a_number_without_axes():
    """NumPy's of a number has one axis; PyTorch's has none."""
    numbers = [("cumprod", "float64"), ("cumsum", "float64")]
    assert [text for case in numbers for text in differing(*case)] == []


def test_the_table_names_functions_that_there_are():
    assert DIFFERENT.keys() <= set(CASES)
