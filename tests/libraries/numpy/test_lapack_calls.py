"""LAPACK's functions called without NumPy's wrappers: bits, classes, errors are NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_numpy import lapack_calls
from chainrules_numpy._private import lapack
from chainrules_py import ops as v
from chainrules_tape import value_and_grad

WAYS = {
    "solve": (v.solve, np.linalg.solve),
    "solve many": (v.solve, np.linalg.solve),
    "inv": (v.inv, np.linalg.inv),
    "det": (v.det, np.linalg.det),
    "slogdet": (v.slogdet, np.linalg.slogdet),
    "cholesky": (v.cholesky, np.linalg.cholesky),
    "upper": (
        lambda x: v.cholesky(x, upper=True),
        lambda x: np.linalg.cholesky(x, upper=True),
    ),
}


def matrices(n, dtype):
    draw = np.random.default_rng(n)
    a = draw.normal(size=(n, n)).astype(dtype)
    a = a @ a.T + np.eye(n).astype(dtype)
    yield a
    yield np.asfortranarray(a)
    yield np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::-2][:, ::-1]
    yield np.stack([a, 2 * a])
    yield a.astype(a.dtype.newbyteorder())


def operands(name, a):
    draw = np.random.default_rng(0)
    if name.startswith("solve"):
        shape = (*a.shape[:-1], 3) if name == "solve many" or a.ndim > 2 else a.shape[:1]
        return a, draw.normal(size=shape).astype(a.dtype)
    return (a,)


def same(x, y):
    if isinstance(y, tuple):
        return type(x) is type(y) and all(map(same, x, y))
    parts = [(type(z), z.dtype, z.shape, z.strides, np.asarray(z).tobytes()) for z in (x, y)]
    return parts[0] == parts[1]


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<c16"])
def test_bits_and_classes_are_numpys(name, dtype):
    ours, theirs = WAYS[name]
    for n in (1, 2, 3, 5, 8, 20, 50, 65):
        for a in matrices(n, dtype):
            given = operands(name, a)
            kept = [x.copy() for x in given]
            with np.errstate(all="ignore"):
                assert same(ours(*given), theirs(*given)), (n, a.shape)
            assert all([x.tobytes() == y.tobytes() for x, y in zip(given, kept, strict=True)])


@pytest.mark.parametrize("name", WAYS)
def test_errors_are_numpys_and_leave_its_settings(name):
    ours, theirs = WAYS[name]
    bad = (
        np.zeros((3, 3)), -np.eye(2), np.full((2, 2), np.nan), np.full((2, 2), np.inf),
        np.zeros((2, 3)), np.zeros(3), np.zeros((0, 0)), np.eye(2) * 1e-320, np.eye(3) * 1e300,
    )  # fmt: skip
    for a in bad:
        given = (a, np.ones(len(a))) if name.startswith("solve") else (a,)
        for state in ("ignore", "warn", "raise"):
            with np.errstate(all=state), warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                before, found = np.geterr(), []
                for f in (theirs, ours):
                    said.clear()
                    try:
                        y = f(*given)
                    except Exception as error:
                        y = f"{type(error).__name__}: {error}"
                    found.append((y, [str(each.message) for each in said]))
                assert np.geterr() == before
            (wanted, spoken), (got, heard) = found
            assert heard == spoken, (a, state)
            assert got == wanted if isinstance(wanted, str) else same(got, wanted), (a, state)


def test_another_right_side_than_the_matrix_wants_is_numpys_business():
    a = np.eye(3) + 0.1
    for b in (np.ones(2), np.ones((2, 3)), np.ones((4, 3, 2)), np.float64(1.0), np.ones(3, "f4")):
        try:
            wanted = np.linalg.solve(a, b)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)[:10]):
                v.solve(a, b)
            continue
        assert same(v.solve(a, b), wanted)


def test_what_people_get_has_numpys_classes():
    a = np.eye(3) + 0.1
    f = lambda a: np.linalg.slogdet(a)
    compiled = compile(f)
    for _ in range(2):
        assert same(compiled(a), np.linalg.slogdet(a))
    g = value_and_grad(lambda a: np.linalg.slogdet(a).logabsdet)
    assert same(g(a)[0], np.linalg.slogdet(a)[1])


def test_saved_modules_have_numpys_names(tmp_path):
    f = compile(value_and_grad(lambda a, b: np.sum(np.linalg.solve(a, b)), 1))
    f(np.eye(3) + 0.1, np.ones(3))
    f.save(tmp_path / "module.py")
    text = (tmp_path / "module.py").read_text()
    assert "= numpy.linalg.solve\n" in text
    assert "_umath_linalg" not in text


@pytest.mark.parametrize("name", WAYS)
def test_a_numpy_with_other_parts_is_called_by_its_names(name, monkeypatch):
    monkeypatch.setattr(lapack_calls, "_LAPACK", None)
    ours, theirs = WAYS[name]
    given = operands(name, next(matrices(3, "<f8")))
    assert same(ours(*given), theirs(*given))


def test_parts_that_a_numpy_lacks_are_none(monkeypatch):
    monkeypatch.delattr("numpy._core.umath._make_extobj")
    assert lapack() is None
