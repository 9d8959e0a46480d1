"""Functions of which nothing is known: what they give is asked anew at each call.

Whether a result is complex, how long it is, whether it is there at all, how it lies and whether it
is the argument itself may hang on numbers. What is known to keep its form is not asked: this is
held for each operation here, by its samples at other numbers.
"""

from __future__ import annotations

import itertools
import random
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.recorded_types import is_settled
from chainrules_compile.result_checks import close
from chainrules_py import ops as v
from chainrules_py import primitive
from chainrules_py.extend import flatten
from chainrules_py.testing import backends
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.sample_runs import operations_of, two_samples
from chainrules_tape import grad, jvp, value_and_grad
from tests.engines.compile.shadow import same
from tests.engines.compile.test_forms import numbers_like

NUMPY = next(backend for backend in backends() if backend.library == "numpy")
OPERATIONS = operations_of()


def form(x):
    return type(x), getattr(x, "shape", None), getattr(x, "dtype", None)


def forms(f, operands, options):
    """Return the forms of what an operation gives; None where it raises for these numbers."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return list(map(form, flatten(f(*operands, **options))[0]))
    except Exception:
        return None


def check_operation(operation, found):
    if not is_settled(operation):
        return
    for instance in found:
        operands, options = instance.build(NUMPY)
        moving = lambda x: type(x) is np.ndarray and x.dtype.kind in "fc"
        others = [list(map(np.asarray, numbers_like(x))) if moving(x) else [x] for x in operands]
        n = max(map(len, others), default=0)
        drawn = [instance.build(NUMPY, seed)[0] for seed in (1, 2)]
        cycled = [list(itertools.islice(itertools.cycle(each), n)) for each in others]
        wanted = forms(operation, operands, options)
        for xs in [*zip(*cycled, strict=True), *drawn]:
            got = forms(operation, xs, options)
            assert None in (got, wanted) or got == wanted, f"{instance.name}: {got}, {wanted}"


@pytest.mark.parametrize("operation", OPERATIONS[3::12], ids=lambda operation: operation.__name__)
def test_operations_that_are_not_asked_keep_their_form(operation):
    check_operation(operation, two_samples(list(instances(operation))))


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_all_operations_that_are_not_asked_keep_their_form(operation):
    check_operation(operation, instances(operation))


def is_below(x):
    return float(np.min(np.real(x))) < 0  # which no program can ask


@primitive
def with_root(x):
    return np.sqrt(x.astype(complex)) if is_below(x) else np.sqrt(x)


@primitive
def as_single(x):
    return x.astype(np.float32) if is_below(x) else x * 2


@primitive
def first_ones(x):
    return x[: 1 if is_below(x) else 2] * 1.0


@primitive
def or_none(x):
    return x * 2, None if is_below(x) else x * 3


@primitive
def one_or_two(x):
    return (x * 2,) if is_below(x) else (x * 2, x * 3)


@primitive
def turned(x):
    return np.asfortranarray(x * 2) if is_below(x) else x * 2


@primitive
def itself(x):
    return np.abs(x) if is_below(x) else x


@primitive
def a_number(x):
    return np.sum(x) if is_below(x) else np.asarray(np.sum(x))


@primitive
def masked(x):
    return np.ma.masked_less(x, 0) if is_below(x) else x * 1.0


FOREIGN = {
    "complex": lambda x: np.sum(np.abs(with_root(x))) + np.iscomplexobj(with_root(x)),
    "single": lambda x: np.sum(as_single(x)) * as_single(x).dtype.itemsize,
    "shape": lambda x: np.sum(first_ones(x)) + len(first_ones(x)),
    "none": lambda x: np.sum(or_none(x)[0]) + (or_none(x)[1] is None),
    "number of results": lambda x: np.sum(one_or_two(x)[0]) + len(one_or_two(x)),
    "layout": lambda x: np.sum(np.ravel(turned(x), "K") * np.arange(1.0, 5.0)),
    "itself": lambda x: np.sum(np.sin(itself(x)) * 2.0),
    "itself, given": lambda x: itself(x),
    "itself, written to": lambda x: _written(itself(x + 0.0)),
    "class": lambda x: np.sum(x) + isinstance(a_number(x), np.ndarray),
    "masked": lambda x: np.sum(np.sin(masked(x))),
}


def _written(y):
    y[0] = 5.0
    return np.sum(y)


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", FOREIGN)
def test_what_people_s_operations_give_is_asked_anew(name, target):
    f, good = FOREIGN[name], np.array([[1.0, 2.0], [3.0, 4.0]])
    for xs in itertools.permutations((good, -good, good * 2)):
        compiled = compile(f, target=target)
        for x in (*xs, *xs):
            given = x.copy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                have = compiled(given)
                assert close(have, f(x.copy())), name
            assert same(given, x)
            assert have is not given


SQUARE = np.array([[2.0, 0.5], [0.5, 1.0]])
OTHERS = (np.array([[-2.0, 0.3], [0.5, 1.0]]), np.array([[0.0, -1.0], [1.0, 0.5]]), 3 * SQUARE)
OF_ROOTS = {
    "norm": lambda y, a: np.linalg.norm(y),
    "vdot": lambda y, a: np.vdot(y, y).real,
    "product": lambda y, a: np.sum(np.abs(y @ a)),
    "adjoint": lambda y, a: np.sum((y.conj().T @ y).real),
    "kind": lambda y, a: np.iscomplexobj(y) * np.sum(a),
}
MODES = {
    "value": lambda f: f,
    "gradient": grad,
    "both": value_and_grad,
    "forward": lambda f: lambda x: jvp(f, (x,), (np.ones_like(x),)),
}


@pytest.mark.parametrize("options", [{}, {"target": "c"}])
@pytest.mark.parametrize("use", OF_ROOTS)
@pytest.mark.parametrize("mode", MODES)
def test_whether_a_root_of_a_matrix_is_complex_is_asked(use, mode, options):
    pytest.importorskip("chainrules_scipy")
    f = MODES[mode](lambda a: OF_ROOTS[use](v.sqrtm(a), a))
    for first in (SQUARE, *OTHERS):
        compiled = compile(f, **options)
        for x in (first, SQUARE, *OTHERS):
            have, want = compiled(x), f(x)
            for a, b in zip(flatten(have)[0], flatten(want)[0], strict=True):
                assert np.asarray(a).dtype == np.asarray(b).dtype
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


BY_NUMPY = {  # with results that no floating-point vector holds
    "places": lambda s, p, d: value_and_grad(lambda p: p * np.sum(d[s.signal.find_peaks(d)[0]]))(p),
    "bases": lambda s, p, d: s.signal.peak_prominences(d, [2]),
    "counts": lambda s, p, d: s.stats.mode(d),
    "positions": lambda s, p, d: s.ndimage.extrema(p * d),
    "number": lambda s, p, d: s.by_numpy(lambda d: (np.max(d), np.argmax(d), d > 2))(d),
    "branch": lambda s, p, d: p if s.by_numpy(lambda d: float(d[1]) > 2)(d) else -p,
    "text": lambda s, p, d: s.by_numpy(lambda d: (d, "big" if float(d[1]) > 2 else None))(d),
    "keys": lambda s, p, d: s.by_numpy(lambda d: {"big" if float(d[1]) > 2 else "small": d})(d),
    "shape": lambda s, p, d: s.by_numpy(lambda d: d[None] if float(d[1]) > 2 else d[:, None])(d),
    "given a number": lambda s, p, d: s.stats.trim_mean(d, p),
    "given numbers alone": lambda s, p, d: s.special.roots_sh_jacobi(3, p + 2.0, 1.5),
    "given a class": lambda s, p, d: s.stats.gmean(d + 1.0, dtype=np.float64),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", BY_NUMPY)
def test_what_is_no_floating_number_is_compared_at_each_call(name, target):
    scipy = pytest.importorskip("chainrules_scipy")
    for each in ("ndimage", "signal", "special", "stats"):
        pytest.importorskip(f"chainrules_scipy.{each}")
    f = lambda p, d: BY_NUMPY[name](scipy, p, d)
    compiled = compile(f, target=target, strict=True)
    given = np.array([[0.0, 5.0, 6.0, 2.0, 0.0, 0.0], [2.0, 1.0, 4.0, 1.0, 5.0, 3.0]])
    for p, d in ((0.1, given[0]), (0.3, given[1]), (0.3, given[0]), (0.1, given[1])):
        assert same(compiled(p, d), f(p, d))
    assert 1 <= len(compiled.programs) <= 2


def test_what_another_library_computes_in_one_form_is_not_asked():
    """A question keeps what it asks of from being left out, as the value in a gradient."""
    for operation in (v.expm, v.solve_sylvester, v.lu_factor, v.cholesky, v.matmul, v.gammaln):
        assert is_settled(operation)
    for operation in (v.sqrtm, v.logm, v.eig, v.eigvals, v.roots, with_root):
        assert not is_settled(operation)


DEFINITE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])


@pytest.mark.parametrize("mode", MODES)
def test_a_library_that_draws_within_an_operation_runs_as_it_is(mode):
    """SciPy estimates a norm by random columns where it takes the logarithm of a matrix."""
    scipy_linalg = pytest.importorskip("chainrules_scipy.linalg")
    f = MODES[mode](lambda a: np.sum(scipy_linalg.logm(a)))
    f(DEFINITE)  # which may import
    compiled = compile(f)
    compiled(DEFINITE)
    with pytest.warns(RecordingWarning, match="each call changes the state of np.random"):
        found = flatten(compiled(DEFINITE))[0]
    for x, y in zip(found, flatten(f(DEFINITE))[0], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def test_what_a_library_draws_elsewhere_is_no_error():
    linalg = pytest.importorskip("scipy.linalg")
    f = lambda x: np.sum(x) * np.sum(linalg.logm(DEFINITE))
    f(np.ones(2))
    compiled = compile(f)
    compiled(np.ones(2))
    with pytest.warns(RecordingWarning, match="each call changes the state of np.random"):
        np.testing.assert_allclose(compiled(np.ones(2)), f(np.ones(2)))


@pytest.mark.parametrize("source", [random, np.random])
def test_a_seed_that_a_function_sets_is_set_at_each_call(source):
    """The call that is recorded found the state that the one before it had left."""

    def f(x):
        source.seed(0)
        return x * source.random()

    compiled = compile(f)
    assert compiled(2.0) == f(2.0)
    with pytest.warns(RecordingWarning, match="each call changes the state of"):
        compiled(2.0)
    source.seed(5)
    compiled(2.0)
    left = source.random()
    f(2.0)
    assert source.random() == left


class Own(np.ndarray):
    pass


ODD = {
    "masked": lambda: np.ma.masked_array([1.0, 2.0], [0, 1]),
    "matrix": lambda: np.asmatrix(np.ones((1, 2))),
    "own": lambda: np.ones(2).view(Own),
    "structured": lambda: np.zeros(2, [("a", float)]),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", ODD)
def test_one_array_of_another_class_ends_nothing(name):
    f = lambda x: np.sum(x["a"] if x.dtype.names else np.sin(np.sin(x)))
    compiled, odd = compile(f), ODD[name]()
    compiled(np.ones(3))
    with pytest.warns(RecordingWarning, match="runs as it is in this call"):
        np.testing.assert_equal(compiled(odd), f(odd))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        for _ in range(40):  # of which people were told
            np.testing.assert_equal(compiled(odd), f(odd))
        compiled(np.ones(4))
    assert len(compiled.programs) == 2


@pytest.mark.parametrize("use", [lambda y: np.sum(np.log(np.diag(y))), np.sum])
def test_a_first_call_at_what_has_no_factor_ends_nothing(use):
    f = value_and_grad(lambda a: use(np.linalg.cholesky(a)))
    for at in ((0, 0), (1, 0), (2, 2)):
        bad = DEFINITE.copy()
        bad[at] = np.nan
        compiled = compile(f, target="c")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", RecordingWarning)
            assert close(compiled(bad), f(bad))
            assert close(compiled(DEFINITE), f(DEFINITE))
        assert compiled.programs


def test_calls_that_gave_no_program_are_told_of_as_such():
    f = value_and_grad(lambda a: np.sum(np.log(np.diag(np.linalg.cholesky(a)))))
    compiled = compile(f, target="c")
    with np.errstate(all="ignore"):
        for _ in range(32):
            compiled(np.full((2, 2), np.nan))
        with pytest.warns(RecordingWarning, match="32 calls that gave none"):
            compiled(np.full((2, 2), np.nan))
