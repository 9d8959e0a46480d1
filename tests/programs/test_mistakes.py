"""Programs with one mistake each: the message names it in three lines, and its remedy runs.

Of a program the part in ``«»`` is what a remedy stands for. `test_refusals` has those of one line.
"""

from __future__ import annotations

import linecache
import subprocess
import sys
import warnings

import numpy as np
import pytest

from chainrules_py import LostDerivativeWarning
from chainrules_tape import grad

HEAD = """\
import dataclasses
import logging
import numpy as np
from chainrules_py import *
from chainrules_tape import Tape, checkpoint, grad, hessian, hvp, ignore_derivatives, jvp, vjp

x = np.array([1.0, 2.0])

@primitive
def f(x, /):
    return np.sin(x)

@primitive
def power(x, *, n):
    return x**n
"""

PART = "add np.zeros_like(x, shape=()) to {} where it is made, or to the array that it is a part of"
"""What is said of a buffer that another line than of this function makes."""

MISTAKES: dict[str, tuple[str, str, str]] = {
    # ------------------------------------------------------------ arrays, buffers, conversions
    "mean of an array of objects": (
        "grad(lambda x: np.mean(«np.array([x[0], x[1]])»))(x)",
        "program.py:17: np.array([x[0], x[1]])\n  use ",
        "np.stack([x[0], x[1]])",
    ),
    "variance of a matrix of objects": (
        "grad(lambda x: np.var(«np.array([[x[0], 1.0], [2.0, x[1]]])»))(x)",
        "numbers only\n  program.py:17: np.array([[x[0], 1.0], [2.0, x[1]]])",
        "np.stack([np.stack([x[0], 1.0]), np.stack([2.0, x[1]])])",
    ),
    "its method": (
        "grad(lambda x: «np.array([x[0], x[1]])».mean())(x)",
        "program.py:17",
        "np.stack([x[0], x[1]])",
    ),
    "an array of objects with a name": (
        "def g(x):\n    y = «np.array([x[0], x[1]])»\n    return np.std(y)\ngrad(g)(x)",
        "program.py:18: np.array([x[0], x[1]])",
        "np.stack([x[0], x[1]])",
    ),
    "a matrix of objects with a name": (
        (
            "def g(x):\n    y = «np.array([[x[0], 1.0], [2.0, x[1]]])»\n"
            "    return np.std(y)\ngrad(g)(x)"
        ),
        "program.py:18: np.array([[x[0], 1.0], [2.0, x[1]]])",
        "np.stack([np.stack([x[0], 1.0]), np.stack([2.0, x[1]])])",
    ),
    "determinant of objects": (
        "grad(lambda x: np.linalg.det(«np.array([[x[0], 1.0], [2.0, x[1]]])»))(x)",
        "program.py:17: np.array([[x[0], 1.0], [2.0, x[1]]])",
        "np.stack([np.stack([x[0], 1.0]), np.stack([2.0, x[1]])])",
    ),
    "transform of a list": (
        "grad(lambda x: np.abs(«np.fft.fft([x[0], x[1]])»)[1])(x)",
        "program.py:17: np.fft.fft([x[0], x[1]])",
        "np.fft.fft(np.stack([x[0], x[1]]))",
    ),
    "system of a long list": (
        "grad(lambda x: np.linalg.solve(«[[x[0], 1.0], [0.0, x[1]]]», [1.0, 1.0])[0])(x)",
        "use np.linalg.solve(np.stack(",
        "np.stack([np.stack([x[0], 1.0]), np.stack([0.0, x[1]])])",
    ),
    "whole numbers that are added to": (
        "def g(x):\n    k = np.arange(2)\n    «k += x»\n    return np.sum(k * k)\ngrad(g)(x)",
        "program.py:19: k += x\n  use k = k + x",
        "k = k + x",
    ),
    "written to a constant": (
        (
            "w = np.ones(2)\ndef g(x):\n    y = np.sum(w * x)\n    «w»[:] = 0.0\n    return y\n"
            "grad(g)(x)"
        ),
        "program.py:20: w[:] = 0.0\n  make a copy, v = w.copy(), and write to v",
        "w.copy()",
    ),
    "another library's function": (
        "import torch\ngrad(lambda x: «torch.sin(x)».sum())(x)",
        "program.py:18: torch.sin(x)\n  use np.sin(x)",
        "np.sin(x)",
    ),
    "its constant": (
        "import torch\ngrad(lambda x: torch.sin(ignore_derivatives(x)).sum())(x)",
        "must be Tensor, not numpy.ndarray",
        "",
    ),
    "buffer in a dict": (
        (
            "def g(x):\n    b = {'a': np.zeros(2)«»}\n    b['a'][0] = x[0]\n"
            "    return b['a'].sum()\ngrad(g)(x)"
        ),
        "program.py:19: b['a'][0] = x[0]",
        PART.format("b['a']"),
    ),
    "buffer of an object": (
        (
            "class Model:\n    def loss(self, y):\n        self.b = np.zeros(2)«»\n"
            "        self.b[0] = y[0]\n        return self.b.sum()\ngrad(Model().loss)(x)"
        ),
        "program.py:20: self.b[0] = y[0]",
        PART.format("self.b").replace("x", "y", 1),
    ),
    "buffer, where the value has another name": (
        (
            "def g(start):\n    z = [start[0] ** 2]\n    b = np.zeros(2)«»\n"
            "    b[0] = z[0]\n    return b.sum()\ngrad(g)(x)"
        ),
        "program.py:20: b[0] = z[0]",
        PART.format("b").replace("x", "start", 1),
    ),
    "buffer of whole numbers": (
        (
            "def g(x):\n    b = np.zeros_like(np.array([1, 2]))\n    b[0] = «x[0]»\n"
            "    return b.sum() * x[0]\ngrad(g)(x)"
        ),
        "program.py:19: b[0] = x[0]",
        "ignore_derivatives(x[0])",
    ),
    "copied into what has no name": (
        "grad(lambda x: np.copyto(«np.zeros(2)», x) or x[0])(x)",
        "program.py:17: np.copyto(np.zeros(2), x)",
        PART.format("np.zeros(2)"),
    ),
    "windows of pandas": (
        "import pandas as pd\ngrad(lambda x: «pd.Series(x).rolling(2).mean()».sum())(x)",
        "program.py:18: pd.Series(x).rolling(2).mean()",
        "write it with NumPy's functions of the arrays that the table is made of",
    ),
    "groups of pandas": (
        (
            "import pandas as pd\ng = [0, 1]\n"
            "grad(lambda x: np.sum(«pd.DataFrame({'a': x, 'g': g}).groupby('g').mean()»))(x)"
        ),
        "program.py:19: pd.DataFrame({'a': x, 'g': g}).groupby('g').mean()",
        "write it with NumPy's functions of the arrays that the table is made of",
    ),
    "a method of a Series": (
        "import pandas as pd\ngrad(lambda s: «s.fillna(0.0)».sum())(pd.Series(x))",
        "program.py:18: s.fillna",
        "write it with NumPy's functions of the array s",
    ),
    "a function of a Series": (
        "import pandas as pd\ngrad(lambda s: «s.quantile(0.5)»)(pd.Series(x))",
        "a table of pandas is an array where it is differentiated, which has no quantile",
        "write it with NumPy's functions of the array s",
    ),
    "values of a Series": (
        "import pandas as pd\ngrad(lambda s: «s.to_numpy()».sum())(pd.Series(x))",
        "  use s for s.to_numpy()",
        "s",
    ),
    "a library in C": (
        (
            "import ctypes, ctypes.util\nc = ctypes.CDLL(ctypes.util.find_library('m'))\n"
            "c.j0.restype, c.j0.argtypes = ctypes.c_double, [ctypes.c_double]\n"
            "«»grad(lambda x: c.j0(x))(1.0)"
        ),
        "program.py:20: c.j0(x)\n  write j0 = primitive(lambda x, /: c.j0(x)), and its derivative",
        "scalar_rule(j0, lambda y, x: ...)",
    ),
    # -------------------------------------------------------------------------- stating rules
    "bare rule": (
        (
            "@«rule»\ndef f_rule(x):\n    half = lambda t: t * np.cos(x)\n"
            "    return np.sin(x), (LinearMap(half, half),)"
        ),
        "does not say whose rule it is; write @rule(f) for the rule of f",
        "rule(f)",
    ),
    "bare rrule.register": (
        "@«rrule.register»\ndef f_rrule(x):\n    return np.sin(x), lambda t: (t * np.cos(x),)",
        "does not say whose rule it is",
        "rrule.register(f)",
    ),
    "bare frule.register": (
        "@«frule.register»\ndef f_frule(ts, x):\n    return np.sin(x), ts[0] * np.cos(x)",
        "does not say whose rule it is",
        "frule.register(f)",
    ),
    "bare scalar_rule": (
        "@scalar_rule\ndef f_rule(y, x):\n    return np.cos(x)",
        "scalar_rule(f_rule): no engine can see f_rule being called",
        "",
    ),
    "rule of what is differentiable": (
        "«scalar_rule(np.linalg.norm, lambda y, x: x / y)»\ngrad(np.linalg.norm)(x)",
        "norm is differentiable without a rule, by the rules of what it is made of; leave this",
        "",
    ),
    "rule of a function in C": (
        ("import math\n«»scalar_rule(math.sin, lambda y, x: np.cos(x))"),
        "write sin = primitive(math.sin), and call that",
        "sin = primitive(math.sin)",
    ),
    "two rules": (
        "scalar_rule(f, lambda y, x: np.cos(x))\n«scalar_rule(f, lambda y, x: np.cos(x))»",
        "f has two rules for the same types, at program.py:17 and at program.py:18; delete one",
        "",
    ),
    "rule of a method": (
        (
            "class M:\n    @primitive\n    def f(self, x):\n        return x\n"
            "scalar_rule(M.f, lambda y, x: 1.0)"
        ),
        "scalar_rule(M.f) cannot take self, which is not a number; write @rule(M.f)",
        "",
    ),
    "option given by place": (
        (
            "@rule(power)\ndef power_rule(x, *, n):\n    half = lambda t: n * t * x ** (n - 1)\n"
            "    return x**n, (LinearMap(half, half),)\ngrad(lambda x: power(«x, 2»))(1.5)"
        ),
        "write power(x, n=...)",
        "x, n=",
    ),
    "forgotten return of a pullback": (
        (
            "@rrule.register(f)\ndef f_rrule(x):\n    def pull(t):\n        «»(t * np.cos(x),)\n"
            "    return np.sin(x), pull\ngrad(f)(1.0)"
        ),
        "returned None: did you forget return?",
        "return",
    ),
    "forgotten return of a partial": (
        "def slope(y, x):\n    «»np.cos(x)\nscalar_rule(f, slope)\ngrad(f)(1.0)",
        "did you forget return?",
        "return",
    ),
    "functions for maps": (
        "@rule(f)\ndef f_rule(x):\n    return np.sin(x), (lambda t: t * np.cos(x),)\ngrad(f)(1.0)",
        "has to return one LinearMap(push, pull), or NoTangent(), for each of the operands (x)",
        "",
    ),
    # -------------------------------------------------------- functions that are differentiated
    "autograd's keyword": (
        "grad(lambda x, y: np.sum(x * y), «argnum»=1)(x, x)",
        "grad() got an unexpected keyword argument 'argnum'; did you mean argnums?",
        "argnums",
    ),
    "its keyword for a Hessian": (
        "hessian(lambda x, y: np.sum(x * y), «argnum»=1)(x, x)",
        "hessian() got an unexpected keyword argument 'argnum'; did you mean argnums?",
        "argnums",
    ),
    "another library's keyword": (
        "grad(lambda x, y: np.sum(x * y), «wrt»=1)(x, x)",
        "grad() got an unexpected keyword argument 'wrt'; help(grad) lists what it takes",
        "",
    ),
    "a name for a position": (
        "def g(x, y):\n    return np.sum(x * y)\ngrad(g, «argnums='y'»)(x, x)",
        "argnums holds 'y'",
        "argnames='y'",
    ),
    "a text as the first argument": (
        "grad(lambda kind, x: np.sum(x)«»)('sum', x)",
        "only str: give floats or arrays of floats, or choose another argument by argnums=",
        "",
    ),
    "no point for vjp": (
        "def g(x):\n    return np.sum(x)\n«y, pull = vjp(g)(x)»",
        "the point is given together with f: ",
        "y, pullback = vjp(f, x)",
    ),
    "a step of scan that returns the carry": (
        (
            "from chainrules_py.composites.higher_order import scan\n"
            "grad(lambda x: scan(lambda c, t: «0.5 * c + t», 0.0, x)[0])(x)"
        ),
        "a step of scan returns (carry, y), and this one returned float64[]",
        "return carry, None",
    ),
    "a carry of two numbers": (
        (
            "from chainrules_py.composites.higher_order import scan\n"
            "scan(lambda c, t: «0.5 * c + t», x, np.ones((3, 2)))"
        ),
        "a step of scan returns (carry, y), and this one returned float64[2]",
        "return carry, None",
    ),
    "the time before the state": (
        (
            "from chainrules_py.composites.higher_order import odeint\n"
            "def rate(«t, y»):\n    return np.stack([y[1], -y[0]])\n"
            "grad(lambda k: odeint(rate, np.stack([k, 0.0]), np.linspace(0.0, 1.0, 3))[-1, 0])(1.0)"
        ),
        "is not subscriptable",
        "odeint calls f(y, t, *params): the state comes before the time",
    ),
    "parameters as SciPy takes them": (
        (
            "from chainrules_py.composites.higher_order import root\n"
            "grad(lambda a: root(lambda y, a: y * y - a, 1.0, «args=(a,)»))(2.0)"
        ),
        "root() got an unexpected keyword argument 'args'; parameters of f follow the other",
        "root(f, ..., a, b)",
    ),
    "a list of rates": (
        (
            "from chainrules_py.composites.higher_order import odeint\n"
            "grad(lambda k: odeint(lambda y, t: «[y[1], -k * y[0]]», x, np.arange(2.0))[1, 0])(1.0)"
        ),
        "and its function gave [float64[], float64[]]; it has to give np.stack of the list",
        "np.stack of the list",
    ),
    "one cotangent for a pair": (
        "vjp(lambda x: (np.sin(x), np.cos(x)), x)[1](«x»)",
        "float64[2] is not a tangent of (float64[2], float64[2])",
        "give a tuple, with a tangent for each",
    ),
    "no return": ("grad(lambda x: None)(x)", "returned None: did you forget return?", ""),
    "a vector": (
        "grad(lambda x: «x**2»)(x)",
        "returned float64[2]: take np.sum(...) of it, or write jacobian(f)",
        "np.sum(",
    ),
    "hvp of a vector": (
        "hvp(lambda x: «x**2», x, x)",
        "hvp needs one real number, and <lambda> (program.py:17) returned float64[2]",
        "np.sum(",
    ),
    "a point for argnums": ("hessian(np.sum«, x»)", "call the result: hessian(f)(x)", ")(x"),
    "a class without fields": (
        (
            "@dataclasses.dataclass\nclass Model:\n    def __init__(self, w):\n        self.w = w\n"
            "grad(lambda m: np.sum(m.w))(Model(x))"
        ),
        "write Model as a @dataclasses.dataclass with w: object",
        "",
    ),
    "a tangent of another shape": (
        "jvp(np.sin, (x,), («x[:1]»,))",
        "a tangent of shape (1,) was given for float64[2]: give one of shape (2,)",
        "",
    ),
    "after the gradient": (
        (
            "losses = []\ndef loss(x):\n    losses.append(«np.sum(x**2)»)\n"
            "    return np.sum(x**2)\ngrad(loss)(x)\nlosses[0] * 2.0"
        ),
        "losses[0], a traced float64 scalar, was used after the grad",
        "ignore_derivatives(",
    ),
    # ------------------------------------------------------------------------ rules, mended
    "an option that is differentiated": (
        (
            "@primitive\n«def scaled(x, *, k):\n    return k * x\n"
            "linear_rule(scaled, lambda c, x, *, k: k * c)\n»"
            "grad(lambda k: np.sum(scaled(x, k=k)))(2.0)"
        ),
        "k of scaled is an option, in which no derivative is taken",
        "lambda y, x, k: ...) as its only rule, after 'from chainrules_py import scalar_rule'",
    ),
    "an operand of any number": (
        (
            "@primitive\ndef total(*xs):\n    return sum(xs)\n"
            "«scalar_rule(total, lambda y, *xs: 1.0)\n»grad(lambda x: total(x[0], x[1]))(x)"
        ),
        "gives 1 partial derivative(s), and total takes (*xs)\n  program.py:17\n  write @rule(",
        (
            "def rule_of_total(*xs): return total(*xs), "
            "[LinearMap(lambda t, x=x: D * t, lambda c, x=x: D * c) for x in xs], "
            "D the partial in x"
        ),
    ),
    "a derivative that is left out": (
        (
            "@primitive\ndef kv(v, x):\n    return x**v\n@rrule.register(kv)\n"
            "def kv_rrule(v, x):\n    y = kv(v, x)\n"
            "    return y, lambda y_bar: («NotImplementedTangent('v')», v * y / x * y_bar)\n"
            "grad(lambda v: kv(v, 2.0))(1.5)"
        ),
        "program.py:23: return y, lambda y_bar: (NotImplementedTangent('v'), v * y / x * y_bar)",
        "write it in place of NotImplementedTangent(...)",
    ),
    # ------------------------------------------------------------------------ other libraries
    "a function of numba": (
        "import numba\nh = numba.njit(lambda a: (a * a).sum())\ngrad(lambda x: «h(x)»)(x)",
        "h takes plain arrays",
        "h.py_func(x)",
    ),
    "a labelled array in the function": (
        "import xarray\nw = xarray.DataArray(x)\ngrad(lambda x: (x * «w»).sum())(x)",
        "has object[], which holds what is being differentiated",
        "w.values",
    ),
    "a labelled array as argument": (
        "import xarray\nw = xarray.DataArray(x)\ngrad(lambda v: (v * v).sum())(«w»)",
        "program.py:19: grad(lambda v: (v * v).sum())(w)",
        "w.values",
    ),
    "a column of a table": (
        "import pandas\nt = pandas.DataFrame({'a': x})\ngrad(lambda d: d['a'].sum())(«t»)",
        "program.py:19: d['a']",
        "{c: table[c].to_numpy() for c in table}",
    ),
    "a table with a column of text": (
        "import pandas\nt = pandas.DataFrame({'a': x, 'b': 'u'})\ngrad(np.sum)(«t»)",
        "a DataFrame of float64, ",
        "t.select_dtypes('number').to_numpy()",
    ),
    "rows in another order": (
        (
            "def g(v):\n    v = np.stack([v] * 4)\n    «np.random.default_rng(0).shuffle(v)»\n"
            "    return v[0, 0]\ngrad(g)(x)"
        ),
        "rows of a traced value, which are views, would be exchanged in place\n  program.py:19:",
        "v = v[np.random.default_rng(0).permutation(len(v))]",
    ),
    "mean of objects that are made elsewhere": (
        (
            "def simulate(x):\n    y = [v * v for v in x]\n    return «np.array(y)»\n"
            "grad(lambda x: np.mean((simulate(x) - 1.0) ** 2))(x)"
        ),
        (
            "an array of objects, of traced values, is given to what takes numbers only\n"
            "  program.py:19: np.array(y)\n  use np.stack(y)"
        ),
        "np.stack(y)",
    ),
    "rotation of SciPy": (
        (
            "from scipy.spatial.transform import Rotation as R\n«»"
            "grad(lambda x: R.from_rotvec(x).magnitude())(np.ones(3))"
        ),
        (
            "  program.py:18: R.from_rotvec(x)\n  use Rotation, which takes the same, after 'from "
            "chainrules_scipy.rotation import Rotation'"
        ),
        "from chainrules_scipy.rotation import Rotation",
    ),
    "method of a rotation": (
        (
            "from scipy.spatial.transform import Rotation as R\n«»"
            "grad(lambda x: R.from_rotvec(np.ones(3)).apply(x)[0])(np.ones(3))"
        ),
        (
            "  program.py:18: R.from_rotvec(np.ones(3)).apply(x)\n  use Rotation, which takes the "
            "same, after 'from chainrules_scipy.rotation import Rotation'"
        ),
        "from chainrules_scipy.rotation import Rotation",
    ),
    "factors of a sparse matrix": (
        (
            "import scipy.sparse\nfrom scipy.sparse.linalg import splu\n«»class Model:\n"
            "    def __init__(self):\n        self.lu = splu(scipy.sparse.eye(3, format='csc'))\n"
            "    def __call__(self, x):\n        return self.lu.solve(x)[0]\n"
            "grad(Model())(np.ones(3))"
        ),
        (
            "self.lu.solve takes plain values, and was given what is traced\n"
            "  program.py:23: self.lu.solve(x)\n  use splu, which takes the same, after 'from "
            "chainrules_scipy.sparse import splu'"
        ),
        "from chainrules_scipy.sparse import splu",
    ),
    **{
        f"{name} of SciPy{by}": (
            (
                f"«from scipy.sparse.linalg import {name}»\n"
                f"grad(lambda x: {name}(x, k=1{by})[{i}][0].real)(np.diag(np.arange(1.0, 5.0)))"
            ),
            f"program.py:18: {name}(x, k=1{by})\n  use {name}, which takes the same, after 'from ",
            f"from chainrules_scipy.sparse import {name}",
        )
        for name, i, by in (
            ("eigsh", 0, ""),
            ("eigsh", 0, ", sigma=0.5"),
            ("eigs", 0, ""),
            ("svds", 1, ""),
        )
    },
    "a part of complex numbers": (
        (
            "def g(x):\n    a = np.fft.fft(x, 4)[:2].real\n    «»a /= a[0]\n    return a[1]\n"
            "grad(g)(x)"
        ),
        "holds parts of the numbers of another array\n  program.py:19: a /= a[0]\n  write a = ",
        "a = a.copy()",
    ),
    # --------------------------------------------------------------------------- other engines
    "export to no engine": (
        "export(np.sin«»)",
        "missing 1 required keyword-only argument: 'to'",
        "",
    ),
    "export by another name": (
        "export(np.sin, to=«'pytorch'»)",
        "there is no exporter to 'pytorch'",
        "'torch'",
    ),
    "export to an engine that is not supported": (
        "export(np.sin, to=«'tensorflow'»)",
        "there is no exporter to 'tensorflow'",
        "write one of to='autograd', to='jax', to=",
    ),
    # ------------------------------------------------------- as other libraries have it, or nearly
    "hvp without a point": (
        "hess = «hvp(lambda x: np.sum(x**3))»\nhess(x, x)",
        "hvp() missing 2 required positional arguments: 'primals' and 'tangents'",
        "",
    ),
    "checkpoint with a point": (
        "g = lambda x: np.sum(x**3)\ngrad(lambda x: «checkpoint(g, x)»)(x)",
        "checkpoint() takes the function alone",
        "checkpoint(f)(x)",
    ),
    "JAX's static arguments": (
        (
            "from chainrules_compile import compile\n"
            "compile(lambda n, x: np.sum(x**n), «static_argnums»=0)(2, x)"
        ),
        "compile() got an unexpected keyword argument 'static_argnums'; did you mean static?",
        "static",
    ),
    "a keyword of another compiler": (
        "from chainrules_compile import compile\ncompile(f, «nopython»=True)",
        (
            "compile() got an unexpected keyword argument 'nopython'; help(compile) lists what it "
            "takes"
        ),
        "",
    ),
    "PyTorch's backward": (
        "with Tape() as tape:\n    v = tape.variable(x)\n    y = np.sum(v**2)\n«y.backward()»",
        "object has no attribute 'backward'",
        "tape.grad(loss, x)",
    ),
    "PyTorch's grad": (
        "with Tape() as tape:\n    v = tape.variable(x)\n    y = np.sum(v**2)\n«v.grad»",
        "object has no attribute 'grad'",
        "tape.grad(loss, x)",
    ),
    "work after the block": (
        (
            "with Tape() as tape:\n    v = tape.variable(x)\n    y = np.sum(v**2)\n"
            "«»loss = np.log(y)\ntape.grad(loss, v)"
        ),
        "y, a traced float64 scalar, was used after",
        "move this line into the 'with Tape()' block",
    ),
    "a pool of processes": (
        (
            "import concurrent.futures as c\ndef f(x):\n"
            "    with c.«Process»PoolExecutor(1) as pool: return sum(pool.map(np.sin, [x, x]))\n"
            "grad(f)(2.0)"
        ),
        "cannot pickle a traced float",
        "use threads, which trace",
    ),
    "a constraint of traced numbers": (
        (
            "from scipy.optimize import LinearConstraint, NonlinearConstraint\n"
            "from chainrules_scipy.optimize import minimize\n"
            "grad(lambda p: minimize(lambda x: np.sum((x - 2.0)**2), np.zeros(2), "
            "method='SLSQP', constraints=«LinearConstraint(np.array([[p[0], 1.0]]), "
            "-np.inf, 1.0)»).x[0])(np.array([1.3]))"
        ),
        "cannot convert a traced float64 scalar to float",
        "use NonlinearConstraint(lambda x: np.array([[p[0], 1.0]]) @ x, lb, ub)",
    ),
    "fields of an array": (
        "grad(lambda r: np.sum(r['a'] ** 2))(«np.ones(3, [('a', float), ('b', float)])»)",
        "holds numbers that no derivative is known in",
        "{name: x[name] for name in x.dtype.names}",
    ),
    "a second gradient, after one inside the block": (
        (
            "with Tape(«») as tape:\n    v = tape.variable(x)\n    y = np.sum(v**2)\n"
            "    tape.grad(y, v)\ntape.grad(y, v)"
        ),
        "this tape was consumed by its first gradient",
        "persistent=True",
    ),
    "a value for a function": (
        "grad(«np.ones((9, 9))»)",
        "float64[9,9] is not a function, so it has no derivative",
        "write grad(f)(x)",
    ),
    "a matrix for argnums": (
        "grad(lambda x: np.sum(x**2)«, np.ones((9, 9))»)",
        "argnums holds float64[9,9]",
        "grad(f)(x)",
    ),
    "a comparison": (
        "grad(lambda x: «x > 0.0»)(1.0)",
        "returned bool: a comparison has no derivative",
        "return the number that is compared",
    ),
    "a push of two tangents for one operand": (
        "from chainrules_tape import linearize\nlinearize(f, x)[1](«x, x»)",
        "push takes one tangent for each primal",
        "push(x_dot, ...)",
    ),
    "a number for a hook": (
        "from chainrules_tape import hook\ngrad(lambda x: (hook(x, 3.0), np.sum(x))[1])(x)",
        "hook() takes a function of the cotangent, and got float",
        "",
    ),
    "an argument that is the same for all examples": (
        (
            "from chainrules_tape.tools import vmap\n"
            "vmap(lambda w, x: w @ x«»)(np.ones(3), np.ones((5, 3)))"
        ),
        "vmap of <lambda> takes arguments that count the same examples",
        "in_axes=(0, None)",
    ),
    "vmap with its point": (
        "from chainrules_tape.tools import vmap\nvmap(f, np.ones((9, 9)))(x)",
        "in_axes=float64[9,9] has 9 entries",
        "",
    ),
    "custom_vjp without its halves": (
        (
            "from chainrules_kit.custom_derivatives import custom_vjp\n"
            "@custom_vjp\ndef g(x):\n    return x**2\ngrad(g)(2.0)"
        ),
        "no rrule for g(float)",
        "write g.defvjp(g_fwd, g_bwd)",
    ),
    "operand and tangent in the order of a jvp": (
        (
            "@primitive\ndef g(x):\n    return np.sin(x)\n@frule.register(g)\n"
            "def g_frule(«x, x_dot»):\n    return np.sin(x), np.cos(x) * x_dot\n"
        ),
        "takes x where it is given the tangents of all operands, a tuple",
        "g_frule(tangents, x)",
    ),
    "a root without a start": (
        "from chainrules_py.composites.higher_order import root\nroot(lambda z: z**2 - 2.0«»)",
        "root() missing a required argument: 'x0'",
        "'x0'",
    ),
    "a matrix for its product": (
        (
            "from chainrules_py.composites.higher_order import linear_solve\n"
            "A = np.eye(2)\ngrad(lambda b: np.sum(linear_solve(«A», b)))(x)"
        ),
        (
            "linear_solve() takes a function, as lambda y: A @ y is of a matrix A, and got "
            "float64[2,2], "
        ),
        "lambda y: A @ y",
    ),
    "a traced root without a start": (
        (
            "from chainrules_py.composites.higher_order import root\n"
            "grad(lambda a: root(lambda z: z**2 - a«»))(2.0)"
        ),
        "root(): missing a required argument: 'x0'; write root(f, x0, *params, ",
        "root(f, x0",
    ),
    "an equation without its unknown": (
        (
            "from chainrules_py.composites.higher_order import root\n"
            "grad(lambda a: root(lambda z: «a», 1.0))(2.0)"
        ),
        "the linear system is singular to working precision; its matrix, which is the derivative",
        "",
    ),
    "a map that is in no tuple": (
        (
            "@rule(f)\ndef f_rule(x):\n    return np.sin(x), "
            "«LinearMap(lambda t: np.cos(x) * t, lambda t: np.cos(x) * t)»\ngrad(f)(1.0)"
        ),
        "has to return its value and a tuple of maps, and returned (",
        "write return y, (LinearMap(push, pull),), after",
    ),
    "an open file": (
        "import io\ngrad(np.sum)(«io.StringIO('1 2')»)",
        "StringIO holds numbers that no derivative is known in",
        "np.loadtxt(x)",
    ),
    "NumPy's vectorize of floats": (
        (
            "from chainrules_numpy.composites.mapping import vectorize\n"
            "grad(lambda x: np.sum(«np.vectorize(lambda v: v**2, otypes=[float])(x)»))(x)"
        ),
        "use vectorize(lambda v: v ** 2)(x), after 'from chainrules_numpy.composites.mapping",
        "vectorize(lambda v: v ** 2)(x)",
    ),
    "NumPy's vectorize with a name": (
        (
            "from chainrules_numpy.composites.mapping import vectorize\n"
            "h = np.vectorize(lambda v: v**2, otypes=[float])\n"
            "grad(lambda x: np.sum(«h(x)»))(x)"
        ),
        "program.py:19: h(x)",
        "vectorize(h.pyfunc)(x)",
    ),
    "a ufunc of Python": (
        (
            "from chainrules_numpy.composites.mapping import vectorize\n"
            "grad(lambda x: np.sum(«np.frompyfunc(lambda v: v**2, 1, 1)(x)»))(x)"
        ),
        "has no derivative that is known",
        "write vectorize(f)(x), of its function f in Python, after",
    ),
    "a value that is kept": (
        (
            "def g(x):\n    global best\n    best = x * 2\n    return np.sum(best)\n"
            "grad(g)(x)\n«»\nnp.sum(x * best)"
        ),
        "best, a traced float64[2], was used after",
        "best = ignore_derivatives(best)",
    ),
    "a value that an object keeps": (
        (
            "class S:\n    v = 0.0\n    def step(self, x):\n        self.v = self.v + x[0] * x[1]\n"
            "        return self.v**2\nself = S()\ngrad(self.step)(x)\n«»\ngrad(self.step)(x)"
        ),
        (
            "self.v + x[0] * x[1]\n  write self.v = ignore_derivatives(self.v) after the gradient, "
            "where it is taken"
        ),
        "self.v = ignore_derivatives(self.v)",
    ),
    "an np.matrix as a buffer": (
        (
            "def g(x):\n    m = np.matrix([[1.0, 2.0]])\n    «»\n    m[0, 0] = x[0]\n"
            "    return m.sum()\ngrad(g)(x)"
        ),
        "program.py:20: m[0, 0] = x[0]",
        PART.format("m"),
    ),
    "a row of a buffer": (
        (
            "def g(x):\n    A = np.zeros((2, 2))«»\n    r = A[1]\n    r[:] = x\n"
            "    return np.sum(A**2)\ngrad(g)(x)"
        ),
        "program.py:20: r[:] = x",
        PART.format("r"),
    ),
    "a column that is added to": (
        (
            "def g(x):\n    A = np.ones((2, 2))«»\n    d = A[:, 0]\n    d += x\n"
            "    return np.sum(A**2)\ngrad(g)(x)"
        ),
        "program.py:20: d += x",
        PART.format("d"),
    ),
    "a buffer by another name": (
        (
            "def g(x):\n    A = np.zeros(3)«»\n    b = A\n    b[0] = x[0]\n    return np.sum(A)\n"
            "grad(g)(x)"
        ),
        "program.py:20: b[0] = x[0]",
        PART.format("b"),
    ),
    "a buffer that a helper is given": (
        (
            "def fill(out, x):\n    out[0] = x[0]\ndef g(x):\n    y = np.zeros(3)«»\n"
            "    fill(y, x)\n    return np.sum(y)\ngrad(g)(x)"
        ),
        "program.py:18: out[0] = x[0]",
        PART.format("out"),
    ),
    "rows of an attribute": (
        (
            "class R:\n    def run(self, x):\n        self.s = np.zeros((3, 2))«»\n"
            "        for t in range(1, 3):\n            self.s[t] = np.tanh(self.s[t - 1] + x)\n"
            "        return np.sum(self.s)\ng = lambda x: R().run(x)\ngrad(g)(x)"
        ),
        "program.py:21: self.s[t] = np.tanh(self.s[t - 1] + x)",
        PART.format("self.s"),
    ),
    "elements of an array in a dict": (
        (
            "def g(x):\n    P = {'m': np.zeros(2)«»}\n    for k in range(2):\n"
            "        P['m'][k] = np.exp(x[k])\n    return np.sum(P['m'])\ngrad(g)(x)"
        ),
        "program.py:20: P['m'][k] = np.exp(x[k])",
        PART.format("P['m']"),
    ),
    "an array in a dict, by another name": (
        (
            "def g(x):\n    P = {'Q': np.zeros(2)«»}\n    for i in range(2):\n"
            "        Q = P['Q']\n        Q[i] = np.exp(x[i])\n    return np.sum(P['Q'])\ngrad(g)(x)"
        ),
        "program.py:21: Q[i] = np.exp(x[i])",
        PART.format("Q"),
    ),
    "an array in a dict of a module": (
        (
            "P = {'Q': np.zeros(2)}\ndef g(x):\n    P.update(Q=np.zeros(2)«»)\n"
            "    Q = P['Q']\n    Q[1] = x[1] ** 2\n    return np.sum(P['Q'])\ngrad(g)(x)"
        ),
        "program.py:21: Q[1] = x[1] ** 2",
        PART.format("Q"),
    ),
    "a buffer beside an array of objects": (
        (
            "def fill(h):\n    A = np.zeros((3, 3))«»\n    A[0, 0] = h[0] ** 2\n    return A\n"
            "g = lambda x: np.sum(np.exp(fill(np.diff([0, x[0], x[1]]))))\ngrad(g)(x)"
        ),
        "program.py:19: A[0, 0] = h[0] ** 2",
        PART.format("A"),
    ),
    "a block of a buffer, of objects": (
        (
            "def g(x):\n    y = np.asarray([x])\n    U = np.zeros((2, 4))«»\n    U[:1, 2:] = y\n"
            "    return np.sum(U**3)\ngrad(g)(x)"
        ),
        "program.py:20: U[:1, 2:] = y",
        PART.format("U"),
    ),
    "a place in a row of a buffer": (
        (
            "def g(x):\n    u = np.zeros((2, 3))«»\n    for i in range(2):\n"
            "        u[i][i] = x[i] ** 2\n    return np.sum(u)\ngrad(g)(x)"
        ),
        "program.py:20: u[i][i] = x[i] ** 2",
        PART.format("u"),
    ),
    "a buffer of the function around": (
        (
            "def g(x):\n    b = np.zeros(2)«»\n    def put(i):\n        b[i] = x[i] ** 2\n"
            "    put(0)\n    put(1)\n    return np.sum(b)\ngrad(g)(x)"
        ),
        "program.py:20: b[i] = x[i] ** 2",
        PART.format("b"),
    ),
    "columns beside plain ones": (
        (
            "def g(x):\n    y = np.stack([x] * 60)\n"
            "    return np.sum(«np.c_[np.ones(60), y]» ** 2)\ngrad(g)(x)"
        ),
        "program.py:19: np.c_[np.ones(60), y]",
        "np.column_stack([a, b]) for np.c_[a, b]",
    ),
    "an output within an expression": (
        (
            "def g(x):\n    y, n = 1.0 * x, np.array([1.0, 2.0])\n"
            "    «z = 2.0 * np.cumsum(y * n, out=y)»\n    return np.sum(z * y)\n"
            "grad(g)(x)"
        ),
        "before this line, and y for np.cumsum(y * n, out=y)",
        "write y[...] = np.cumsum(y * n)",
    ),
    "elements of a buffer that are assigned together": (
        (
            "def g(x):\n    y = np.zeros(3)«»\n    y[0], y[1] = x[0], x[1] ** 2\n"
            "    return np.sum(y)\ngrad(g)(x)"
        ),
        "program.py:19: y[0]",
        PART.format("y"),
    ),
    "an array that is sorted in place": (
        (
            "def g(x):\n    c = np.array([2.0, 1.0])\n    y = np.sum(x * c)\n    «c».sort()\n"
            "    return y\ngrad(g)(x)"
        ),
        "program.py:20: c.sort()",
        "c.copy()",
    ),
    "an array that is shuffled": (
        (
            "def g(x):\n    c = np.array([2.0, 1.0])\n    y = np.sum(x * c)\n"
            "    np.random.default_rng(0).shuffle(«c»)\n    return y\ngrad(g)(x)"
        ),
        "program.py:20: np.random.default_rng(0).shuffle(c)",
        "c.copy()",
    ),
    "a quantile of a list": (
        "grad(lambda x: «np.quantile(list(x), 0.5)»)(x)",
        "program.py:17: np.quantile(list(x), 0.5)",
        "np.quantile(np.stack(list(x)), 0.5)",
    ),
    "numbers as objects": (
        "grad(lambda x: np.sum(«np.add(x, 1.0, dtype=object)»))(x)",
        "add of float64 has no derivative with dtype=object",
        "np.add(x, 1.0)",
    ),
    "a method that is not called": (
        "grad(lambda x: «x.sum»)(x)",
        "holds what is being differentiated where no derivative sees it",
        "call it, and return what it gives",
    ),
    "a command": (
        (
            "import subprocess\n"
            "grad(lambda x: np.sum(x) + "
            "«subprocess.run(['true', x[0]], capture_output=True)».returncode)(x)"
        ),
        "a traced value was given to subprocess.run, which takes plain values",
        "subprocess.run(['true', str(ignore_derivatives(x[0]))], capture_output=True)",
    ),
    "a text for a number": (
        "grad(lambda x: np.sum(np.where(x > 1, x, «'nan'»)))(x)",
        "no rrule for where(ndarray, ndarray, str)",
        "a text is no number; give a number",
    ),
    "the length of a number": (
        "grad(lambda x: «len(np.sum(x))» * x[0])(x)",
        "has no len()",
        "",
    ),
    "a part of the operands to check": (
        (
            "from chainrules_py.testing import check_rule\n"
            "@primitive\ndef area(w, h):\n    return w * h\n"
            "scalar_rule(area, lambda y, w, h: h, lambda y, w, h: w)\n"
            "w, h = 2.0, 3.0\n«check_rule(area, w)»"
        ),
        "misses h, without default",
        "check_rule(area, w, h)",
    ),
    "a vector to minimise": (
        (
            "from chainrules_py.composites.higher_order import minimize\n"
            "minimize(lambda z: «(z - 1.0) ** 2», x)"
        ),
        "minimize is of a function that gives one real number, and this one gave float64[2]",
        "take np.sum(...) of it",
    ),
    "a scan of what is carried": (
        (
            "from chainrules_py.composites.higher_order import scan\n"
            "scan(lambda s, t: (s + t, s), «x, 0.0»)"
        ),
        "there are no slices along the leading axis",
        "scan(f, initial, xs)",
    ),
    "one time for an equation": (
        (
            "from chainrules_py.composites.higher_order import odeint\n"
            "odeint(lambda y, t: -y, 1.0, 2.0)"
        ),
        "odeint takes its times as an array of shape (n,), the first of them that of y0",
        "",
    ),
    "check_rule without a point": (
        (
            "from chainrules_py.testing import check_rule\n"
            "scalar_rule(f, lambda y, x: np.cos(x))\n«check_rule(f)»"
        ),
        "misses x, without default",
        "check_rule(f, x)",
    ),
    "elements in order": (
        "def g(x):\n    A = np.eye(2)\n    «A.flat[1] = x»\n    return np.sum(A @ A)\ngrad(g)(1.0)",
        "a traced value is written into a plain array",
        f"write A.ravel()[1] = x, and {PART.format('A')}",
    ),
    "every third element in order": (
        "def g(x):\n    A = np.eye(2)\n    «A.flat[::3] = x»\n    return np.sum(A @ A)\ngrad(g)(x)",
        "program.py:19: A.flat[::3] = x",
        f"write A.ravel()[::3] = x, and {PART.format('A')}",
    ),
    "all elements in order": (
        "def g(x):\n    b = np.ones(2)\n    «b.flat = x»\n    return np.sum(b**2)\ngrad(g)(x)",
        "program.py:19: b.flat = x",
        f"write b.ravel()[...] = x, and {PART.format('b')}",
    ),
    "elements in order of what is traced": (
        (
            "def g(x):\n    y = 2.0 * x\n    «y.flat[0]» = 0.0\n    return np.sum(y)\n"
            "grad(g)(np.ones(9))"
        ),
        "flat of float64[9] stands for its memory",
        "x[np.unravel_index(np.arange(x.size)[i], x.shape)] = y",
    ),
    "fields of a structured array": (
        (
            "def g(x):\n    t = np.zeros(2, [('a', float), ('b', float)])\n    «»t['a'] = x\n"
            "    return np.sum(t['a'] ** 2)\ngrad(g)(x)"
        ),
        "program.py:19: t['a'] = x",
        "t = {field: t[field] for field in t.dtype.names}",
    ),
    "elements that are not masked": (
        "grad(lambda x: «np.ma.mean(np.ma.masked_array(x, mask=[False, True]) ** 2)»)(x)",
        "np.ma.masked_array(x, mask=[False, True])",
        "x[~np.array([False, True], bool)]",
    ),
    "greatest element that is not masked": (
        (
            "def g(x):\n    m = np.ma.masked_array(x, mask=[False, True])\n"
            "    return «m.max()»\ngrad(g)(x)"
        ),
        "m.max takes plain values, and was given what is traced",
        "write m.data[~np.ma.getmaskarray(m)], which are the others, and np for np.ma",
    ),
    "a masked array that is filled": (
        "grad(lambda x: np.sum(«np.ma.masked_array(x, mask=[False, True]).filled()»))(x)",
        "np.ma.masked_array(x, mask=[False, True])",
        "np.where([False, True], fill, x), which is filled",
    ),
    "array of the standard library": (
        "import array\ngrad(lambda x: np.sum(«array.array('d', [x, 2 * x])»))(1.0)",
        "program.py:18: array.array('d', [x, 2 * x])",
        "np.stack([x, 2 * x])",
    ),
    "a geometric mean": (
        "import statistics\ngrad(lambda x: «statistics.geometric_mean(list(x))»)(x)",
        "program.py:18: statistics.geometric_mean(list(x))",
        "np.exp(np.mean(np.log(np.stack(list(x)))))",
    ),
    "a harmonic mean": (
        "import statistics\ngrad(lambda x: «statistics.harmonic_mean([x[0], x[1]])»)(x)",
        "program.py:18: statistics.harmonic_mean([x[0], x[1]])",
        "1.0 / np.mean(1.0 / np.stack([x[0], x[1]]))",
    ),
    "math in a partial": (
        (
            "import functools, math\npowered = functools.partial(«math.pow», 2.0)\n"
            "grad(lambda x: powered(x))(1.0)"
        ),
        "program.py:19: powered(x)",
        "write a function in Python for powered, with NumPy's functions",
    ),
    "two numbers for an array": (
        "grad(lambda x: «np.max(x[0], x[1])»)(x)",
        "program.py:17: np.max(x[0], x[1])",
        "np.maximum(x[0], x[1])",
    ),
    "a mean of two numbers": (
        "grad(lambda x: «np.mean(x[0], x[1])»)(x)",
        "program.py:17: np.mean(x[0], x[1])",
        "np.mean(np.stack([x[0], x[1]]))",
    ),
    "arrays without a list": (
        "grad(lambda x: np.sum(«np.concatenate(x, x)»))(x)",
        "program.py:17: np.concatenate(x, x)",
        "np.concatenate([x, x])",
    ),
    "an axis that is differentiated": (
        "grad(lambda n: np.sum(np.stack([x, x], «n»)))(1.0)",
        "np.stack([x, x], n)",
        "int(ignore_derivatives(n))",
    ),
    "its bytes": (
        "grad(lambda x: np.sum(x) * len(bytes(«x»)))(np.ones(2))",
        "use bytes(ignore_derivatives(x)), which is a constant",
        "bytes(ignore_derivatives(x))",
    ),
    "about as large": (
        "import pytest\ny = np.ones(2)\ngrad(lambda x: np.sum(x * («x == pytest.approx(y)»)))(y)",
        "use ignore_derivatives(x) == pytest.approx(y), which is a constant",
        "ignore_derivatives(x) == pytest.approx(y)",
    ),
    "a pause": (
        "import time\ngrad(lambda x: (time.sleep(«x / 1e4»), x**2)[1])(1.0)",
        "use time.sleep(ignore_derivatives(x / 10000.0)), which is a constant",
        "ignore_derivatives(x / 10000.0)",
    ),
    "ctypes": (
        "import ctypes\ngrad(lambda x: ctypes.c_double(x).value)(1.0)",
        "call the function of C in a primitive",
        "scalar_rule(f, lambda y, x: ...)",
    ),
    "a tensor that PyTorch differentiates": (
        (
            "import torch\nt = torch.ones(3, requires_grad=True)\n"
            "grad(lambda x: np.sum(x + np.ones(3)))(t«»)"
        ),
        "a tensor that PyTorch differentiates is an argument of what is differentiated",
        "x.detach()",
    ),
    "a module of PyTorch": (
        "import torch\nlin = torch.nn.Linear(2, 1).double()\n«»grad(lambda x: lin(x).sum())(x)",
        "which PyTorch differentiates as well, would become a plain array",
        "f = chainrules_torch.import_rule(f)",
    ),
    "export of a number": ("export(3.0, to='torch')", "export(float): not a function", ""),
}

MENDED = {
    "a method that is not called": "x.sum()",
    "a traced root without a start": ", 1.0",
    "a map that is in no tuple": "(LinearMap(lambda t: np.cos(x) * t, lambda t: np.cos(x) * t),)",
    "an open file": "np.loadtxt(io.StringIO('1 2'))",
    "a ufunc of Python": "vectorize(lambda v: v**2)(x)",
    "a text for a number": "np.nan",
    "a part of complex numbers": "a = a.copy()\n    ",
    "elements that are not masked": "np.mean(x[~np.array([False, True], bool)] ** 2)",
    "a masked array that is filled": "np.where([False, True], 1e20, x)",
    "greatest element that is not masked": "np.max(m.data[~np.ma.getmaskarray(m)])",
    "checkpoint with a point": "checkpoint(g)(x)",
    "PyTorch's backward": "tape.grad(y, v)",
    "PyTorch's grad": "tape.grad(y, v)",
    "work after the block": "    ",
    "a pool of processes": "Thread",
    "a constraint of traced numbers": (
        "NonlinearConstraint(lambda x: np.array([[p[0], 1.0]]) @ x, -np.inf, 1.0)"
    ),
    "fields of an array": "{'a': np.ones(3), 'b': np.ones(3)}",
    "a value for a function": "f",
    "a matrix for argnums": "",
    "a comparison": "x",
    "a push of two tangents for one operand": "x",
    "an argument that is the same for all examples": ", in_axes=(None, 0)",
    "custom_vjp without its halves": "",
    "operand and tangent in the order of a jvp": "tangents, x",
    "a root without a start": ", 1.0",
    "a vector to minimise": "np.sum((z - 1.0) ** 2)",
    "a scan of what is carried": "0.0, x",
    "check_rule without a point": "check_rule(f, x)",
    "elements in order": "A = A + np.zeros_like(x, shape=()); A.ravel()[1] = x",
    "every third element in order": "A = A + np.zeros_like(x, shape=()); A.ravel()[::3] = x",
    **dict.fromkeys(
        (
            "buffer in a dict",
            "a row of a buffer",
            "a column that is added to",
            "a buffer by another name",
            "a buffer that a helper is given",
            "elements of an array in a dict",
            "an array in a dict, by another name",
            "an array in a dict of a module",
            "a buffer of the function around",
            "rows of an attribute",
            "a block of a buffer, of objects",
            "a place in a row of a buffer",
            "elements of a buffer that are assigned together",
        ),
        " + np.zeros_like(x, shape=())",
    ),
    "copied into what has no name": "np.zeros(2) + np.zeros_like(x, shape=())",
    "an np.matrix as a buffer": "m = np.asarray(m) + np.zeros_like(x, shape=())",
    "buffer of an object": " + np.zeros_like(y, shape=())",
    "buffer, where the value has another name": " + np.zeros_like(start, shape=())",
    "a buffer beside an array of objects": " + np.zeros_like(np.stack(list(h)), shape=())",
    "windows of pandas": "np.lib.stride_tricks.sliding_window_view(x, 2).mean(-1)",
    "groups of pandas": "np.stack([x[np.equal(g, k)].mean() for k in np.unique(g)])",
    "a method of a Series": "np.where(np.isnan(s), 0.0, s)",
    "a function of a Series": "np.quantile(s, 0.5)",
    "a column of a table": "{c: t[c].to_numpy() for c in t}",
    "math in a partial": "np.float_power",
    "columns beside plain ones": "np.column_stack([np.ones(60), y])",
    "an output within an expression": "y[...] = np.cumsum(y * n)\n    z = 2.0 * y",
    "all elements in order": "b = b + np.zeros_like(x, shape=()); b.ravel()[...] = x",
    "elements in order of what is traced": "y.ravel()[0]",
    "fields of a structured array": "t = {'a': t['a'], 'b': t['b']}; ",
    "ctypes": "",
    "a tensor that PyTorch differentiates": ".detach()",
    "a module of PyTorch": "from chainrules_torch import import_rule; lin = import_rule(lin); ",
    "parameters as SciPy takes them": "a",
    "a list of rates": "np.stack([y[1], -k * y[0]])",
    "one cotangent for a pair": "(x, x)",
    "no point for vjp": "y, pullback = vjp(g, x)",
    "a step of scan that returns the carry": "(0.5 * c + t, None)",
    "a carry of two numbers": "(0.5 * c + t, None)",
    "the time before the state": "y, t",
    "export to an engine that is not supported": "'autograd'",
    "an option that is differentiated": (
        "def scaled(x, k):\n    return k * x\n"
        "scalar_rule(scaled, lambda y, x, k: k, lambda y, x, k: x)\n"
    ),
    "an operand of any number": (
        "@rule(total)\ndef rule_of_total(*xs):\n"
        "    return total(*xs), [LinearMap(lambda t: t, lambda c: c) for x in xs]\n"
    ),
    "a derivative that is left out": "np.log(x) * y * y_bar",
    "option given by place": "x, n=2",
    "a library in C": (
        "j0 = primitive(lambda x, /: c.j0(x))\nscalar_rule(j0, lambda y, x: -0.44)\n"
        "grad(j0)(1.0)\n#"
    ),
    "rule of what is differentiable": "None",
    "rule of a function in C": (
        "sin = primitive(math.sin)\nscalar_rule(sin, lambda y, x: np.cos(x))\ngrad(sin)(1.0)\n#"
    ),
    "forgotten return of a pullback": "return ",
    "forgotten return of a partial": "return ",
    "a vector": "np.sum(x**2)",
    "rotation of SciPy": "from chainrules_scipy.rotation import Rotation as R\n",
    "method of a rotation": "from chainrules_scipy.rotation import Rotation as R\n",
    "factors of a sparse matrix": "from chainrules_scipy.sparse import splu\n",
    "hvp of a vector": "np.sum(x**2)",
    "after the gradient": "ignore_derivatives(np.sum(x**2))",
    "export to no engine": ", to='autograd'",
    "a tangent of another shape": "x",
}
"""What is written instead, where the message has a part of it."""


def run(program: str) -> Exception | None:
    """Run a program, and return what it raises."""
    text = f"{HEAD}\n{program}\n"
    linecache.cache["program.py"] = len(text), None, text.splitlines(keepends=True), "program.py"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "program.py", "exec"), {"__name__": "program"})
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_what_to_write(name):
    program, operations, remedy = MISTAKES[name]
    if "torch" in operations or "torch" in remedy:
        pytest.importorskip("torch")
    for library in ("numba", "pandas", "xarray"):
        if library in program:
            pytest.importorskip(library)
    error = run(program.replace("«", "").replace("»", ""))
    assert error is not None
    notes = [n for n in getattr(error, "__notes__", ()) if not n.startswith("when serializing")]
    said = "\n".join([str(error), *notes])  # pickle of Python 3.14 notes each object
    assert operations in said, said
    assert remedy in said, said
    assert len(said.splitlines()) <= 3, said
    mended = MENDED.get(name, remedy)
    if mended:
        before, _, rest = program.partition("«")
        assert run(before + mended + rest.partition("»")[2]) is None


OTHERS = ("written to a constant", "an np.matrix as a buffer")
WRITES = [name for name, (program, *_) in MISTAKES.items() if program.endswith("\ngrad(g)(x)")]
"""Programs of a function g. Without a derivative, a buffer of whole numbers would round."""


@pytest.mark.parametrize("name", [n for n in WRITES if n not in OTHERS and "whole" not in n])
def test_what_is_written_instead_is_the_same_program(name):
    program, _, remedy = MISTAKES[name]
    before, _, rest = program.partition("«")
    known, _, after = rest.partition("»")
    spaces: list[dict] = [{}, {}]
    for space, part in zip(spaces, (known, MENDED.get(name, remedy)), strict=True):
        exec(f"{HEAD}\n{before}{part}{after}".removesuffix("grad(g)(x)"), space)
    f, mended = [space["g"] for space in spaces]
    x, h = np.array([0.75, 1.5]), 1e-6
    truth = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(grad(mended)(x), truth, rtol=1e-7, atol=1e-8)


def test_what_is_logged_is_plain_and_no_refusal(logged):
    import logging

    def loss(x):
        y = np.sum(x**2)
        logging.getLogger("fit").warning("loss %.2f after %d steps, %s", y, x[0], y)
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("error", LostDerivativeWarning)
        np.testing.assert_array_equal(grad(loss)(np.array([1.0, 2.0])), [2.0, 4.0])
    assert logged == ["loss 5.00 after 1 steps, Variable(5.0)"]


def test_scipy_as_installed_takes_arrays_of_objects():
    linalg = pytest.importorskip("scipy.linalg")
    from chainrules_scipy.installation import install

    f = lambda x: linalg.expm(np.array([[x[0], 1.0], [2.0, x[1]]]))[0, 0]
    with install():
        found = grad(f)(np.array([1.0, 2.0]))
    near = [(f([1 + h, 2]) - f([1 - h, 2])) / (2 * h) for h in (1e-5,)]
    np.testing.assert_allclose(found[0], near[0], rtol=1e-8)


@pytest.mark.parametrize(
    "program",
    [
        "export(«», to='torch')",
        "primitive(«»)",
        "scalar_rule(«», lambda y, x: x)",
        "scalar_rule(f, «»)",
        "grad(lambda x: np.sum(x[{'rows': «»}]))(x)",
        "grad(lambda x: x.view(complex))(«»)",
        "grad(lambda x: x.view(np.matrix))(«»)",
        "grad(lambda x: x.resize(2))(«»)",
    ],
)
def test_no_message_prints_an_array(program):
    error = run(program.replace("«»", "np.arange(81.0).reshape(9, 9)"))
    assert "float64[9,9]" in str(error)
    assert len(str(error).splitlines()) <= 3


def test_the_first_comparison_of_a_process_is_named():
    """NumPy's functions are aliased when the first of them is called."""
    program = (
        "import numpy as np\nfrom chainrules_tape import grad\n"
        "grad(lambda x: 3.5 if np.array_equal(x, [1.0]) else np.sum(x))(np.ones(1))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "<string>:3 compares what is differentiated with something: a cache?" in done.stderr
