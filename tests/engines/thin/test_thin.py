"""The thin adapters to MyGrad, PyTensor and tinygrad: each does what its engine can."""

import importlib
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from chainrules_py import (
    NoRuleError,
    NotDifferentiableError,
    TracerError,
    export,
    primitive,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.errors import ContractError
from chainrules_tape import grad
from tests.engines.battery import CONSTANT, ONE_MODE, points, softplus

X = np.array([0.3, -0.7, 1.2])
A = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.0, 0.3, 1.1]])
S = np.exp(X) / (1 + np.exp(X))  # the slope of softplus

# Functions of functions are none of arrays alone, and complex numbers are not taken by these.
REAL = points(complex=False)
FUNCTIONS = ("root", "fixed_point", "linear_solve", "odeint", "map", "reduce")
PLAIN = [p for p in REAL if p.entry.name not in FUNCTIONS]


def wanted(point):
    """The gradient in all that moves, and a loss for it: the tape's, which is tested elsewhere."""
    places = tuple(range(len(point.xs)))
    total = lambda y: y if np.ndim(y) == 0 else v.sum(y)
    return grad(lambda *xs: total(point.call(point.entry.f, *xs)), places)(*point.xs)


def gives_one(point):
    y = point.call(point.entry.f, *point.xs)
    return not (isinstance(y, tuple) or np.iscomplexobj(y))


ONE = [p for p in PLAIN if gives_one(p)]


def looking_at(w):
    """Functions that look up w: one with a rule, and the operation itself."""
    f = primitive(lambda x: v.sin(x) * w[0])
    scalar_rule(f, lambda _y, x: v.cos(x) * w[0])
    return f


class TestMyGrad:
    @pytest.fixture(autouse=True)
    def library(self):
        self.mygrad = pytest.importorskip("mygrad")
        self.adapter = pytest.importorskip("chainrules_engines.mygrad")

    @pytest.mark.parametrize("point", ONE, ids=lambda p: p.name)
    def test_battery(self, point):
        xs = [self.mygrad.tensor(x) for x in point.xs]
        y = point.call(self.adapter.export(point.entry.f), *xs)
        assert np.array_equal(y.data, point.call(point.entry.f, *point.xs))
        self.mygrad.sum(y).backward()
        for x, bar in zip(xs, wanted(point), strict=True):
            assert np.allclose(x.grad, bar)

    def test_what_is_captured_is_refused(self):
        f = self.adapter.export(looking_at([self.mygrad.tensor(2.0)]))
        with pytest.raises(TracerError, match="depends on w"):
            f(self.mygrad.tensor(X))

    def test_captured_tensors_are_seen_by_none(self):
        root = self.adapter.export(v.root)
        a = self.mygrad.tensor(2.0)
        root(lambda x, a: x * x - a, 1.0, a).backward()
        assert a.grad == pytest.approx(0.5 / np.sqrt(2))

    def test_it_is_called_like_the_function(self):
        x = self.mygrad.tensor(A)
        (export(np.sum, to="mygrad")(x, axis=0, where=A > 0) ** 2).sum().backward()
        assert np.allclose(x.grad, 2 * np.sum(A, axis=0, where=A > 0) * (A > 0))

    def test_what_is_a_view_in_numpy_is_a_copy(self):
        x = self.mygrad.tensor(A)
        z = x * 1.0
        y = export(np.ravel, to="mygrad")(z)
        y[0] = 9.0
        z[...] = 0.5
        (y**2).sum().backward()
        slope = 2 * A
        slope[0, 0] = 0.0
        assert np.array_equal(x.grad, slope)

    def test_constants_need_no_rule(self):
        y = self.adapter.export(ONE_MODE["forward"].f)(self.mygrad.tensor(X, constant=True))
        assert y.constant
        assert np.array_equal(y.data, X * X)

    def test_what_it_cannot(self):
        x = self.mygrad.tensor(X)
        self.adapter.export(ONE_MODE["forward"].f)(x).sum().backward()
        assert np.allclose(x.grad, 2 * X)  # the engine installed transposes it
        with pytest.raises(NotDifferentiableError, match="gives one array"):
            self.adapter.export(np.linalg.slogdet)(self.mygrad.tensor(A))
        said = self.adapter.supports(softplus, X)
        assert (said.grad, said.jvp, said.order) == (True, False, 1)
        assert not self.adapter.supports(np.linalg.slogdet, A).grad
        assert not self.adapter.supports(np.abs, X + 1j).grad


@pytest.mark.filterwarnings("ignore:Numba will use object mode:UserWarning")
class TestPyTensor:
    @pytest.fixture(autouse=True)
    def library(self):
        self.pytensor = pytest.importorskip("pytensor")
        self.pt = pytest.importorskip("pytensor.tensor")
        self.adapter = pytest.importorskip("chainrules_engines.pytensor")
        with self.pytensor.config.change_flags(mode="FAST_COMPILE"):
            yield

    def variables(self, xs):
        found = [self.pt.as_tensor_variable(np.asarray(x)).type() for x in xs]
        return found, dict(zip(found, map(np.asarray, xs), strict=True))

    @pytest.mark.parametrize("point", ONE, ids=lambda p: p.name)
    def test_battery(self, point):
        xs, values = self.variables(point.xs)
        y = point.call(self.adapter.export(point.entry.f), *xs)
        total = self.pt.sum(y)
        found = [bar.eval(values) for bar in self.pytensor.grad(total, xs)]
        assert np.allclose(y.eval(values), point.call(point.entry.f, *point.xs))
        for bar, want in zip(found, wanted(point), strict=True):
            assert np.allclose(bar, want)

    def test_second_order_and_forward_mode(self):
        a, x, u = self.pt.matrix("a"), self.pt.vector("x"), self.pt.vector("u")
        values = {a: A, x: X, u: X + 1.0}
        y = self.adapter.export(v.solve)(a, x)
        (hessian,) = self.pytensor.gradient.hessian(self.pt.sum(y * y), [x])
        inverse = np.linalg.inv(A)
        assert np.allclose(hessian.eval({a: A, x: X}), 2 * inverse.T @ inverse)
        y_dot = self.pytensor.gradient.pushforward(y, [x], [u])
        assert np.allclose(y_dot.eval(values), np.linalg.solve(A, X + 1.0), atol=1e-12)

    def test_a_rule_of_ones_own_counts_at_second_order(self):
        x = self.pt.scalar("x", dtype="float64")
        f = self.adapter.export(softplus)
        slope = self.pytensor.grad(f(x), x)
        curvature = self.pytensor.grad(slope, x)
        s = 1 / (1 + np.exp(-0.3))
        assert slope.eval({x: 0.3}) == pytest.approx(s)
        assert curvature.eval({x: 0.3}) == pytest.approx(s * (1 - s))

    def test_several_results(self):
        a = self.pt.matrix("a")
        sign, logdet = self.adapter.export(np.linalg.slogdet)(a)
        assert sign.eval({a: A}) == 1.0
        assert np.allclose(self.pytensor.grad(logdet, a).eval({a: A}), np.linalg.inv(A).T)

    def test_what_it_cannot(self):
        x, z = self.pt.vector("x"), self.pt.zvector("z")
        with pytest.raises(NotDifferentiableError, match="no convention"):
            self.pytensor.grad(self.pt.sum(self.adapter.export(np.abs)(z)), z)
        f = self.adapter.export(ONE_MODE["forward"].f)
        assert np.array_equal(f(x).eval({x: X}), X * X)
        assert np.allclose(self.pytensor.grad(self.pt.sum(f(x)), x).eval({x: X}), 2 * X)
        y = self.adapter.export(ONE_MODE["reverse"].f)(x)
        y_dot = self.pytensor.gradient.pushforward(y, [x], [x])
        assert np.allclose(y_dot.eval({x: X}), 2 * X * X)  # the engine transposes it
        assert self.adapter.supports(softplus, X).jvp
        assert self.adapter.supports(v.solve, A, X).order == np.inf
        assert not self.adapter.supports(np.abs, X + 1j).grad

    @pytest.mark.parametrize("mode", ["FAST_COMPILE", "JAX"])
    def test_complex_results_of_real_types_are_refused(self, mode):
        """Sample numbers have real eigenvalues and roots; a rotation and -4 have not."""
        a, x = self.pt.matrix("a"), self.pt.vector("x")
        turn = np.array([[0.0, -1.0], [1.0, 0.0]])
        y = self.adapter.export(np.linalg.eigvals)(a)
        if y.dtype == "float64":  # NumPy 2.5 gives complex ones for all
            with pytest.raises(TracerError, match="eigvals gives complex numbers here"):
                abs(y).sum().eval({a: turn}, mode=mode)
        given = self.adapter.export(np.linalg.eigvals)(a.astype("complex128"))
        assert abs(given).sum().eval({a: turn}, mode=mode) == pytest.approx(2.0)
        if mode == "JAX":  # its np.emath.sqrt needs numbers
            return
        slope = self.pytensor.grad(self.adapter.export(np.emath.sqrt)(x).sum(), x)
        with pytest.raises(TracerError, match="as in export"):
            slope.eval({x: [-4.0]})
        size = self.adapter.export(lambda x: v.abs(np.emath.sqrt(x)))(x)
        assert self.pytensor.grad(size.sum(), x).eval({x: [-4.0]}) == pytest.approx([-0.25])

    @pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("f4")])
    def test_a_dtype_is_an_option_in_each_spelling(self, dtype):
        x = self.pt.dvector()
        y = self.adapter.export(np.sum)(x, dtype=dtype)
        assert y.eval({x: X}).dtype == np.float32
        assert np.allclose(self.pytensor.grad(y, x).eval({x: X}), np.ones_like(X))

    def test_results_broadcast(self):
        m = self.pt.matrix("m")
        y = m - self.adapter.export(np.mean)(m, axis=1, keepdims=True)
        assert np.allclose(y.eval({m: A}), A - np.mean(A, axis=1, keepdims=True))
        assert self.adapter.export(np.exp)(self.pt.col("c")).type.shape == (None, 1)
        assert self.adapter.export(np.diff)(self.pt.vector("x")).type.shape == (None,)

    @pytest.mark.parametrize(
        "f, want",
        [
            (lambda E, pt, x, m: E(np.multiply)(x, np.arange(3.0)), X * [0, 1, 2]),
            (lambda E, pt, x, m: E(lambda t: t[0] * t[2])(x), X[0] * X[2]),
            (lambda E, pt, x, m: E(np.matmul)(m, pt.specify_shape(x, (3,))), A @ X),
            (lambda E, pt, x, m: E(np.reshape)(pt.specify_shape(m, (3, 3)), (9,)), np.ravel(A)),
            (
                lambda E, pt, x, m: E(np.cross)(*[pt.specify_shape(t, (3,)) for t in (x, x[::-1])]),
                np.cross(X, X[::-1]),
            ),
        ],
    )
    def test_lengths_are_found_or_stated(self, f, want):
        x, m = self.pt.vector("x"), self.pt.matrix("m")
        y = f(self.adapter.export, self.pt, x, m)
        assert np.allclose(y.eval({x: X, m: A}, on_unused_input="ignore"), want)

    def test_lengths_that_matter_are_asked_for(self):
        x, m = self.pt.vector("x"), self.pt.matrix("m")
        with pytest.raises(TracerError, match=r"cannot reshape array .*specify_shape"):
            self.adapter.export(np.reshape)(m, (2, 3))
        ranks = lambda x: x if len(x) == 2 else v.sum(x)
        with pytest.raises(TracerError, match=r"several ranks .*specify_shape"):
            self.adapter.export(ranks)(x)
        later = self.adapter.export(lambda x: x if len(x) < 4 else v.sum(x))(x)
        with pytest.raises(TracerError, match=r"of the shape \(\), .*specify_shape"):
            later.eval({x: np.ones(5)})

    def test_what_is_compiled_is_pickled(self):
        x = self.pt.vector("x")
        y = self.adapter.export(np.linalg.norm)(x)
        f = self.pytensor.function([x], [y, self.pytensor.grad(y, x)])
        _, slope = pickle.loads(pickle.dumps(f))(X)
        assert np.allclose(slope, X / np.sqrt(np.sum(X**2)))

    def test_other_variables_are_refused(self):
        x = pytest.importorskip("pytensor.xtensor").xtensor("x", dims=("time",))
        with pytest.raises(TracerError, match=r"not XTensorVariable; pass the tensor"):
            self.adapter.export(np.exp)(x)
        assert self.adapter.export(np.exp)(x.values).type.ndim == 1

    def test_versions_that_are_too_old_are_named(self, monkeypatch):
        """PyTensor 2, which PyMC 5 takes, has no pushforward."""
        monkeypatch.delattr(self.pytensor.gradient, "pushforward")
        monkeypatch.delitem(sys.modules, "chainrules_engines.pytensor")
        with pytest.raises(ContractError, match="pip install 'pytensor>=3'; with PyMC, 'pymc>=6'"):
            importlib.import_module("chainrules_engines.pytensor")

    def test_what_is_captured_is_refused(self):
        f = self.adapter.export(looking_at([self.pt.scalar("w")]))
        with pytest.raises(TracerError, match="depends on w"):
            f(self.pt.vector("x"))

    @pytest.mark.parametrize("f", [np.transpose, np.real, np.positive])
    def test_no_result_is_a_view_of_an_operand(self, f):
        """PyTensor writes to what it believes to be in memory of its own."""
        x = self.pt.matrix("x")
        y = self.adapter.export(f)(x)
        plain = self.pytensor.function([x], y, mode="FAST_COMPILE")
        a = A.copy()
        assert not np.shares_memory(plain(a), a)
        given = self.pytensor.In(x, mutable=True)
        with self.pytensor.config.change_flags(cxx=""):
            both = self.pytensor.function([given], [self.pt.exp(y), 3.0 * x], mode="FAST_RUN")
        have = both(A.copy())
        assert np.allclose(have[0], np.exp(f(A)))
        assert np.allclose(have[1], 3.0 * A)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestPyTensorByJAX:
    """Mode "JAX": values and gradients are JAX's, of the function exported to JAX."""

    @pytest.fixture(autouse=True)
    def library(self, double):
        self.pytensor = pytest.importorskip("pytensor")
        self.pt = pytest.importorskip("pytensor.tensor")
        self.adapter = pytest.importorskip("chainrules_engines.pytensor")

    def compiled(self, inputs, outputs):
        return self.pytensor.function(inputs, outputs, mode="JAX")

    def test_value_gradient_and_hessian(self):
        a, x = self.pt.matrix("a"), self.pt.vector("x")
        y = self.adapter.export(np.linalg.solve)(a, x)
        total = self.pt.sum(y * y)
        (hessian,) = self.pytensor.gradient.hessian(total, [x])
        along = self.pytensor.gradient.pushforward(y, [x], [x + 1.0])
        given = [y, self.pytensor.grad(total, x), hessian, along]
        have = self.compiled([a, x], given)(A, X)
        inverse = np.linalg.inv(A)
        want = inverse @ X, 2 * inverse.T @ inverse @ X, 2 * inverse.T @ inverse, inverse @ (X + 1)
        for y, expected in zip(have, want, strict=True):
            assert np.allclose(y, expected)

    def test_the_rule_is_used(self):
        @primitive
        def planted(x):
            return x * 1.0

        scalar_rule(planted, lambda _y, _x: 10.0)
        x = self.pt.vector("x")
        slope = self.pytensor.grad(self.pt.sum(self.adapter.export(planted)(x)), x)
        assert np.array_equal(self.compiled([x], slope)(X), np.full(3, 10.0))

    def test_several_results_and_whole_numbers(self):
        x, n = self.pt.vector("x"), self.pt.lvector("n")
        y, after = self.adapter.export(lambda x, n: (v.sin(x) * n, n + 1))(x, n)
        slope = self.pytensor.grad(self.pt.sum(y), x)
        have = self.compiled([x, n], [after, slope])(X, np.array([1, 2, 3]))
        assert np.array_equal(have[0], [2, 3, 4])
        assert np.allclose(have[1], np.cos(X) * [1, 2, 3])

    def test_jax_is_loaded_where_it_is_asked_for(self):
        code = """
            import sys, numpy as np, pytensor.tensor as pt, chainrules_engines.pytensor
            x = pt.vector("x")
            y = chainrules_engines.pytensor.export(np.sin)(x)
            assert "jax" not in sys.modules
        """
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=300)


SEEN = (
    *("sin", "log", "tanh", "multiply", "divide", "pow", "maximum", "expit", "sum", "reshape"),
    *("permute_dims", "broadcast_to", "concat", "matmul", "scalar_rule", "linear_rule"),
    "custom_vjp",
)


class TestTinygrad:
    @pytest.fixture(autouse=True)
    def library(self):
        self.tinygrad = pytest.importorskip("tinygrad")
        self.adapter = pytest.importorskip("chainrules_engines.tinygrad")

    @pytest.mark.parametrize("point", [p for p in REAL if p.name in SEEN], ids=lambda p: p.name)
    def test_battery(self, point):
        xs = [self.tinygrad.Tensor(np.asarray(x)) for x in point.xs]
        y = point.call(self.adapter.export(point.entry.f), *xs)
        want = point.call(point.entry.f, *point.xs)
        assert np.allclose(y.numpy(), want, rtol=1e-4, atol=1e-5)
        found = y.sum().gradient(*xs)
        for bar, want in zip(found, wanted(point), strict=True):
            assert np.allclose(bar.numpy(), want, rtol=1e-4, atol=1e-5)

    def test_it_is_the_rule_that_is_used(self):
        @primitive
        def planted(x):
            return x * 1.0

        scalar_rule(planted, lambda _y, _x: 10.0)
        x = self.tinygrad.Tensor([1.0, 2.0])
        (found,) = self.adapter.export(planted)(x).sum().gradient(x)
        assert found.tolist() == [10.0, 10.0]

    @pytest.mark.parametrize("name", ["log1p", "expm1"])
    def test_small_numbers_keep_their_digits(self, name):
        xs = np.array([0.0, 1e-30, 1e-8, -1e-5, 1e-3, -0.6, 3.0, 60.0, np.inf, -1.0], np.float32)
        x = self.tinygrad.Tensor(xs)
        with np.errstate(divide="ignore"):
            want = getattr(np, name)(xs.astype(float))
        have = self.adapter.export(getattr(v, name))(x).numpy()
        assert np.allclose(have, want, rtol=3e-6, atol=0.0)

    def test_arrays_of_numpy_are_taken(self):
        x = self.tinygrad.Tensor([2.0, 3.0])
        for operands in ((x, np.array([5.0, 7.0])), (np.array([5.0, 7.0]), x)):
            y = self.adapter.export(np.multiply)(*operands)
            assert y.tolist() == [10.0, 21.0]
            assert y.sum().gradient(x)[0].tolist() == [5.0, 7.0]

    def test_greatest_elements_share_the_gradient(self):
        x = self.tinygrad.Tensor([[1.0, 3.0, 3.0]])
        (found,) = self.adapter.export(np.max)(x, axis=1).sum().gradient(x)
        assert found.tolist() == [[0.0, 0.5, 0.5]]

    def test_integers_are_data(self):
        x, n = self.tinygrad.Tensor([2.0, 3.0]), self.tinygrad.Tensor([1, 2])
        (found,) = self.adapter.export(v.multiply)(x, n).sum().gradient(x)
        assert found.tolist() == [1.0, 2.0]

    def test_second_order_and_one_tensor_twice(self):
        x = self.tinygrad.Tensor(X.astype(np.float32))
        (slope,) = self.adapter.export(v.sin)(x).sum().gradient(x)
        (curvature,) = slope.sum().gradient(x)
        assert np.allclose(curvature.numpy(), -np.sin(X), atol=1e-5)
        (slope,) = self.adapter.export(v.multiply)(x, x).sum().gradient(x)
        assert np.allclose(slope.numpy(), 2 * X, atol=1e-5)

    def test_what_it_cannot(self):
        x = self.tinygrad.Tensor(X.astype(np.float32))
        with pytest.raises(NoRuleError, match="no rrule for only_forward"):
            self.adapter.export(ONE_MODE["forward"].f)(x)
        with pytest.raises(NoRuleError, match="nothing computes gammaln"):
            self.adapter.export(v.gammaln)(x)
        for f in (np.cumsum, np.linalg.cholesky):
            with pytest.raises(NoRuleError, match=f"{f.__name__} or its rule needs what tinygrad"):
                self.adapter.export(f)(self.tinygrad.Tensor(A.astype(np.float32)))
        assert self.adapter.export(np.astype)(x, np.float64).dtype.name == "double"
        with pytest.raises(NotDifferentiableError, match="several operations"):
            self.adapter.export(lambda x: v.sin(v.cos(x)))(x)
        f = self.adapter.export(CONSTANT.f)
        assert f(x).sum().gradient(x)[0].tolist() == [0.0, 0.0, 0.0]
        said = self.adapter.supports(v.sin, x)
        assert (said.grad, said.jit, said.order) == (True, True, np.inf)
        assert not self.adapter.supports(v.gammaln, x).grad
        assert not self.adapter.supports(ONE_MODE["forward"].f, x).grad

    def test_what_is_captured_is_refused(self):
        f = self.adapter.export(looking_at([self.tinygrad.Tensor(2.0)]))
        with pytest.raises(TracerError, match="depends on w"):
            f(self.tinygrad.Tensor([1.0, 2.0]))
