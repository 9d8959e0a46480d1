"""One program a framework, beside the same program without us.

``python -m tests.engines.frameworks.programs`` writes the table of docs/export.md. The frameworks
are the group ``frameworks`` of pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import export, primitive, scalar_rule
from chainrules_py import ops as v

PAGE = Path(__file__).resolve().parents[3] / "docs" / "export.md"
BEGIN, END = "<!-- used from: begin -->\n", "<!-- used from: end -->\n"


class Program(NamedTuple):
    """A program of a framework.

    Attributes
    ----------
    name : str
        The framework's.
    module : str
        What it is imported by.
    engine : str
        What differentiates.
    does : str
        What the program does, for the table.
    run : callable
        ``run()`` gives the result with our rules or derivatives, and the framework's own.
    tolerance : float
        How far they may be apart, relative.
    """

    name: str
    module: str
    engine: str
    does: str
    run: Callable[[], tuple[Any, Any]]
    tolerance: float


PROGRAMS: list[Program] = []


def program(name: str, module: str, engine: str, does: str, tolerance: float = 1e-4) -> Any:
    """Enter a program."""

    def enter(run: Any) -> Any:
        PROGRAMS.append(Program(name, module, engine, does, run, tolerance))
        return run

    return enter


@primitive
def softplus(x: Any) -> Any:
    """log(1 + exp x), with a rule of our own."""
    return v.log(1.0 + v.exp(x))


scalar_rule(softplus, lambda y, x: v.exp(x - y))

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.1 * RNG.standard_normal(40)
LABELS = (Y > 0).astype(float)


# ------------------------------------------------------------------------------------------- JAX


def _losses(jnp: Any, one: Any) -> Any:
    """The mean logistic loss, written with a softplus."""

    def loss(w: Any) -> Any:
        z = jnp.asarray(X) @ w
        return jnp.mean(one(z) - jnp.asarray(LABELS) * z) + 0.05 * jnp.sum(w**2)

    return loss


def _jax_softplus() -> tuple[Any, Any]:
    import jax

    return export(softplus, to="jax"), jax.nn.softplus


@program("Optax", "optax", "JAX", "Adam on a logistic loss whose softplus has a rule")
def optax() -> tuple[Any, Any]:
    import jax
    import jax.numpy as jnp
    import optax

    def fitted(one: Any) -> Any:
        loss, adam = _losses(jnp, one), optax.adam(0.1)

        @jax.jit
        def step(w: Any, state: Any) -> Any:
            updates, state = adam.update(jax.grad(loss)(w), state)
            return optax.apply_updates(w, updates), state

        w = jnp.zeros(3)
        state = adam.init(w)
        for _ in range(200):
            w, state = step(w, state)
        return w

    ours, theirs = map(fitted, _jax_softplus())
    return ours, theirs


@program("Equinox", "equinox", "JAX", "an MLP with the softplus for its activation, trained")
def equinox() -> tuple[Any, Any]:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    def trained(one: Any) -> Any:
        mlp = eqx.nn.MLP(3, "scalar", 8, 1, activation=one, key=jax.random.key(0))

        @eqx.filter_jit
        @eqx.filter_grad
        def slope(mlp: Any) -> Any:
            return jnp.mean((jax.vmap(mlp)(jnp.asarray(X)) - jnp.asarray(Y)) ** 2)

        for _ in range(50):
            mlp = eqx.apply_updates(mlp, jax.tree.map(lambda g: -0.05 * g, slope(mlp)))
        return jax.vmap(mlp)(jnp.asarray(X))

    ours, theirs = map(trained, _jax_softplus())
    return ours, theirs


@program("Flax", "flax", "JAX", "an `nnx` module with the softplus, trained")
def flax() -> tuple[Any, Any]:
    import jax
    import jax.numpy as jnp
    from flax import nnx

    def trained(one: Any) -> Any:
        class Net(nnx.Module):
            def __init__(self, rngs: Any) -> None:
                self.inner = nnx.Linear(3, 8, rngs=rngs)
                self.outer = nnx.Linear(8, 1, rngs=rngs)

            def __call__(self, x: Any) -> Any:
                return self.outer(one(self.inner(x)))[:, 0]

        net = Net(nnx.Rngs(0))

        @nnx.jit
        def step(net: Any) -> None:
            slope = nnx.grad(lambda net: jnp.mean((net(jnp.asarray(X)) - jnp.asarray(Y)) ** 2))
            state = nnx.state(net, nnx.Param)
            moved = nnx.state(slope(net), nnx.Param)
            nnx.update(net, jax.tree.map(lambda p, g: p - 0.05 * g, state, moved))

        for _ in range(50):
            step(net)
        return net(jnp.asarray(X))

    ours, theirs = map(trained, _jax_softplus())
    return ours, theirs


@program("Diffrax", "diffrax", "JAX", "the gradient of a solution whose vector field has a rule")
def diffrax() -> tuple[Any, Any]:
    import diffrax
    import jax
    import jax.numpy as jnp

    def slope(one: Any) -> Any:
        def end(rate: Any) -> Any:
            field = diffrax.ODETerm(lambda t, y, rate: -rate * one(y))
            solver, steps = diffrax.Tsit5(), diffrax.PIDController(rtol=1e-5, atol=1e-5)
            found = diffrax.diffeqsolve(
                field, solver, 0.0, 1.0, 0.1, jnp.asarray(1.0), args=rate, stepsize_controller=steps
            )
            return found.ys[0]

        return jnp.stack(jax.value_and_grad(end)(0.7))

    ours, theirs = map(slope, _jax_softplus())
    return ours, theirs


@program("NumPyro", "numpyro", "JAX", "NUTS on a density with the softplus in it", 5e-3)
def numpyro() -> tuple[Any, Any]:
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro.infer import MCMC, NUTS

    def mean(one: Any) -> Any:
        def model() -> None:
            w = numpyro.sample("w", numpyro.distributions.Normal(jnp.zeros(3), 1.0).to_event(1))
            z = jnp.asarray(X) @ w
            numpyro.factor("data", -jnp.sum(one(z) - jnp.asarray(LABELS) * z))

        runs = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
        runs.run(jax.random.key(0))
        return runs.get_samples()["w"].mean(0)

    with jax.enable_x64(True):
        ours, theirs = map(mean, _jax_softplus())
    return ours, theirs


@program("BlackJAX", "blackjax", "JAX", "NUTS on a log density with the softplus in it", 1e-6)
def blackjax() -> tuple[Any, Any]:
    import blackjax
    import jax
    import jax.numpy as jnp

    def last(one: Any) -> Any:
        loss = _losses(jnp, one)
        nuts = blackjax.nuts(lambda w: -40.0 * loss(w), 0.2, jnp.ones(3))
        step, state = jax.jit(nuts.step), nuts.init(jnp.zeros(3))
        for key in jax.random.split(jax.random.key(0), 20):
            state, _ = step(key, state)
        return state.position

    with jax.enable_x64(True):
        ours, theirs = map(last, _jax_softplus())
    return ours, theirs


@program("Keras", "keras", "JAX", "a `Dense` layer with the softplus, on the backend JAX", 1e-3)
def keras() -> tuple[Any, Any]:
    import keras

    assert keras.backend.backend() == "jax"

    def trained(one: Any) -> Any:
        keras.utils.set_random_seed(0)
        layers = [keras.Input((3,)), keras.layers.Dense(8, activation=one), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
        model.fit(X, Y, epochs=5, verbose=0, shuffle=False)
        return model.predict(X, verbose=0)

    ours, theirs = map(trained, _jax_softplus())
    return ours, theirs


# --------------------------------------------------------------------------------------- PyTorch


def _torch_softplus() -> tuple[Any, Any]:
    import torch

    return export(softplus, to="torch"), torch.nn.functional.softplus


@program("GPyTorch", "gpytorch", "PyTorch", "a kernel whose length is a softplus with a rule")
def gpytorch() -> tuple[Any, Any]:
    import gpytorch
    import torch

    x, y = torch.tensor(X[:, 0]), torch.tensor(Y)

    def fitted(one: Any) -> Any:
        class Exact(gpytorch.models.ExactGP):
            def __init__(self) -> None:
                super().__init__(x, y, likelihood)
                self.mean_module = gpytorch.means.ConstantMean()
                positive = gpytorch.constraints.Positive(transform=one)
                kernel = gpytorch.kernels.RBFKernel(lengthscale_constraint=positive)
                self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

            def forward(self, x: Any) -> Any:
                mean, covariance = self.mean_module(x), self.covar_module(x)
                return gpytorch.distributions.MultivariateNormal(mean, covariance)

        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        model = Exact().double()
        model.train()
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood.double(), model)
        adam = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(30):
            adam.zero_grad()
            (-evidence(model(x), y)).backward()
            adam.step()
        return model.covar_module.base_kernel.lengthscale.detach()

    ours, theirs = map(fitted, _torch_softplus())
    return ours, theirs


@program("BoTorch", "botorch", "PyTorch", "`optimize_acqf` of an objective with the softplus")
def botorch() -> tuple[Any, Any]:
    import torch
    from botorch.acquisition import AcquisitionFunction
    from botorch.optim import optimize_acqf

    def best(one: Any) -> Any:
        class Value(AcquisitionFunction):
            def __init__(self) -> None:
                super().__init__(model=None)

            def forward(self, x: Any) -> Any:
                x = x.squeeze(-2)
                return -(one(3.0 * x) - 1.2 * x).sum(-1)

        torch.manual_seed(0)
        bounds = torch.tensor([[-2.0, -2.0], [2.0, 2.0]], dtype=torch.float64)
        return optimize_acqf(Value(), bounds, q=1, num_restarts=2, raw_samples=8)[0]

    ours, theirs = map(best, _torch_softplus())
    return ours, theirs


@program("PennyLane", "pennylane", "PyTorch", "a circuit whose angles come from the softplus")
def pennylane() -> tuple[Any, Any]:
    import pennylane
    import torch

    @pennylane.qnode(pennylane.device("default.qubit", wires=2), interface="torch")
    def circuit(angles: Any) -> Any:
        pennylane.RX(angles[0], wires=0)
        pennylane.RY(angles[1], wires=1)
        pennylane.CNOT(wires=[0, 1])
        return pennylane.expval(pennylane.PauliZ(1))

    def fitted(one: Any) -> Any:
        w = torch.tensor([0.1, 0.4], dtype=torch.float64, requires_grad=True)
        descent = torch.optim.SGD([w], lr=0.2)
        for _ in range(20):
            descent.zero_grad()
            circuit(one(w)).backward()
            descent.step()
        return w.detach()

    ours, theirs = map(fitted, _torch_softplus())
    return ours, theirs


# -------------------------------------------------------------------------------------- PyTensor


@program("PyMC", "pymc", "PyTensor", "the mode of a model with the softplus in a potential")
def pymc() -> tuple[Any, Any]:
    import pymc
    import pytensor.tensor as pt

    def mode(one: Any) -> Any:
        with pymc.Model():
            w = pymc.Normal("w", 0.0, 1.0, shape=3)
            z = pt.dot(pt.as_tensor_variable(X), w)
            pymc.Potential("data", -pt.sum(one(z) - LABELS * z))
            return pymc.find_MAP(progressbar=False)["w"]

    return mode(export(softplus, to="pytensor")), mode(pt.softplus)


# --------------------------------------------------------------- NumPy, differentiated by the tape


@program("statsmodels", "statsmodels", "the tape", "the score and Hessian of a likelihood")
def statsmodels() -> tuple[Any, Any]:
    import statsmodels.api as sm
    from statsmodels.base.model import GenericLikelihoodModel

    from chainrules_tape import grad, hessian

    class Logistic(GenericLikelihoodModel):
        def loglike(self, params: Any) -> Any:
            return -_penalised(params)

        def score(self, params: Any) -> Any:
            return -grad(_penalised)(np.asarray(params, float))

        def hessian(self, params: Any) -> Any:
            return -hessian(_penalised)(np.asarray(params, float))

    noisy = np.where(np.arange(40) % 7 == 0, 1 - LABELS, LABELS)

    def _penalised(w: Any) -> Any:
        z = X @ w
        return np.sum(np.logaddexp(0.0, z) - noisy * z)

    found = Logistic(noisy, X).fit(start_params=np.zeros(3), method="newton", disp=0)
    want = sm.Logit(noisy, X).fit(disp=0)
    return np.stack([found.params, found.bse]), np.stack([want.params, want.bse])


@program("scikit-learn", "sklearn", "the tape", "an estimator that is fitted by its gradient")
def sklearn() -> tuple[Any, Any]:
    from scipy.optimize import minimize
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    from chainrules_tape import value_and_grad

    class Logistic(ClassifierMixin, BaseEstimator):
        def fit(self, x: Any, y: Any) -> Any:
            self.classes_ = np.unique(y)

            def loss(w: Any) -> Any:
                return np.sum(np.logaddexp(0.0, x @ w) - y * (x @ w)) + 0.5 * np.sum(w**2)

            options = {"gtol": 1e-10}
            self.coef_ = minimize(
                value_and_grad(loss), np.zeros(x.shape[1]), jac=True, options=options
            ).x
            return self

        def predict(self, x: Any) -> Any:
            return (x @ self.coef_ > 0).astype(float)

    theirs = LogisticRegression(fit_intercept=False, tol=1e-10)
    ours = Logistic()
    scores = [cross_val_score(of, X, LABELS, cv=4) for of in (ours, theirs)]
    assert np.array_equal(*scores)
    return ours.fit(X, LABELS).coef_, theirs.fit(X, LABELS).coef_[0]


@program("lmfit", "lmfit", "the tape", "the Jacobian of a fit", 1e-5)
def lmfit() -> tuple[Any, Any]:
    import lmfit

    from chainrules_tape import jacobian

    t = np.linspace(0.0, 2.0, 30)
    data = 2.0 * np.exp(-1.3 * t) + 0.05 * np.cos(9.0 * t)
    residual = lambda p: p[0] * np.exp(-p[1] * t) - data
    values = lambda params: np.array([params["a"].value, params["k"].value])

    def fitted(**given: Any) -> Any:
        params = lmfit.create_params(a=1.0, k=1.0)
        return lmfit.minimize(lambda params: residual(values(params)), params, **given)

    ours = fitted(Dfun=lambda params: jacobian(residual)(values(params)))
    theirs = fitted()
    return values(ours.params), values(theirs.params)


@program("Pymanopt", "pymanopt", "the tape", "the leading eigenvector by descent on the sphere")
def pymanopt() -> tuple[Any, Any]:
    import pymanopt

    from chainrules_tape import grad

    a = X.T @ X
    sphere = pymanopt.manifolds.Sphere(3)
    cost = lambda x: -(x @ a @ x)
    problem = pymanopt.Problem(
        sphere,
        pymanopt.function.numpy(sphere)(cost),
        euclidean_gradient=pymanopt.function.numpy(sphere)(grad(cost)),
    )
    optimizer = pymanopt.optimizers.ConjugateGradient(verbosity=0, min_gradient_norm=1e-9)
    found = optimizer.run(problem, initial_point=np.ones(3) / 3**0.5).point
    want = np.linalg.eigh(a)[1][:, -1]
    return np.abs(found), np.abs(want)


@program("xarray", "xarray", "the tape", "a gradient along a dimension, by `apply_ufunc`", 1e-12)
def xarray() -> tuple[Any, Any]:
    import xarray

    from chainrules_tape import grad

    table = xarray.DataArray(X, dims=("case", "feature"))
    slope = grad(lambda x: np.sum(np.logaddexp(0.0, x)))
    dims = [["feature"]]
    ours = xarray.apply_ufunc(
        slope, table, input_core_dims=dims, output_core_dims=dims, vectorize=True
    )
    return ours, 1.0 / (1.0 + np.exp(-table))


# ------------------------------------------------------------------------------------------ table


def table() -> str:
    """Return the table of docs/export.md."""
    lines = ["| used from | differentiated by | the program |", "|---|---|---|"]
    lines += [f"| {p.name} | {p.engine} | {p.does} |" for p in PROGRAMS]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2], encoding="utf-8")
