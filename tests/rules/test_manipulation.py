"""Rearranging, as users of NumPy write it."""

import numpy as np
import pytest

from chainrules_py import NoTangent, TracerError, UnsupportedKeywordError, ZeroTangent, frule, rrule
from chainrules_py import ops as v
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_tape import grad, jvp, vjp

rng = np.random.default_rng(2)
BOX = rng.standard_normal((2, 3, 4))
FLAT = rng.standard_normal((3, 4))
LINE = rng.standard_normal(5)
THIN = rng.standard_normal((1, 3, 1))

CALLS = {
    "reshape": (lambda x: np.reshape(x, (4, 6)), BOX),
    "reshape -1": (lambda x: np.reshape(x, -1), BOX),
    "reshape list": (lambda x: np.reshape(x, [3, -1]), BOX),
    "reshape shape=": (lambda x: np.reshape(x, shape=(3, 8)), BOX),
    "reshape F": (lambda x: np.reshape(x, (4, 6), order="F"), BOX),
    "reshape F -1": (lambda x: np.reshape(x, (-1, 6), "F"), BOX),
    "x.reshape several": (lambda x: x.reshape(3, -1), BOX),
    "x.reshape tuple": (lambda x: x.reshape((3, 8)), BOX),
    "x.reshape one": (lambda x: x.reshape(-1), BOX),
    "x.reshape F": (lambda x: x.reshape(4, 6, order="F"), BOX),
    "ravel": (np.ravel, FLAT),
    "ravel F": (lambda x: np.ravel(x, order="F"), FLAT),
    "x.ravel": (lambda x: x.ravel(), FLAT),
    "x.flatten": (lambda x: x.flatten("F"), FLAT),
    "transpose": (np.transpose, BOX),
    "transpose axes": (lambda x: np.transpose(x, (1, 2, 0)), BOX),
    "transpose negative": (lambda x: np.transpose(x, axes=[-1, 0, -2]), BOX),
    "x.T": (lambda x: x.T, BOX),
    "x.mT": (lambda x: x.mT, BOX),
    "x.transpose()": (lambda x: x.transpose(), BOX),
    "x.transpose several": (lambda x: x.transpose(2, 0, 1), BOX),
    "x.transpose tuple": (lambda x: x.transpose((2, 0, 1)), BOX),
    "matrix_transpose": (np.matrix_transpose, BOX),
    "permute_dims": (lambda x: np.permute_dims(x, (2, 0, 1)), BOX),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), BOX),
    "x.swapaxes": (lambda x: x.swapaxes(-2, 0), BOX),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), BOX),
    "moveaxis several": (lambda x: np.moveaxis(x, (0, 1), (-1, 0)), BOX),
    "rollaxis": (lambda x: np.rollaxis(x, 2, 1), BOX),
    "expand_dims": (lambda x: np.expand_dims(x, 1), FLAT),
    "expand_dims tuple": (lambda x: np.expand_dims(x, axis=(0, -1)), FLAT),
    "squeeze": (np.squeeze, THIN),
    "squeeze axis": (lambda x: np.squeeze(x, axis=-1), THIN),
    "x.squeeze": (lambda x: x.squeeze((0, 2)), THIN),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 4)), FLAT),
    "broadcast_to stretched": (lambda x: np.broadcast_to(x, (2, 3, 5)), THIN),
    "broadcast_to large": (lambda x: np.broadcast_to(x, (1001, 5)), LINE),
    "broadcast_to int": (lambda x: np.broadcast_to(x, 4), np.array(1.5)),
    "broadcast_arrays": (lambda x: np.broadcast_arrays(x, np.ones((2, 1, 1)))[0], FLAT),
    "atleast_1d": (np.atleast_1d, np.array(1.5)),
    "atleast_2d": (np.atleast_2d, LINE),
    "atleast_3d": (np.atleast_3d, FLAT),
    "flip": (np.flip, BOX),
    "flip axis": (lambda x: np.flip(x, axis=(0, -1)), BOX),
    "fliplr": (np.fliplr, FLAT),
    "flipud": (np.flipud, FLAT),
    "roll": (lambda x: np.roll(x, 2), FLAT),
    "roll axis": (lambda x: np.roll(x, -1, axis=1), FLAT),
    "roll several": (lambda x: np.roll(x, (1, 2), axis=(0, 1)), FLAT),
    "tile": (lambda x: np.tile(x, 2), FLAT),
    "tile more axes": (lambda x: np.tile(x, (2, 1, 3)), FLAT),
    "repeat": (lambda x: np.repeat(x, 2), FLAT),
    "repeat axis": (lambda x: np.repeat(x, 3, axis=-1), FLAT),
    "repeat several": (lambda x: np.repeat(x, [2, 0, 1], axis=0), FLAT),
    "x.repeat": (lambda x: x.repeat(2, axis=0), FLAT),
    "astype": (lambda x: x.astype(np.float64), FLAT),
    "np.astype": (lambda x: np.astype(x, float), FLAT),
    "copy": (np.copy, FLAT),
    "x.copy": (lambda x: x.copy(), FLAT),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(agree, name):
    f, x = CALLS[name]
    agree(f, x)
    if "astype" not in name:
        agree(f, x + 1j * x[..., ::-1] if x.ndim else x + 1j)


COMPLEX = FLAT + 1j * FLAT[::-1]


@pytest.mark.parametrize(
    "f", [lambda x: x.real, lambda x: x.imag, lambda x: x.conj(), lambda x: x.conjugate()]
)
def test_complex_members(agree, f):
    agree(f, COMPLEX)
    agree(f, FLAT)


def test_conversions():
    x = FLAT.astype(np.float32)
    y, pullback = vjp(lambda x: x.astype("f8"), x)
    assert (y.dtype, pullback(y)[0].dtype) == (np.float64, np.float32)
    y, pullback = vjp(lambda x: x.astype(complex), FLAT)
    assert pullback(y * 1j)[0].dtype == np.float64
    np.testing.assert_array_equal(pullback(y * (1 + 1j))[0], FLAT)
    np.testing.assert_array_equal(
        grad(lambda x: np.sum(x.astype(int)) * 1.0)(FLAT), np.zeros((3, 4))
    )
    assert frule((FLAT,), v.astype, FLAT, dtype=np.bool_)[1] is NoTangent()
    assert rrule(v.astype, FLAT, dtype=np.int64)[1](np.ones((3, 4)))[0] is ZeroTangent()


def test_numbers_of_python_become_numpys():
    assert grad(lambda x: np.sum(np.reshape(x, (1, 1)) * 3.0))(2.0) == 3.0
    assert grad(lambda x: np.sum(np.broadcast_to(x, (2, 2))))(2.0) == 4.0
    assert jvp(lambda x: np.broadcast_to(x, (2,)) + np.ones(2), (2.0,), (1.0,))[1].tolist() == [
        1.0,
        1.0,
    ]


def test_numpy_scalars_have_methods():
    assert grad(lambda x: x.sum() * x.reshape(1)[0])(np.float64(3.0)) == 6.0


def test_what_is_made_like_a_tracer_can_be_written_to():
    with pytest.raises((ValueError, TracerError)):
        grad(lambda x: np.zeros(3).__setitem__(0, x[0, 0]))(FLAT)
    gradient = grad(lambda x: fill(x, np.zeros(4, like=x)))(FLAT)
    np.testing.assert_array_equal(gradient, [[2.0] * 4, [0.0] * 4, [0.0] * 4])


def fill(x, buffer):
    for i in range(4):
        buffer[i] = 2.0 * x[0, i]
    return np.sum(buffer)


def test_full_like_passes_the_derivative_of_the_value():
    gradient = grad(lambda x: np.sum(np.full_like(x, x[1], shape=(2, 3))))(LINE)
    np.testing.assert_array_equal(gradient, [0, 6, 0, 0, 0])


def test_what_is_read_off_is_plain():
    def f(x):
        assert np.shape(x) == (3, 4)
        assert np.ndim(x) == 2
        assert np.size(x) == 12
        assert np.size(x, 0) == 3
        assert len(np.nonzero(x)) == 2
        return np.sum(x)

    grad(f)(FLAT)


def test_unsupported():
    with pytest.raises(ValueError, match="'K' is not permitted"):  # as in NumPy
        grad(lambda x: np.sum(np.reshape(x, -1, order="K")))(FLAT)
    for reshaped in (
        lambda x: np.reshape(x, -1, copy=False),
        lambda x: x.reshape(-1, copy=False),
    ):
        with pytest.raises(UnsupportedKeywordError, match="copy"):
            grad(lambda x, f=reshaped: np.sum(f(x)))(FLAT)
    for escape in (lambda x: x.item(), lambda x: x.tolist(), lambda x: x.flat):
        with pytest.raises(TracerError):
            grad(escape)(LINE)


def test_a_copy_is_a_copy():
    x = LINE.copy()
    y, _ = vjp(lambda x: x.copy(), x)
    y[0] = 99.0
    assert x[0] == LINE[0]


def test_calls_that_only_rename_are_read_once():
    """What is the same at every call is found once; a keyword that has more to it is not read."""
    swap, join = aliases[np.swapaxes], aliases[np.hstack]
    assert [row[:2] for row in swap.rows(3, ())] == [("x", 0), ("axis1", 1), ("axis2", 2)]
    assert [row[1] for row in swap.rows(1, ("axis2", "axis1"))] == [0, "axis2", "axis1"]
    assert [row[0] for row in join.rows(1, ())] == ["arrays"]
    assert join.rows(1, ("dtype",)) is None
    assert aliases[np.pad].rows(1, ("pad_width", "nonsense")) is None
