"""What programs are told where they do not trace: one remedy, which runs where it is applied."""

from __future__ import annotations

import ast
import cmath  # noqa: F401
import collections  # noqa: F401
import colorsys  # noqa: F401
import functools
import importlib
import io  # noqa: F401, as others that programs name
import json
import linecache
import math
import multiprocessing.pool
import os.path  # noqa: F401
import pickle
import re
import statistics
import struct  # noqa: F401
import subprocess
import sys
import types  # noqa: F401
import warnings
from decimal import Decimal  # noqa: F401
from fractions import Fraction  # noqa: F401

import numpy as np
import pytest

import chainrules_py
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    LostDerivativeWarning,
    NotImplementedTangent,
    ignore_derivatives,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_tape import grad, hvp, jacobian, jvp, value_and_grad, vjp  # noqa: F401

TWO, MANY, ONE = np.ones(2), np.linspace(1.0, 2.0, 200), 1.5


class Plain:
    def __init__(self, w):
        self.w = w


class Lazy:
    """A library, which is imported where a program names it."""

    def __init__(self, name):
        self.name = name

    def load(self):
        return pytest.importorskip(self.name)


LIBRARIES = {
    "pd": Lazy("pandas"),
    "xr": Lazy("xarray"),
    "da": Lazy("dask.array"),
    "torch": Lazy("torch"),
    "jax": Lazy("jax"),
    "jnp": Lazy("jax.numpy"),
    "sympy": Lazy("sympy"),
    "numba": Lazy("numba"),
    "scipy": Lazy("scipy"),
    "plt": Lazy("matplotlib.pyplot"),
    "autograd": Lazy("autograd"),
}

# Programs whose remedy runs where it is applied as it stands, with a part of the remedy.
APPLIED = {
    "np.sum([x, 2.0 * x])": (MANY, "np.sum(np.stack([x, 2.0 * x]))"),
    "np.max([x, 2.0 * x])": (MANY, "np.max(np.stack([x, 2.0 * x]))"),
    "np.prod([x, 0.5 * x])": (MANY, "np.prod(np.stack([x, 0.5 * x]))"),
    "np.mean([x[0], x[1]])": (TWO, "np.mean(np.stack([x[0], x[1]]))"),
    "np.mean([x, x])": (MANY, "np.mean(np.stack([x, x]))"),
    "np.linalg.norm([x, x])": (MANY, "np.linalg.norm(np.stack([x, x]))"),
    "np.sum(np.exp([x, x]))": (MANY, "np.exp(np.stack([x, x]))"),
    "np.sum(np.where(MANY > 1.5, [x, x], 0.0))": (MANY, "np.stack([x, x])"),
    "np.dot([x, x], [1.0, 2.0])": (ONE, None),
    "np.linalg.inv([[x, 1.0], [0.0, x]])[0, 1]": (ONE, "np.stack([np.stack([x, 1.0]), np.stack("),
    "np.sum(np.pad(TWO, 1, constant_values=x))": (ONE, "(TWO + np.zeros_like(x, shape=()), 1, "),
    "np.sum(np.pad(TWO, 1, constant_values=(x[0], 2.0)))": (MANY, "np.zeros_like(x, shape=())"),
    "x * len('{:.3e}'.format(x))": (ONE, "'{:.3e}'.format(ignore_derivatives(x))"),
    "(lambda m: np.linalg.inv(m))([[x, 1.0], [0.0, x]])[0, 1]": (ONE, "[*map(np.stack, m)]"),
    "(lambda m: np.sum(np.array(m, float)))([[x, 1.0], [0.0, x]])": (ONE, "[*map(np.stack, m)]"),
    "np.float64(x) * 2.0": (ONE, "use x"),
    "np.float32(x) * 2.0": (ONE, "np.full_like(x, x, dtype=np.float32)"),
    "np.float64(x[0]) * 2.0": (TWO, "use x[0]"),
    "float(x[0]) ** 2": (TWO, "use x[0]"),
    "complex(x).real": (ONE, "x + 0j"),
    "abs(complex(x[0], x[1]))": (TWO, "x[0] + 1j * x[1]"),
    "np.sum(np.full(3, x).astype(int) * x)": (
        2.0,
        "(np.full(3, x) + np.zeros_like(x, shape=())).as",
    ),
    "np.sum(np.roll(x, x[0]))": (TWO, "np.roll(x, ignore_derivatives(x[0])), wh"),
    "np.sum(np.polyfit(np.arange(2.0), x, x[0]))": (TWO, "x, ignore_derivatives(x[0])), whose"),
    "np.sum(np.polynomial.polynomial.polyfit(x, TWO, 1))": (TWO, "np.polyfit(x, TWO, 1)[::-1]"),
    "pd.Series(x).std(ddof=0)": (TWO, "np.std(x, ddof=0)"),
    "2.0 * pd.Series(x).var(ddof=0)": (TWO, "np.var(x, ddof=0)"),
    "x[0] * math.isclose(x[1], x[0], abs_tol=9.0)": (
        TWO,
        "math.isclose(ignore_derivatives(x[1]), ",
    ),
    "x[0] * cmath.isclose(x[1], x[1] * 1.000001)": (TWO, "cmath.isclose(ignore_"),
    "2.0 * float(x[0] + x[1])": (TWO, "use (x[0] + x[1])"),
    "1.0 / float(x[0] * x[1])": (TWO, "use (x[0] * x[1])"),
    "float(-x[0]) ** 2": (TWO, "use (-x[0])"),
    "-np.float64(x[0] + x[1])": (TWO, "use (x[0] + x[1])"),
    "(x[0] * x[1]).item() ** 2": (TWO, "use (x[0] * x[1])"),
    "1.0 / math.log(x[1] + 1.0, 10)": (TWO, "(np.log(x[1] + 1.0) / np.log(10))"),
    "3.0 * math.remainder(x[1], 0.8)": (TWO, "(x[1] - 0.8 * np.rint(x[1] / 0.8))"),
    "3.0 * cmath.rect(x[0], 0.3).real": (TWO, "(x[0] * np.exp(1j * 0.3))"),
    "np.sum(np.full(3, x[0], dtype=float) ** 2)": (TWO, "np.full_like(x[0], x[0], shape=3, "),
    "2.0 / statistics.harmonic_mean(x)": (TWO, "(1.0 / np.mean(1.0 / np.stack(x)))"),
    "statistics.harmonic_mean(x, weights=[1.0, 3.0])": (TWO, "weights=[1.0, 3.0])"),
    "statistics.fmean(x, [1.0, 3.0])": (  # Python 3.12 and later take the products of any numbers
        TWO,
        None if sys.version_info >= (3, 12) else "np.average(np.stack(x), weights=[1.0, 3.0])",
    ),
    "2.0 * statistics.pvariance(x, mu=0.3)": (TWO, "(np.sum((np.stack(x) - 0.3) ** 2) / len(x))"),
    "statistics.variance(x, 0.3)": (TWO, "np.sum((np.stack(x) - 0.3) ** 2) / (len(x) - 1)"),
    "statistics.pstdev(x, 0.3)": (TWO, "np.sqrt(np.sum((np.stack(x) - 0.3) ** 2) / len(x))"),
    "1.0 / statistics.stdev(x, xbar=0.3)": (TWO, "/ (len(x) - 1))"),
    "np.sum(np.polynomial.legendre.legfit([0.5, 2.0], x, 1) ** 2)": (
        TWO,
        "legvander([0.5, 2.0], 1)",
    ),
    "np.sum(np.polynomial.hermite_e.hermefit([0.5, 2.0], x, 1) ** 2)": (TWO, "hermevander("),
    "np.polynomial.polynomial.polyroots(np.stack([-x[0], 0.3 * x[1], x[1]]))[0]": (
        TWO,
        "np.sort(np.roots(np.stack(",
    ),
    "np.polynomial.Polynomial(x, [0, 2]).roots()[0]": (
        np.array([2.0, -3.0, 1.0]),
        "[0, 2]).mapparms()[1])",
    ),
    "x[0] + np.sum(np.zeros((2, x[0])))": (TWO, "np.zeros((2, int(ignore_derivatives(x[0]))))"),
    "x[0] * len(np.array2string(x))": (TWO, "np.array2string(ignore_derivatives(x))"),
    "pd.Series(x).std()": (TWO, "np.std(x, ddof=1)"),
    "x * np.sum(np.arange(x))": (3.0, "np.arange(ignore_derivatives(x))"),
    "x * np.sum(np.arange(0.0, x, 0.5))": (3.0, "0.0 + 0.5 * np.arange(np.ceil(ignore_"),
    "sum(np.nditer(x))": (TWO, "use np.ravel(x)"),
    "np.sum(np.fromiter((v * v for v in x), float))": (TWO, "np.stack([v * v for v in x])"),
    "np.sum(np.fromiter([x[0], x[1]], dtype=float))": (TWO, "np.stack([x[0], x[1]])"),
    "np.sum(x[x])": (TWO, "x[ignore_derivatives(x).astype(int)]"),
    "np.sum(np.outer(x, x)[:, np.floor(x / 2)])": (
        TWO,
        "[:, ignore_derivatives(np.floor(x / 2)).astype(int)]",
    ),
    "x[0] * x[np.floor(x[0] / 2)]": (TWO, "x[ignore_derivatives(np.floor(x[0] / 2)).astype(int)]"),
    "x * np.arange(3.0)[x]": (1.0, "np.arange(3.0)[int(ignore_derivatives(x))]"),
    "x * [1.0, 2.0][x]": (1.0, "[1.0, 2.0][int(ignore_derivatives(x))]"),
    "x * sum(range(x))": (3.0, "range(int(ignore_derivatives(x)))"),
    "x * sum(range(int(x)))": (3.0, "int(ignore_derivatives(x))"),
    "x * np.sum(np.linspace(0.0, 1.0, x))": (3.0, "int(ignore_derivatives(x))"),
    "math.sin(x[0])": (TWO, "use np.sin(x[0])"),
    "math.atan2(x, 2.0)": (ONE, "np.arctan2(x, 2.0)"),
    "colorsys.hsv_to_rgb(x, 1, 1)[1] * x": (0.06, "hsv_to_rgb(ignore_derivatives(x), 1, 1), whose"),
    "math.pow(x, -2)": (2, "np.float_power(x, -2)"),
    "math.pow(x, 3)": (ONE, "np.float_power(x, 3)"),
    "math.fsum(x)": (TWO, "np.sum(np.stack(x))"),
    "x[0] * len(bytearray(x))": (TWO, "bytearray(ignore_derivatives(x))"),
    "math.dist(x, [0.0, 0.0])": (TWO, "np.linalg.norm("),
    "statistics.mean([x, 2.0])": (ONE, "np.mean(np.stack([x, 2.0]))"),
    "np.sum(np.array([[x[0], x[1]], [1.0, 2.0]], dtype=float))": (TWO, "np.stack([np.stack("),
    "np.sum(np.asarray(x))": (MANY, "use x"),
    "np.sum(np.array(x))": (MANY, "np.copy(x)"),
    "np.sum(np.ascontiguousarray(x[1:]))": (MANY, "np.copy(x[1:], order='C')"),
    "np.sum(np.random.normal(x, 1.0, 2))": (TWO, "x + 1.0 * np.random.standard_normal(2)"),
    "np.random.default_rng(0).normal(x)": (ONE, ".standard_normal()"),
    "np.sum(np.random.default_rng(0).normal(np.zeros(3), x))": (ONE, "np.shape(np.zeros(3))"),
    "np.sum(np.random.default_rng(0).normal(x, [1.0, 2.0]))": (ONE, "np.shape([1.0, 2.0])"),
    "(x + 1.0).item(1) * 2.0": (TWO, "(x + 1.0)[1]"),
    "np.random.default_rng(0).uniform(0.0, x)": (ONE, ".random()"),
    "np.random.default_rng(0).exponential(x)": (ONE, ".standard_exponential()"),
    "x * float(Decimal(x))": (ONE, "Decimal(ignore_derivatives(x))"),
    "x * len(json.dumps(x))": (ONE, "json.dumps(ignore_derivatives(x))"),
    "x * len(struct.pack('d', x))": (ONE, "struct.pack('d', ignore_derivatives(x))"),
    "x * len('%.3f' % x)": (ONE, "'%.3f' % ignore_derivatives(x)"),
    "x * Fraction(x).numerator": (ONE, "Fraction(ignore_derivatives(x))"),
    "x[0] * x.strides[0]": (TWO, "ignore_derivatives(x).strides"),
    "x[0] * x[1].item()": (TWO, "use x[1]"),
    "x[0] * x.tolist()[1]": (TWO, "use list(x)"),
    "x[0] * len(pickle.dumps(x))": (TWO, "pickle.dumps(ignore_derivatives(x))"),
    "x[0] * np.random.default_rng(0).choice(2, p=x / 2.0)": (
        TWO,
        "choice(2, p=ignore_derivatives(x / 2.0))",
    ),
    "np.sum(np.random.default_rng(0).choice(x, 2))": (
        MANY,
        "x[np.random.default_rng(0).choice(len(x), 2)]",
    ),
    "x[0] * len({x[0]: 1})": (TWO, "{ignore_derivatives(x[0]): 1}"),
    "x[0] * len({x[0], 2.0})": (TWO, "{ignore_derivatives(x[0]), 2.0}"),
    "x[0] * len({x})": (TWO, "{bytes(ignore_derivatives(x))}"),
    "x[0] * {}.get(x, 1.0)": (TWO, "{}.get(bytes(ignore_derivatives(x)), 1.0)"),
    "x[0] * len(json.dumps({'v': x}))": (TWO, "json.dumps({'v': ignore_derivatives(x).tolist()})"),
    "x[0] * len(os.path.join('a', x[0]))": (
        TWO,
        "os.path.join('a', str(ignore_derivatives(x[0])))",
    ),
    "x[0] * len(x.tobytes('C'))": (TWO, "ignore_derivatives(x).tobytes('C')"),
    "x[0] + 0.0 * (np.savetxt(io.StringIO(), x) or 0.0)": (
        TWO,
        "np.savetxt(io.StringIO(), ignore_derivatives(x))",
    ),
    "np.sum(np.array(x, dtype=np.float32))": (MANY, "x.astype(np.float32)"),
    "np.sum(np.asarray(x, float))": (TWO, "x.astype(float)"),
    "np.sum(np.log(x, where=x > 1.5))": (
        MANY,
        "np.where(x > 1.5, np.log(np.where(x > 1.5, x, 1.0)), 0.0)",
    ),
    "np.sum(np.log(x, where=x > 1.5, out=np.zeros(200)))": (
        MANY,
        "np.where(x > 1.5, np.log(np.where(x > 1.5, x, 1.0)), np.zeros(200))",
    ),
    "np.sum(np.add(x, x, signature='dd->d'))": (TWO, "np.add(x, x)"),
    "np.linalg.multi_dot([x, np.outer(x, x)], out=np.zeros(2)).sum()": (TWO, "np.outer(x, x)])"),
    "np.choose([0, 1], [x, 3.0 * x], out=np.zeros(2)).sum()": (TWO, "[0, 1], [x, 3.0 * x])"),
    "np.sum(np.dot(x, x, out=np.zeros(())))": (TWO, "np.dot(x, x)"),
    "np.sum(np.full(200, x))": (ONE, None),
    "np.sum(np.array([[x, 1.0], [2.0, x]]))": (ONE, None),
    "round(x) * x": (ONE, None),
    "x * sum(range(0, 10, x))": (2.0, "range(0, 10, int(ignore_derivatives(x)))"),
    "sum([x] * x)": (3.0, "[x] * int(ignore_derivatives(x))"),
    "sum([1.0, 2.0, 3.0][:x]) * x": (2.0, "[:int(ignore_derivatives(x))]"),
    "x[0] * len(np.format_float_scientific(x[0]))": (TWO, "scientific(ignore_derivatives(x[0]))"),
    "remembered(x[0]) * x[1]": (TWO, "use remembered.__wrapped__(x[0])"),
    "x * sympy.sin(x)": (ONE, "use np.sin(x)"),
    "pd.Series(x).median()": (TWO, "np.median(x)"),
    "jnp.dot(x, x)": (TWO, "  use np.dot(x, x), and np for jnp throughout"),
    "jnp.sum(jnp.sin(x))": (TWO, "  use np.sin(x), and np for jnp throughout"),
    "jnp.sum(jnp.linalg.inv(x[:, None] * np.eye(2)))": (TWO, ", and np for jnp throughout"),
    "np.var([[v * v, v] for v in x])": (TWO, "np.stack([np.stack([v * v, v]) for v in x])"),
    "torch.from_numpy(x).sum()": (TWO, "use x"),
    "torch.tensor([x[0], x[1]]).sum()": (TWO, "use np.stack([x[0], x[1]])"),
    "jnp.where(x > 1, x, 0).sum()": (TWO, "use np.where(x > 1, x, 0)"),
    "np.full((2,), x[0], dtype=float).sum()": (TWO, "np.full_like(x[0], x[0], shape=(2,), "),
    "np.full((2,), x[0], np.float32).sum()": (TWO, "np.full_like(x[0], x[0], np.float32, shape="),
    "sum([v * v for _, v in np.ndenumerate(x)])": (MANY, "((i, x[i]) for i in np.ndindex("),
    "sum([v * v for v in np.nditer([x])])": (TWO, "use np.ravel(x)"),
    "np.polynomial.chebyshev.chebval(0.3, x)": (MANY, "use np.tensordot(x, np.polynomial.cheb"),
    "np.polynomial.legendre.legval(TWO, x).sum()": (MANY, "np.eye(len(x), dtype=x.dtype)), (0, 0"),
    "np.polynomial.laguerre.lagval([[1, 2, 3]], x.reshape(-1, 2))[1, 0, 2]": (MANY, "(0, 0))[()]"),
    "np.polynomial.polynomial.polyval(TWO, 1j * x).imag.sum()": (TWO, "use np.tensordot(1j * x, "),
    "np.polynomial.Polynomial(TWO)(x).sum()": (MANY, "np.polynomial.polynomial.polyval("),
    "np.polynomial.Chebyshev(TWO, [0, 4])(x).sum()": (MANY, ".mapparms()[1] * x"),
    "np.array(2.0).var(mean=x)": (ONE, "use np.var(np.array(2.0), mean=x)"),
    "np.sum(np.tile(x, x[0]))": (TWO, "use np.tile(x, int(ignore_derivatives(x[0])))"),
    "math.hypot(x[0], x[1])": (TWO, "use np.hypot(x[0], x[1])"),
    "np.linalg.det(np.full((2, 2), x) + np.eye(2))": (ONE, "use np.full_like(x, x, shape=(2, 2))"),
    "np.sum(np.arange(0, 1, x))": (0.3, "0 + x * np.arange(np.ceil(ignore_derivatives((1 - 0) / x"),
    "np.sum(np.arange(x, 3.0))": (0.3, "x + 1 * np.arange(np.ceil(ignore_derivatives((3.0 - x) /"),
    "np.sum(np.array([x[0], x[1]], dtype=int) * x[0])": (TWO, "np.stack([x[0], x[1]]).astype(int)"),
    "in_table(x)['c'].mean()": (TWO, "use np.mean(np.stack(list(in_table(x)['c'])))"),
}


def in_table(x):
    """Return a table with a column of traced numbers, which another line makes."""
    table = LIBRARIES["pd"].load().DataFrame({"b": [1.0, 2.0]})
    table["c"] = x * 2.0
    return table


def in_cell(x):
    t = LIBRARIES["pd"].load().DataFrame({"b": [1.0, 2.0]})
    t.loc[0, "b"] += x
    return t["b"].sum()


BUFFER = "add np.zeros_like(x, shape=()) to b where it is made"

# Others, with what their message says.
TOLD = {
    **dict.fromkeys(
        (
            "grad(lambda x: pd.Series(x).rolling(2).std(ddof=0).iloc[-1])(TWO)",
            "grad(lambda x: pd.Series(x).corr(pd.Series([1.0, 2.0])))(TWO)",
            "grad(lambda x: pd.DataFrame({'a': x}).mean().iloc[0])(TWO)",
            "grad(lambda x: pd.DataFrame({'a': x, 'b': [2.0, 1.0]}).corr().iloc[0, 1])(TWO)",
            "grad(lambda x: pd.DataFrame({'a': x, 'g': [0, 1]}).groupby('g').mean())(TWO)",
            "grad(lambda x: pd.Series({'a': x[0], 'b': x[1]}).mean())(TWO)",
            "grad(lambda x: pd.Series(x).describe()['mean'])(TWO)",
            "grad(lambda x: pd.Series(x).ewm(alpha=0.5).mean().sum())(TWO)",
        ),
        "write it with NumPy's functions of the arrays that the table is made of",
    ),
    "grad(lambda x: np.mean(in_table(x)['c']))(TWO)": "write into an array, b = table.to_numpy() +",
    "grad(lambda x: np.mean((pd.DataFrame(np.eye(2)) @ x) ** 2))(TWO)": "use np.dot of the arrays",
    "grad(lambda x: np.std(pd.Series(x)))(TWO)": "leave x an array",
    "grad(lambda x: sum([v * w for v, w in np.nditer([x, TWO])]))(TWO)": "loop over i in np.nd",
    "grad(lambda x: x[0] * sum(map(float, x)))(TWO)": "write a list comprehension for map(fl",
    "grad(lambda x: np.max(np.outer(x, x), 1, 0.0 * x).sum())(TWO)": "write b[...] = max(...), wh",
    "grad(lambda x: np.polynomial.hermite.hermval(TWO, x, tensor=False)[1])(MANY)": (
        "write the basis, such as np.polynomial.chebyshev.chebval(t, np.eye(n)), times coefficients"
    ),
    "grad(lambda x: np.polynomial.Polynomial.fit(x, TWO, 1)(0.5))(TWO)": (
        "use np.linalg.lstsq of the columns of np.polynomial.polynomial.polyvander"
    ),
    "grad(lambda x: TWO.cumsum(out=x.copy())[0])(TWO)": "write t[...] = c.cumsum() for c.cumsum",
    "grad(lambda x: pd.Series(x).mean())(TWO)": "use np.mean(x)",
    "grad(lambda x: pd.Series(x).mean())(MANY)": "leave x an array",
    "grad(lambda x: np.sum(x * 'hello'))(TWO)": "'hello', which is not a number",
    "grad(lambda x: np.sum(x + 'hello'))(TWO)": "'hello', which is not a number",
    "grad(lambda x: x * 'hello')(1.0)": "'hello', which is not a number",
    "(lambda f: grad(lambda x: f(x)))(numba.njit(lambda y: y * y))(1.0)": "use f.py_func(x)",
    "(lambda f: grad(lambda x: f(x)))(numba.njit(lambda y: y.sum()))(TWO)": "use f.py_func(x)",
    "(lambda f: grad(f)(TWO))(numba.njit(lambda y: y.sum()))": "use grad(f.py_func)(TWO)",
    "grad(remembered)(1.0)": "use grad(remembered.__wrapped__)(1.0)",
    "grad(sympy.lambdify('x', 'sin(x)', 'math'))(1.0)": "sympy.lambdify(x, expression, 'numpy')",
    "grad(sympy.lambdify('x', sympy.erf('x'), 'numpy'))(1.0)": "lambdify(x, expression, 'scipy')",
    "grad(sympy.lambdify('x', sympy.polygamma(1, 'x'), 'scipy'))(1.0)": (
        "sympy.lambdify(x, expression, [{'polygamma': polygamma}, 'scipy']) for this function, "
        "after 'from chainrules_scipy.special import polygamma'"
    ),
    "grad(sized)(TWO)": BUFFER,
    "grad(lambda x: NUMERIC.array(x, float))(TWO)": "use x.astype(float)",
    "grad(lambda x: NUMERIC.array([x[0]], 'f4'))(TWO)": "use np.stack([x[0]]).astype('f4')",
    "grad(lambda p: np.asarray(p['a'], float))({'a': 2.0})": "use np.copy(p['a']).astype(float)",
    "grad(lambda x: np.asarray(x).astype(float))(1.0)": "use (np.asarray(x) + np.",
    "grad(lambda x: np.asarray(x).astype('f4'))(TWO)": "shape=())).astype('f4')",
    "(lambda w: grad(lambda x: (w * x).sum()))(xr.DataArray(TWO))(TWO)": "write w.values for w, a",
    "(lambda t: grad(lambda d: d['a'].sum())(t))(pd.DataFrame({'a': [1.0]}))": (
        "pass a dict of arrays, {c: table[c].to_numpy() for c in table}, in place of the table"
    ),
    "(lambda t: grad(np.sum)(t))(pd.DataFrame({'a': [1.0], 'b': ['u']}))": (
        "write t.select_dtypes('number').to_numpy()"
    ),
    "(lambda f: grad(lambda x: np.sum(f(x))))(numba.vectorize(lambda a: a * a))(TWO)": (
        "= primitive(f), and its derivative in @rule("
    ),
    "grad(lambda x: scipy.stats.norm(x, 1.0).pdf(0.3))(1.0)": (
        "use norm after 'from chainrules_scipy.stats import norm'"
    ),
    "grad(lambda x: np.linalg.lstsq(np.ones((2, 1)), list(x))[0][0])(TWO)": (
        "use np.linalg.lstsq(np.ones((2, 1)), np.stack(list(x)))"
    ),
    "grad(in_cell)(2.0)": (
        "t.loc[0, 'b'] += x\n  write into an array, b = t.to_numpy() + np.zeros_like(x, shape=()), "
        "in place of t, which holds plain numbers"
    ),
    "jacobian(lambda x: x * 2)(3)": "give floats (3.0 for 3)",
    "grad(sum)(iter([1.0, 2.0]))": "give a list of them, as list(x)",
    "grad(sum)({1.0, 2.0})": "give a list of them, as list(x)",
    "grad(sum)(collections.ChainMap({'a': 1.0}))": "give a dict of them, as dict(x)",
    "grad(sum)(types.MappingProxyType({'a': 1.0}))": "give a dict of them, as dict(x)",
    "grad(sum)(Fraction(1, 2))": "give a float, as float(x)",
    "grad(sum)(Decimal(2))": "give a float, as float(x)",
    "grad(sum)(Modelled(1.0))": "give a dict of them, as x.model_dump()",
    "grad(np.sum)(Measured(TWO))": "give x.magnitude, the numbers",
    "grad(lambda x: scipy.stats.expectile(x, alpha=0.3))(TWO)": (
        "op = primitive(...) of a function of all that is traced, state its rule"
    ),
    "grad(lambda x: (x * 1).resize((2, 2), refcheck=False))(TWO)": (
        "np.reshape(np.pad(np.ravel(x), (0, more)), shape)"
    ),
    "grad(lambda x: torch.sin(x))(1.0)": "use np.sin(x)",
    "grad(lambda x: torch.tensor(x))(1.0)": "use x",
    "grad(lambda x: (jnp.ones(2) * x).ptp())(TWO)": "use np.ptp(jnp.ones(2) * x)",
    "grad(lambda x: scipy.stats.gaussian_kde(x)(0.5)[0])(MANY)": "use gaussian_kde, which takes",
    "grad(lambda x: jnp.sin(x))(1.0)": "use np.sin(x)",
    "grad(lambda x: plt.plot(x))(TWO)": "use plt.plot(ignore_derivatives(x)), which is a constant",
    "grad(lambda x: np.sum((da.ones(2) * x).compute()))(TWO)": "leave .compute() out",
    "grad(lambda x: x.sum())(xr.DataArray(TWO))": "give xr.DataArray(TWO).values",
    "grad(lambda x: xr.DataArray(x).sum())(TWO)": "return the numbers or arrays themselves",
    "autograd.grad(lambda x: grad(lambda y: y * x)(1.0))(1.0)": "traced by autograd",
    "grad(lambda x: autograd.grad(lambda y: y * x)(1.0))(1.0)": "traced by autograd",
    "autograd.grad(lambda x: grad(lambda y: np.sum(y**2))(x)[0])(TWO)": "traced by autograd",
    "grad(lambda d: d['a'].sum())(pd.DataFrame({'a': [1.0, 2.0]}))": "table[c].to_numpy() for c",
    "grad(lambda p: np.sum(p.w))(Plain(TWO))": "as a @dataclasses.dataclass with w: object",
    "grad(lambda x: Plain(x))(1.0)": "a dataclass of them",
    "grad(lambda x: None)(1.0)": "did you forget return?",
    "value_and_grad(lambda x: None)(1.0)": "did you forget return?",
    "grad(lambda x: (x, 1.0))(1.0)": "has_aux=True",
    "grad(lambda x: {'loss': x})(1.0)": "return the number alone",
    "grad(lambda x: 1j * x)(1.0)": "np.real(...)",
    "grad(lambda x: x)(TWO)": "jacobian(f)",
    "grad(lambda x: np.sum(x > 1))(TWO)": "a comparison, or a count, gives a whole number",
    "hvp(lambda x: x, TWO, TWO)": "hvp needs one real number",
    "grad(lambda x: [x])(1.0)": "return the number alone",
    "grad(np.sum, TWO)": "call the result: grad(f)(x)",
    "jacobian(np.sum, TWO)": "call the result: jacobian(f)(x)",
    "grad(lambda x: x)(3)": "give floats (3.0 for 3)",
    "grad(lambda x: np.diff(x, x[0]).sum())(TWO)": (
        "hold it fixed, n=ignore_derivatives(n), "
        "after 'from chainrules_py import ignore_derivatives'"
    ),
    "grad(lambda x: scaled(1.0, k=x))(2.0)": (
        "write def scaled(x, k), without the *, and give @rule(scaled) one more LinearMap, for k"
    ),
    "grad(lambda x: x, argnums=3)(1.0)": "write argnums=0",
    "grad(lambda *, x: x)(x=1.0)": "write argnames='x'",
    "grad(lambda x, y: x * y, argnums=2)(1.0, 2.0)": "write argnums=0 or 1",
    "grad(lambda x: x.at[0].set(1.0).sum())(TWO)": "write y = np.copy(x), and y[i] = v, for x.at",
    "hvp(sliding, 1.0, 1.0)": "use np.cos(x)",
    "grad(grad(np.sum))(TWO)": "write hessian(sum)",
    "grad(put_in)(TWO)": BUFFER,
    "grad(put_in)(np.ones(2, np.float32))": BUFFER,
    "grad(put_in_narrow)(TWO)": BUFFER,
    "grad(lambda x: np.sin(x, 'x'))(TWO)": "leave 'x' out: the argument after the operands is an a",
    "grad(lambda p: np.sum(p['w']))(TWO)": "pass a dict of arrays",
    "grad(np.sum)(np.ma.masked_array(TWO))": "np.where(mask, 0.0, x)",
    "(lambda f: [f(TWO), f(TWO)])(compiled(lambda x: (LOG.append(1), np.sum(x))[1]))": (
        "is not a program: each call changes LOG"
    ),
    "compiled(lambda x: x * float(x[0]))(TWO)": "use x[0]",
    "(lambda f: [f(TWO), f(TWO)])(compiled(lambda x: x * np.random.rand()))": (
        "each call changes the state of np.random"
    ),
    "compiled(lambda x: x * len(str(x[0])))(TWO)": "print, or format, what the compiled function",
    "grad(lambda x: np.vectorize(lambda v: v * v)(x + 0j).real)(1.5)": (
        "use vectorize(lambda v: v * v)(x + 0j), after 'from chainrules_numpy"
    ),
    "grad(math.sin)(1.0)": "write a function in Python for math.sin, with NumPy's functions",
    "grad(lambda x: in_a_thread(math.exp, x))(1.0)": "use NumPy's functions of x, not plain ones",
    "grad(lambda d: d.loc[0, 'a'])(pd.DataFrame({'a': [1.0]}))": "or pass a dict of arrays",
    "grad(lambda d: d.a[0])(pd.DataFrame({'a': [1.0]}))": "which has no a\n",
    "grad(lambda s: s.apply(lambda v: v * v).sum())(pd.Series(TWO))": (
        "has no apply\n  model.py:1: s.apply\n  write it with NumPy's functions of the array s"
    ),
    "grad(lambda s: s.rolling(2).mean().sum())(pd.Series(TWO))": (
        "no rolling\n  model.py:1: s.rolling\n  write it with NumPy's functions of the array s"
    ),
    "grad(lambda s: s.plot())(pd.Series(TWO))": "with NumPy's functions of the array s",
    "grad(lambda x: np.sum(np.stack(pd.Series(x))))(TWO)": "np.stack(list(pd.Series(x))) for pd.S",
    "stored()": "write kept[:] = [ignore_derivatives(y) for y in kept] after the gradient",
    "stored_by_name()": "write best['w'] = ignore_derivatives(best['w']) after the gradient",
    "stored_globally()": "write LAST = ignore_derivatives(LAST) after the gradient, where it is",
    "stored_in_steps()": "h = ignore_derivatives(h) directly after the line that gives h this",
    "grad(lambda w: worded(w))(TWO)": "use np.dot of the arrays, table.select_dtypes('number')",
    "grad(located)(TWO)": (
        "write into an array, b = t.to_numpy() + np.zeros_like(x, shape=()), in place of t"
    ),
    "grad(Buffered())(1.0)": "add np.zeros_like(x, shape=()) to self.b where it is made, or to",
    "grad(Aliased())(1.0)": (
        "add np.zeros_like(x, shape=()) to b where it is made, or to the array that it is a part of"
    ),
    "grad(on_global)(TWO)": (
        "add np.zeros_like(x, shape=()) to STATE where it is made, or to the array that it is a par"
    ),
    "grad(on_series)(TWO)": "write into an array, b = s.to_numpy() + np.zeros_like(x, shape=())",
    "grad(recurring)(1.0)": BUFFER,
    "grad(lambda x: scipy.interpolate.interp1d(np.arange(2.0), TWO)(x))(0.5)": (
        "from chainrules_scipy.interpolate import interp1d"
    ),
    "grad(lambda x: (scipy.sparse.diags(x) @ TWO).sum())(TWO)": (
        "from chainrules_scipy.sparse import diags"
    ),
    "grad(lambda x: scipy.spatial.cKDTree(x[:, None]).query([[0.0]])[0][0])(TWO)": (
        "op = primitive(...) of a function of all that is traced, state its rule"
    ),
    "TWO - 0.1 * grad(np.sum)": "is a function, not a number; call it, as in grad(f)(x)",
    "TWO - grad(np.sum)": "is a function, not a number; call it, as in grad(f)(x)",
    "grad(lambda s: s.head(1).sum())(pd.Series([1.0, 2.0]))": "NumPy's functions of the array s",
    "(lambda f: grad(lambda x: f(x)))(jax.jit(lambda y: y * 2))(1.0)": (
        "make it an operation, f = chainrules_jax.import_rule(f)"
    ),
    "grad(lambda a, b: a * b, argnames='c')(1.0, 2.0)": "write argnames='a'",
    "grad(lambda x: np.sum(x.detach() * x))(TWO)": "use ignore_derivatives(x)",
    "grad(lambda x: np.sum(x).backward())(TWO)": "grad(f)(x) returns the gradient",
    "jacobian(lambda x: None)(TWO)": "did you forget return?",
    "compiled(lambda x: x * np.arange(3.0)[x.astype(int)])(TWO)": (
        "use take(np.arange(3.0), x.astype(int), axis=0)"
    ),
    "grad(lambda x: x * 2.0)('a')": "give floats or arrays of floats",
    "grad(3.0)": "write grad(f)(x) for that of f at x",
    "scalar_rule(of_any, lambda y, *xs: 1.0)": (
        "[LinearMap(lambda t, x=x: D * t, lambda c, x=x: D * c) for x in xs], D the partial in x"
    ),
    "grad(lambda y: halfway(1.0, y))(2.0)": "write it in place of NotImplementedTangent(...)",
    "jvp(np.sin, (TWO,), (np.ones(3),))": "give one of shape (2,)",
    "vjp(np.sin, TWO)[1](np.ones(3))": "give one of shape (2,)",
    "jvp(np.sin, 1.0, 1.0)": "write jvp(f, (x, ...), (x_dot, ...))",
    "grad(whole)(TWO)": "which is a constant, or make b of floats: it is of int64",
    "grad(lambda x: len(f'{x[0]:.3f}') * x[0])(TWO)": "write {ignore_derivatives(x[0]):.3f}",
    "grad(lambda x: math.fsum(x))(TWO)": "a traced float64[2] to float",
    "grad(lambda x: Decimal(x[0]))(TWO)": "a traced float64 scalar was given",
    "grad(filled)(TWO)": BUFFER,
    "grad(on_ones)(TWO)": BUFFER,
    "grad(of_complex)(TWO)": BUFFER,
    "grad(sliced)(TWO)": BUFFER,
    "grad(added)(TWO)": BUFFER,
    "grad(lambda x: {x: 1.0}[x])(1.0)": "ignore_derivatives(x)",
    "grad(lambda x: float(f'{x:.3f}'))(1.0)": "{ignore_derivatives(x):.3f}",
    "grad(lambda x: np.sum(np.vectorize(math.sin)(x)))(TWO)": "use vectorize(math.sin)(x), after",
    "grad(lambda x: np.random.default_rng(0).poisson(x))(1.0)": "the logarithm of its probability",
    "grad(lambda x: scipy.integrate.quad(lambda t: t * x, 0, 1)[0])(1.0)": (
        "from chainrules_scipy.integrate import quad"
    ),
    "grad(lambda x: scipy.stats.norm.logpdf(1.0, x))(1.0)": (
        "from chainrules_scipy.stats import norm"
    ),
    "grad(lambda x: np.sum(np.sin(x, signature='d->d')))(TWO)": "use np.sin(x)",
    "grad(lambda x: jsoned({'v': x}))(TWO)": "json.dumps(d, default=lambda v: ignore_deriv",
    "grad(lambda x: locked(x, np.ones(2)))(TWO)": (
        "make a copy, v = w.copy(), and write to v; read v, not w, after that, in the caller too"
    ),
    "grad(added_in_part)(TWO)": "add np.zeros_like(x, shape=()) to acc where it is made",
    "grad(looped)(TWO)": "add np.zeros_like(x, shape=()) to acc where it is made",
    "grad(lambda x: np.copyto(np.zeros(2), x))(TWO)": "np.copyto(np.zeros(2), x)",
    "grad(lambda x: into(x, np.zeros(2)))(TWO)": "add np.zeros_like(x, shape=()) to b where it is",
    "grad(lambda x: shuffled(np.stack([x] * 4)))(TWO)": "use y = y[rng.permutation(len(y))]",
    "grad(lambda x: scipy.optimize.brentq(lambda t: t - x, 0, 3))(1.0)": (
        "brentq takes plain values, and was given what is traced"
    ),
    "grad(lambda x: np.savetxt(io.StringIO(), x))(TWO)": "ignore_derivatives(x)",
    "grad(lambda x: np.linalg.det(np.array([[x[0], x[1]], [1.0, 2.0]])))(TWO)": (
        "np.stack([np.stack([x[0], x[1]]), np.stack([1.0, 2.0])])"
    ),
}


@primitive
def scaled(x, *, k):
    return x * k


@rule(scaled)
def scaled_rule(x, *, k):
    return x * k, (y_map(k),)


@primitive
def sliding(x):
    return np.sin(x)


scalar_rule(sliding, lambda y, x: math.cos(x))


@primitive
def of_any(*xs):
    return sum(xs)


@primitive
def halfway(x, y):
    return x * y


@rule(halfway)
def halfway_rule(x, y):
    pull = lambda c: NotImplementedTangent("z")
    return x * y, (y_map(y), LinearMap(pull, pull))


def y_map(y):
    return LinearMap(lambda t: y * t, lambda c: y * c)


def filled(x):
    b = np.zeros(2)
    b[0] = x[0]
    return np.sum(b)


@functools.lru_cache
def remembered(x):
    return x * x


def stored_by_name():
    best = {}
    grad(lambda x: best.update(w=x) or x * x)(2.0)
    return best["w"] + 1.0


def stored():
    kept = []
    grad(lambda x: kept.append(np.sum(x)) or kept[-1])(TWO)
    return 0.9 * kept[0]


def stored_globally():
    grad(lambda x: globals().update(LAST=x) or x * x)(2.0)
    return LAST + 1.0  # noqa: F821  # stored above


def stored_in_steps():
    kept = [0.1]

    def loss(w):
        h = kept[-1]
        for _ in range(3):
            h = np.tanh(w * h)
        kept.append(h)
        return h

    return grad(loss)(0.7) + grad(loss)(0.7)


def worded(w):
    table = LIBRARIES["pd"].load().DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0], "c": ["t", "u"]})
    return np.sum(table @ w)


def located(x):
    t = LIBRARIES["pd"].load().DataFrame({"a": [1.0, 2.0]})
    t.loc[0, "a"] = x[0]
    return np.sum(t["a"].to_numpy())


class Buffered:
    def __init__(self):
        self.b = np.zeros(2)

    def __call__(self, x):
        self.b[0] = x
        return np.sum(self.b)


class Aliased(Buffered):
    def __call__(self, x):
        b = self.b
        b[0] += x
        return np.sum(self.b)


STATE = np.ones(2)


def on_global(x):
    STATE[0] = x[0]
    return np.sum(STATE)


def on_series(x):
    s = LIBRARIES["pd"].load().Series([1.0, 2.0])
    s[0] = x[0]
    return np.sum(s)


def recurring(x):
    b = np.zeros(3)
    b[0] = 1.0
    for i in range(2):
        b[i + 1] = b[i] * x
    return b[2]


def in_a_thread(f, x):
    with multiprocessing.pool.ThreadPool(1) as pool:
        return pool.map(f, [x])[0]


def compiled(f):
    return pytest.importorskip("chainrules_compile").compile(f, strict=True)


LOG = []


def put_in_narrow(x):
    b = np.ones(2, np.float32)
    b[0] = x[0]
    return np.sum(b)


def put_in(x):
    b = np.zeros(2)
    b.fill(x[0])
    return np.sum(b)


def on_ones(x):
    b = np.ones(2)
    b[0] = x[0]
    return np.sum(b)


def of_complex(x):
    b = np.zeros(2, complex)
    b[0] = x[0]
    return np.sum(b.real)


def whole(x):
    b = np.zeros_like(np.array([1, 2]))
    b[0] = x[0]
    return np.sum(b)


class Modelled:
    """A model of pydantic's."""

    def __init__(self, a):
        self.a = a

    def __iter__(self):
        yield from vars(self).items()

    def model_dump(self):
        return vars(self)


class Measured:
    """A quantity of pint's."""

    def __init__(self, magnitude):
        self._magnitude = magnitude

    magnitude = property(lambda self: self._magnitude)
    dtype = property(lambda self: self._magnitude.dtype)
    shape = property(lambda self: self._magnitude.shape)


class Numeric:
    """An object that stands for NumPy."""

    def __getattr__(self, name):
        return getattr(np, name)


NUMERIC = Numeric()


def sized(x):
    n = len(x)
    b = np.zeros((n, n))
    b[0] = x
    return np.sum(b)


def sliced(x):
    b = np.zeros(4)
    b[:2] = x
    return np.sum(b)


def added(x):
    b = np.zeros(2)
    b += x
    return np.sum(b)


def looped(x):
    acc = np.zeros(2)
    for i in range(3):
        acc += x * i
    return np.sum(acc)


def added_in_part(x):
    acc = np.zeros((2, 2))
    acc[0] += x
    return np.sum(acc)


def into(x, b):
    np.sin(x, out=b)
    return np.sum(b)


def jsoned(d):
    json.dumps(d)
    return np.sum(d["v"])


def locked(x, w):
    y = x * w
    w[:] = 5.0
    return np.sum(y)


def shuffled(y):
    rng = np.random.default_rng(0)
    rng.shuffle(y)
    return np.sum(y)


def error_of(program, point=None, imports=None):
    """Run an expression, of a function of x if there is a point, and return what it raises.

    With ``imports``, a statement, it has no other names of chainrules_py.
    """
    names = {n.id for n in ast.walk(ast.parse(program)) if isinstance(n, ast.Name)}
    space = {**globals(), **{n: LIBRARIES[n].load() for n in names & LIBRARIES.keys()}}
    if imports is not None:
        space = {n: x for n, x in space.items() if n not in chainrules_py.__all__}
        exec(imports, space)
    if "scipy" in names:
        for module in ("integrate", "interpolate", "optimize", "sparse", "spatial", "stats"):
            importlib.import_module(f"scipy.{module}")
    text = program if point is None else f"grad(lambda x: {program})(point)"
    linecache.cache["model.py"] = len(text), None, [f"{text}\n"], "model.py"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(compile(text, "model.py", "eval"), {**space, "point": point})
    except Exception as error:
        return error
    return None


def text_of(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


@pytest.mark.parametrize("program", APPLIED)
def test_the_remedy_runs_where_it_is_applied(program):
    point, part = APPLIED[program]
    error = error_of(program, point)
    if part is None:  # it runs as it is
        assert error is None
        return
    assert isinstance(error, ChainRulesError), error
    assert part in str(error).splitlines()[2]
    mended = mended_by(error, program)
    imports = re.search(r"after '(from chainrules_py import .*)'", str(error))
    assert error_of(mended, point, imports[1] if imports else "") is None, mended


def mended_by(error, program):
    """Return a program where the remedy stands in place of what was refused."""
    _, where, write = str(error).splitlines()
    assert where.startswith("  model.py:1: ")
    refused = where.removeprefix("  model.py:1: ")
    instead = re.match(r"  use (.*?)(, and np|, which is|, whose|, without|, after '|$)", write)[1]
    left_out = re.search(r"(?:, without (\.\S+))?$", write)[1] or ""
    mended = ast.unparse(ast.parse(program)).replace(refused + left_out, instead)
    throughout = re.search(r", and np for (\S+) throughout$", write)
    return mended if throughout is None else mended.replace(f"{throughout[1]}.", "np.")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="refused, as APPLIED has it")
def test_a_weighted_mean_of_the_standard_library_has_its_derivative():
    slope = grad(lambda x: statistics.fmean(x, [1.0, 3.0]))(TWO)
    np.testing.assert_allclose(slope, [0.25, 0.75])


@pytest.mark.parametrize("program", TOLD)
def test_the_message_says_what_to_write(program):
    error = error_of(program)
    assert error is not None
    assert TOLD[program] in text_of(error)
    assert len(text_of(error).splitlines()) <= 3
    assert len(str(error)) <= 400, str(error)


@pytest.mark.parametrize("program", [*APPLIED, *TOLD])
def test_no_message_advises_what_fails_without_a_derivative(program):
    """``x.value`` is no attribute of a number, nor is a number taken by ``like=``."""
    error = error_of(program, *APPLIED.get(program, ())[:1])
    assert ".value " not in text_of(error)
    assert "like=" not in text_of(error)


@pytest.mark.parametrize("program", [each for each in APPLIED if re.search(r"pd\.|in_table", each)])
def test_what_is_advised_for_a_table_has_its_value(program):
    point = np.array([1.5, 0.5, 2.5])[: len(APPLIED[program][0])]
    space = {**globals(), **{n: each.load() for n, each in LIBRARIES.items() if n == "pd"}}
    mended = mended_by(error_of(program, APPLIED[program][0]), program)
    expected = eval(program, {**space, "x": point})
    np.testing.assert_allclose(eval(mended, {**space, "x": point}), expected)


def interpolated(x):
    from chainrules_scipy.interpolate import interp1d

    return np.sum(interp1d(np.arange(4.0), np.arange(4.0) ** 2)(x))


def sparse_sum(x):
    from chainrules_scipy.sparse import diags

    return (diags(x) @ np.array([1.0, 3.0])).sum()


def in_column(x):
    t = LIBRARIES["pd"].load().DataFrame({"a": [1.0, 2.0]})
    b = t.to_numpy() + np.zeros_like(x, shape=())
    b[0] = x[0]
    return np.sum(b**2)


def recurring_from_one(x):
    b = np.zeros(3) + np.zeros_like(x, shape=())
    b[0] = 1.0
    for i in range(2):
        b[i + 1] = b[i] * x[i]
    return b[2]


def of_state(x):
    b = STATE + np.zeros_like(x, shape=())
    b[0] = x[0]
    return np.sum(b * x)


def of_numbers(w):
    table = LIBRARIES["pd"].load().DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0], "c": ["t", "u"]})
    return np.sum(np.dot(table.select_dtypes("number").to_numpy(), w) ** 2)


def of_a_series(s):
    return np.sum(np.stack([*map(np.square, s)])) + np.mean(s)


@pytest.mark.parametrize(
    "f",
    [
        interpolated, sparse_sum, in_column, recurring_from_one, of_state, of_numbers,
        of_a_series,
    ],
)  # fmt: skip
def test_what_else_is_advised_has_the_derivative(f):
    if f in (interpolated, sparse_sum):
        pytest.importorskip("scipy")
    x, h = np.array([0.5, 1.25]), 1e-6
    differences = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(grad(f)(x), differences, rtol=1e-7, atol=1e-8)


BUFFERS = {
    "zeros": lambda x: np.zeros_like(x, shape=3, dtype=float),
    "ones": lambda x: np.ones_like(x, shape=3),
    "full": lambda x: np.full_like(x, x, shape=3),
    "stack": lambda x: np.stack([x, 2 * x, 1.0]),
    "copy": np.copy,
    "float": lambda x: float(ignore_derivatives(x)) * x,
    "rows": lambda x: np.zeros_like(x, shape=(2, 2)),
    "numbers that are there": lambda x: np.ones(2) + np.zeros_like(x, shape=2),
    "whole": lambda x: np.zeros_like(x, shape=2, dtype=float),
    "int": lambda x: int(ignore_derivatives(x)) * x,
    "text": lambda x: len(f"{ignore_derivatives(x):.3f}") * x,
}


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize("name", BUFFERS)
def test_what_is_advised_runs_plain_traced_and_compiled(name):
    compile = pytest.importorskip("chainrules_compile").compile
    f = lambda x: np.sum(BUFFERS[name](x)) + 0.0 * x
    for x in (0.5, np.float64(0.5), np.asarray(0.5), 2):
        value = f(x)
        assert value_and_grad(f)(float(x))[0] == f(float(x))
        assert jvp(f, (float(x),), (1.0,))[0] == f(float(x))
        assert np.isfinite(value)
    assert grad(lambda x: grad(f)(x) * x)(0.5) == grad(f)(0.5)
    compiled = compile(f)
    for x in (0.5, 1.7, 2.9):  # no number is baked in
        assert compiled(x) == f(x)
        assert compile(grad(f))(x) == grad(f)(x)


COLD = """
import numpy as np
from chainrules_tape import grad

def filled(x):
    b = np.zeros(2)
    b[0] = x
    return b[0]

for f in (filled, lambda x: np.array([x, 1.0], dtype=float)[0]):
    try:
        grad(f)(1.5)
    except Exception as error:
        print(str(error).splitlines()[2])
"""


def test_the_first_refusal_of_a_process_knows_numpy(tmp_path):
    """Python's numbers had loaded no array library, and so none of its advice."""
    (tmp_path / "cold.py").write_text(COLD, encoding="utf-8")
    run = [sys.executable, str(tmp_path / "cold.py")]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == [
        f"  {BUFFER}, or to the array that it is a part of",
        "  use np.stack([x, 1.0]).astype(float)",
    ]


def test_the_first_refusal_of_a_program_without_numpy_knows_it(tmp_path):
    (tmp_path / "cold.py").write_text(
        "import math\nfrom chainrules_tape import grad\n"
        "def f(x):\n    return 2.0 * math.sin(x)\n"
        "try:\n    grad(f)(1.3)\nexcept Exception as error:\n    print(error)\n",
        encoding="utf-8",
    )
    run = [sys.executable, str(tmp_path / "cold.py")]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[-1] == "  use np.sin(x), after 'import numpy as np'"


def test_a_zero_gradient_is_warned_of_where_it_is_taken():
    with pytest.warns(LostDerivativeWarning) as warned:
        grad(lambda x: 3.0)(TWO)
    assert warned[0].filename == __file__


def test_what_is_written_to_a_copy_or_a_dict_key_runs():
    def f(x, w):
        v = w.copy()
        y = x * w
        v[:] = 5.0
        d = {"v": x}
        text = json.dumps(d, default=lambda v: ignore_derivatives(v).tolist())
        return np.sum(y) * len(text) + len({bytes(ignore_derivatives(x)): 1})

    np.testing.assert_allclose(grad(f)(TWO, TWO), 17.0 * TWO)


def test_a_stored_loss_is_plain_where_a_number_is_wanted():
    losses = []

    def f(x):
        losses.append(np.sum(x**2))
        return losses[-1]

    for _ in range(3):
        grad(f)(TWO)
    assert np.mean(losses) == float(losses[0]) == np.array(losses)[1] == 2.0
    assert pickle.loads(pickle.dumps(losses)) == [2.0, 2.0, 2.0]
    assert f"{losses[0]:.1f}" == "2.0"
    with pytest.raises(
        ChainRulesError, match=r"losses\[0\], a traced float64 scalar, was used after the grad"
    ):
        losses[0] * 0.9
    program = "statistics.stdev(losses)"
    linecache.cache["model.py"] = len(program), None, [program], "model.py"
    with pytest.raises(ChainRulesError) as error:
        eval(compile(program, "model.py", "eval"), {"statistics": statistics, "losses": losses})
    mended = mended_by(error.value, program)
    assert eval(mended, {"statistics": statistics, "losses": losses}) == 0.0


def test_running_means_and_warm_starts_of_constants():
    state = {"mean": 0.0, "start": TWO}

    def f(x):
        loss = np.sum((x - 0.5 * state["start"]) ** 2)
        state["mean"] = 0.9 * state["mean"] + 0.1 * ignore_derivatives(loss)
        state["start"] = ignore_derivatives(x)
        return loss

    for _ in range(3):
        np.testing.assert_allclose(grad(f)(TWO), TWO)
    assert isinstance(state["mean"], float)


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.asarray(2.0), TWO, MANY], ids=repr)
def test_tests_take_traced_values(x):
    def f(y):
        np.testing.assert_allclose(y, x)
        np.testing.assert_array_equal(y, x)
        np.testing.assert_almost_equal(2.0 * y, 2.0 * x)
        np.testing.assert_array_less(y, x + 1.0)
        with pytest.raises(AssertionError):
            np.testing.assert_allclose(y, x + 1.0)
        return np.sum(y**2)

    np.testing.assert_allclose(grad(f)(x), 2.0 * x)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x)))(x), 2.0 * np.ones_like(x))


def test_a_step_of_a_dict_leaves_out_what_cannot_vary():
    p = {"w": TWO, "b": 1.5, "name": "relu", "act": np.tanh}
    g = grad(lambda p: np.sum(p["w"]) * p["b"])(p)
    assert g.keys() == {"w", "b"}
    step = {k: p[k] - 0.1 * g[k] for k in g}
    np.testing.assert_allclose(step["w"], TWO - 0.15)
    assert jvp(lambda p: np.sum(p["w"]) * p["b"], (p,), (g,))[1] == 8.5


def test_a_hessian_product_of_one_argument_is_of_its_type():
    np.testing.assert_allclose(hvp(lambda x: np.sum(x**3), TWO, TWO), 6.0 * TWO)
    assert type(hvp(lambda x: np.sum(x**3), (TWO,), (TWO,))) is tuple
