"""Random numbers: states of generators, and hints for draws with differentiated parameters.

NumPy does not dispatch draws. With plain parameters, draws are constants, as they should be. A
traced parameter is refused, and the error shows how to transform a draw without parameters, whose
derivative is that of the same random numbers under the transformation.
"""

from __future__ import annotations

import ast
import functools
import operator
import random
import re
from typing import Any

import numpy as np

from chainrules_numpy.advice_operands import is_list
from chainrules_numpy.list_and_index_advice import stacked
from chainrules_py.extend import (
    Line,
    advise,
    filled,
    gives,
    register_generator,
    suggestion,
    untraced,
)

_name: str

MOVED = {
    "normal": ("loc=0.0 scale=1.0 size=", "{loc} + {scale} * {rng}.standard_normal({size})"),
    "uniform": ("low=0.0 high=1.0 size=", "{low} + ({high} - {low}) * {rng}.random({size})"),
    "exponential": ("scale=1.0 size=", "{scale} * {rng}.standard_exponential({size})"),
    "laplace": ("loc=0.0 scale=1.0 size=None", "{loc} + {scale} * {rng}.laplace(size={size})"),
    "logistic": ("loc=0.0 scale=1.0 size=None", "{loc} + {scale} * {rng}.logistic(size={size})"),
    "gumbel": ("loc=0.0 scale=1.0 size=None", "{loc} + {scale} * {rng}.gumbel(size={size})"),
    "rayleigh": ("scale=1.0 size=None", "{scale} * {rng}.rayleigh(size={size})"),
    "lognormal": (
        "mean=0.0 sigma=1.0 size=",
        "np.exp({mean} + {sigma} * {rng}.standard_normal({size}))",
    ),
    "weibull": ("a=a size=", "{rng}.standard_exponential({size}) ** (1 / {a})"),
    "pareto": ("a=a size=", "np.expm1({rng}.standard_exponential({size}) / {a})"),
    "power": ("a=a size=", "(-np.expm1(-{rng}.standard_exponential({size}))) ** (1 / {a})"),
    "multivariate_normal": (
        "mean=mean cov=cov size=n",
        "{mean} + {rng}.standard_normal({size}) @ np.linalg.cholesky({cov}).T",
    ),
    "gamma": (
        "shape=shape scale=1.0 size=None",
        "{scale} * {rng}.standard_gamma(ignore_derivatives({shape}), size={size})",
    ),
    "permutation": ("x=x axis=", "{x}[{rng}.permutation(len({x}))]"),
    "permuted": ("x=x axis=", "{x}.ravel()[{rng}.permutation({x}.size)].reshape({x}.shape)"),
    "shuffle": ("x=x axis=", "{x} = {x}[{rng}.permutation(len({x}))]"),
}
"""The parameters of draws, with their defaults, and an expression of the same distribution."""
ALONG = {
    "permutation": "np.take({x}, {rng}.permutation({x}.shape[{axis}]), axis={axis})",
    "permuted": "{x}.ravel()[{rng}.permuted(np.arange({x}.size).reshape({x}.shape), axis={axis})]",
    "shuffle": "{x} = np.take({x}, {rng}.permutation({x}.shape[{axis}]), axis={axis})",
}
"""The same for an axis that is given."""

OTHERS = (
    "beta",
    "binomial",
    "chisquare",
    "dirichlet",
    "f",
    "geometric",
    "hypergeometric",
    "integers",
    "logseries",
    "multinomial",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "poisson",
    "randint",
    "standard_gamma",
    "standard_t",
    "triangular",
    "vonmises",
    "wald",
    "zipf",
)
"""Draws that are discontinuous in their parameters, or have no simple transformation."""


def moved(name: str, rng: str, arguments: list[str], keywords: dict[str, str]) -> str:
    """Return an expression with the distribution of a draw, with the arguments of the call."""
    parameters, write = MOVED[name]
    defaults = dict(each.split("=") for each in parameters.split())
    given = dict(zip(defaults, arguments, strict=False)) | keywords
    write = ALONG[name] if "axis" in given else write
    x = ast.parse(given.get("x", "x"), mode="eval").body
    if not isinstance(x, (ast.Name, ast.Subscript)):
        write = write.replace("{x} = ", "{x}[...] = ")  # a view that is no variable, as y.T
    if "out" in given:
        write = f"{given['out']}[...] = {write}"
    if name == "multivariate_normal":  # its vectors are one more axis
        length = f"len({given['mean']})"
        given["size"] = f"np.append({given['size']}, {length})" if "size" in given else length
    write = filled(write, **{**defaults, **given, "rng": rng})
    return re.sub(r"ignore_derivatives\(([\d.]+)\)", r"\1", write)  # a number has none


def draw_of_parameters(f: Any) -> str | None:
    """Return how a draw is differentiated in its parameters, or None if a function draws nothing.

    Examples
    --------
    >>> draw_of_parameters(np.random.normal)
    'draws are constants; for a derivative in parameters: loc + scale * rng.standard_normal(size)'
    """
    owner, _, name = getattr(f, "__qualname__", "").rpartition(".")
    if owner not in ("Generator", "RandomState", "Random"):
        return None
    if name in OTHERS:
        return "draws are constants; the logarithm of their probability has a derivative"
    if name not in MOVED:
        return "draws are constants"
    write = moved(name, "rng", _parameters(name), {})
    return f"draws are constants; for a derivative in parameters: {write}"


def _parameters(name: str) -> list[str]:
    return [each.partition("=")[0] for each in MOVED[name][0].split()]


def _moved(name: str) -> Any:
    """Return the advice for a draw, of the shape of its parameters where no size is given."""

    def given(line: Any) -> str:
        keywords = {
            each.arg: ast.unparse(each.value) for each in getattr(line.node, "keywords", ())
        }
        rng, called = line.owner(name), getattr(line.function, "__name__", name)
        # It draws inside of another, or arguments are unpacked, or its source is unknown.
        unknown = called != name or None in keywords or any(x[:1] == "*" for x in line.arguments)
        if unknown or line.node is None:
            words = ", ".join(_parameters(name))
            return f"use {moved(name, rng or 'rng', _parameters(name), {})}, of its {words}"
        named = dict(zip(_parameters(name), line.arguments, strict=False)) | keywords
        size = named.pop("size", "None")
        named = {key: _as_array(line, x) for key, x in named.items()}
        shapes = [f"np.shape({x})" for x in named.values() if _may_have_axes(line, x)]
        shape = f"np.broadcast_shapes({', '.join(shapes)})" if shapes[1:] else "".join(shapes)
        if shape and name != "multivariate_normal":  # its axes are beyond those of its size
            named_size = f"{shape} if {size} is None else {size}"
            size = shape if size == "None" else named_size if size.isidentifier() else size
        named |= {"size": size} if size != "None" else {}
        shared = getattr(line.function, "__self__", None) is _global
        rng = rng or ("np.random" if shared else f"{line.called}.__self__")
        # A function that is called by a name of its own draws by this name.
        return "use " + moved(name, rng, [], named).replace(f".__self__.{name}(", "(")

    return given


def _as_array(line: Any, text: str) -> str:
    """Return an argument, or the array of its numbers if it is a list of traced ones."""
    node = ast.parse(text, mode="eval").body
    return (
        ast.unparse(stacked(line, node)) if any(line.traced(node)) and is_list(line, node) else text
    )


def _may_have_axes(line: Any, text: str) -> bool:
    """Return whether an expression is no number, as far as names lead to it."""
    node = ast.parse(text, mode="eval").body
    x = line.resolved(node)
    return not isinstance(node, ast.Constant) if x is None else np.ndim(untraced(x)) > 0


def _choice(line: Any) -> str:
    """Suggest a choice of indices of a traced value, or constant probabilities."""
    args = getattr(line.node, "args", ())
    if not (args and any(line.traced(args[0]))):
        return f"use {line.with_constant()}, which is a constant"
    rest = [*line.arguments[1:], *map(ast.unparse, line.node.keywords)]
    called = f"{line.called}({', '.join(['len({0})', *rest])})"
    return f"use {{0}}[{called}]"


gives[np.random.default_rng] = np.random.Generator
_shared: Any = np.random.get_state, random.getstate  # methods of the shared global generators
_global = _shared[0].__self__
_BESIDE = (
    "use ignore_derivatives({x}) in it: a draw has no derivative in such a parameter, and the "
    "logarithm of its probability has one"
)
_advice: dict[str, Any] = {
    **{name: _moved(name) for name in MOVED},
    **dict.fromkeys(OTHERS, _BESIDE),
    "choice": _choice,
}
advise(
    random.Random.shuffle,
    "write order = list(range(len({0}))), random.shuffle(order), and {0} = {0}[order]",
)
for _name, _draw in _advice.items():
    for _home in (np.random.Generator, np.random.RandomState, np.random):
        if hasattr(_home, _name):
            advise(getattr(_home, _name), _draw)


def _drawn(line: Line) -> str | None:
    """Return the advice for a method of a generator, or of what may be one, or None."""
    home = str(getattr(line.function, "__module__", "numpy.random"))
    callers = [str(frame.f_globals.get("__name__")) for frame in line.library]
    if not all([module.startswith("numpy.random") for module in (home, *callers)]):
        return None
    called = getattr(line.node, "func", None)
    name = getattr(line.function, "__name__", getattr(called, "attr", ""))
    return suggestion(_advice.get(name), line)


advise(np.random.Generator, _drawn)


def _putting(x: np.random.Generator, state: Any) -> functools.partial[None]:
    return functools.partial(setattr, x.bit_generator, "state", state)


register_generator(np.random.Generator, lambda x: x.bit_generator.state, _putting)
_bits: list[Any] = [
    getattr(np.random, each) for each in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
]
for _class in _bits:
    register_generator(
        _class,
        operator.attrgetter("state"),
        lambda x, state: functools.partial(setattr, x, "state", state),
    )
register_generator(
    np.random.RandomState,
    np.random.RandomState.get_state,
    lambda x, state: functools.partial(x.set_state, state),
    _global,
)
# A state is 25 kB: those that are equal, as of checkpoints between which nothing is drawn, are one.
_once: Any = functools.lru_cache(8)(lambda state: state)
register_generator(
    random.Random,
    lambda x: _once(x.getstate()),
    lambda x, state: functools.partial(x.setstate, state),
    _shared[1].__self__,
)
