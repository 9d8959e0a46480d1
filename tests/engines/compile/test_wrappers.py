"""What NumPy's functions in Python call stands in their place, with their bits."""

from builtins import compile as compile_

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py.extend import flatten
from chainrules_tape import value_and_grad

RNG = np.random.default_rng(5)
X = RNG.standard_normal((17, 5)) * 10.0 ** RNG.integers(-3, 4, (17, 5))
W = RNG.standard_normal(5)
REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
}
FORMS = {
    "all": {},
    "rows": {"axis": 1},
    "columns": {"axis": 0},
    "from the end": {"axis": -1},
    "both": {"axis": (0, 1)},
    "kept": {"axis": 1, "keepdims": True},
    "all kept": {"keepdims": True},
}
LAYOUTS = {
    "c": lambda x: x,
    "fortran": lambda x: np.asfortranarray(x),
    "gaps": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "single": lambda x: x.astype(np.float32),
}


def agrees(f, *args):
    """Compile a function, compare bits in two calls, and return the source."""
    expected = flatten(f(*args))[0]
    compiled = compile(f)
    for _ in range(2):
        for x, y in zip(flatten(compiled(*args))[0], expected, strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
            assert np.asarray(x).dtype == np.asarray(y).dtype
    assert compiled.programs
    return compiled.source


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_has_its_bits_as_written_by_its_calls(name, layout):
    f = REDUCTIONS[name]

    def reduced(w, x):
        given = [f(x, **form) for form in FORMS.values()]
        return sum([np.sum(f(w * x, **form)) for form in FORMS.values()]), given

    def plain(w, x):
        return reduced(w, x), getattr(x, name)(axis=0), getattr(w * x, name)()

    x = LAYOUTS[layout](X)
    agrees(value_and_grad(reduced, has_aux=True), W.astype(x.dtype), x)
    source = agrees(plain, W.astype(x.dtype), x)
    assert layout != "c" or f" {name}(x" not in source


def test_degrees_of_freedom_are_taken_off_and_weights_are_left_to_numpy():
    source = agrees(lambda x: (np.var(x, ddof=1), np.std(x, axis=0, ddof=2), x.var(0)), X)
    assert "var(" not in source
    assert "std(" not in source
    agrees(lambda x: np.sum(x, axis=0, initial=2.0) + np.mean(x, axis=0, dtype=np.float32), X)
    agrees(lambda x, m: np.mean(x, where=m), X, X > 0)
    agrees(lambda m: np.mean(m, axis=0) + np.var(m, axis=0), X > 0)


def test_a_layer_that_subtracts_the_mean_makes_it_once():
    def normed(x):
        return (x - np.mean(x, axis=-1, keepdims=True)) / np.sqrt(np.var(x, axis=-1, keepdims=True))

    source = agrees(normed, X)
    assert source.count("subtract(x") == 1


def test_norms_along_an_axis_are_roots_of_sums():
    def loss(x):
        return np.sum(x / np.linalg.norm(x, axis=1, keepdims=True)) + np.sum(
            np.linalg.norm(x, axis=0)
        )

    source = agrees(value_and_grad(loss), X)
    assert "norm" not in source
    agrees(value_and_grad(lambda x: np.linalg.norm(x) + np.linalg.norm(x, 2)), X)
    agrees(lambda x: (np.linalg.norm(x, axis=1), np.linalg.norm(x, 1, axis=1)), X)


@pytest.mark.parametrize("given", [X, X[0].copy(), X[:, 0].copy(), X[None] * 2.0, X[:1, :1].copy()])
def test_lengths_are_roots_of_one_product_and_numbers_with_axes_are_arrays(given):
    def loss(x):
        y = x * 1.5
        return np.linalg.norm(y) + np.linalg.norm(x) * np.max(y) + np.std(x) * np.prod(y)

    for f in (value_and_grad(loss), loss):
        source = agrees(f, given)
        assert "norm" not in source
        assert "expand_dims" not in source
    agrees(value_and_grad(lambda x: np.linalg.norm(x * 0.0)), given)
    agrees(lambda x: (np.linalg.norm(x.T), np.linalg.norm(x, keepdims=True)), given)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_differences_of_neighbours_are_those_of_two_views(axis):
    source = agrees(value_and_grad(lambda x: np.sum(np.diff(x, axis=axis) ** 2)), X)
    assert "diff(" not in source
    agrees(lambda x: (np.diff(x.T, axis=axis), np.diff(x, n=2, axis=axis), np.diff(x[:2, :2])), X)
    agrees(lambda x: np.diff(x, axis=axis, prepend=0.0), X)


def test_numbers_and_rows_are_stacked_by_one_call():
    def turned(q, b):
        c, s = np.cos(q[0]), np.sin(q[1])
        r = np.stack([np.stack([c, -s, 0.5]), np.stack([s, c, q[1] * q[0]])])
        return np.sum((b @ r.T) ** 2) + np.sum(np.stack([b[:, 0], b[:, 1] * q[0]]) ** 2)

    source = agrees(value_and_grad(turned), W[:2].copy(), X[:, :3].copy())
    assert "stack(" not in source
    for axis in (1, -1):
        rows = lambda x, axis=axis: np.stack([np.cos(x[0]), x[1], x[2] * 2.0], axis=axis)
        assert "stack" not in agrees(value_and_grad(lambda x: np.sum((rows(x) @ x[:3]) ** 3)), X)  # noqa: B023
        assert "stack" not in agrees(lambda x: (rows(x), rows(x).T @ x[:, :3]), X[:5].copy())  # noqa: B023
        agrees(lambda x: np.stack([x, x * 2.0], axis=axis) @ x[:2, :2], X[:, :2].copy())  # noqa: B023
    agrees(lambda x: np.stack([x.T, x.T * 2]) @ x, X[:5].copy())


def test_padding_with_zeros_writes_into_zeros():
    def loss(x):
        given = np.pad(x, 1), np.pad(x, ((0, 2), (1, 0))), np.pad(x.T, 1), np.pad(x, 0)
        return (
            np.sum(given[0] ** 3)
            + np.sum(given[1] * given[1])
            + sum([np.sum(np.sin(y)) for y in given])
            + np.sum(np.pad(x, 1, constant_values=0.5) ** 2)
        )

    source = agrees(value_and_grad(loss), X)
    assert source.count("pad_numpy") <= 2  # of a transposed one, and with another number


def test_slopes_of_norms_ask_for_no_zeros_where_something_is_added_to_squares():
    """Sums of squares, and roots of them, are at least what was added."""

    def potential(x):
        d = x[:, None, :] - x[None, :, :]
        r = np.sqrt(np.sum(d**2, axis=2) + 1e-3)
        return np.sum(1.0 / r) + np.sum(np.log1p(r) / (1.0 + r)) + np.sum((r * r) ** 1.5)

    source = agrees(value_and_grad(potential), X)
    assert "count_nonzero" not in source
    assert "pow_numpy" not in source
    agrees(value_and_grad(lambda x: np.sum((x**2 - 1.0) ** 1.5)), np.abs(X) + 1.0)


def test_a_negation_is_not_kept_for_the_zeros_beside_it():
    f = lambda x: np.sum((2.0 * x[1:-1] - np.sin(x)[1:-1]) ** 2)
    source = agrees(value_and_grad(lambda x: f(x * 1.5)), X[:, 0].copy())
    assert "negative" not in source


def test_products_of_vectors_that_were_captured():
    h, m = W.copy(), X[:5].copy()

    def innovation(p):
        s = h @ (p @ m) @ h + 1.0
        k = (p @ m) @ h / s
        return np.log(s) + np.sum(k * (h @ p)) + (h @ k) ** 2

    source = agrees(value_and_grad(innovation), X[:5] @ X[:5].T)
    assert "matmul_right_numpy" not in source


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize(
    "shape", [(1,), (7,), (600,), (5, 4), (40, 40), (300, 3), (2, 3, 4), (3, 90, 90)]
)
def test_rolls_have_their_bits_by_places_and_by_parts(shape, axis):
    if axis is not None and axis >= len(shape):
        return
    for shift in (1, -1, 3, 1000):
        for dtype in (np.float64, np.float32, np.int64):
            x = (9 * RNG.standard_normal(shape)).astype(dtype)
            source = agrees(lambda x, n=shift: np.roll(x, n, axis), x)
            if len(shape) == 1:
                assert ("places" in source) == (shape[0] < 512)
            if len(shape) == 1 and dtype is np.float64:
                agrees(value_and_grad(lambda x, n=shift: np.sum(np.roll(x, shift=n) * x)), x)


def test_rolls_by_places_are_kept_in_saved_modules(tmp_path):
    f = compile(value_and_grad(lambda x: np.sum(np.roll(x, 1) * np.sin(np.roll(x, -2)))))
    x = RNG.standard_normal(30)
    value, slope = f(x)
    f.save(tmp_path / "rolled_kept.py")
    scope: dict[str, object] = {"__name__": "rolled_kept"}
    exec(compile_((tmp_path / "rolled_kept.py").read_text(), "rolled_kept", "exec"), scope)
    found = scope[f.__name__](x)
    assert found[0] == value
    assert found[1].tobytes() == slope.tobytes()
