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

from chainrules_numpy.list_and_index_advice import stacked_list
from chainrules_numpy.plain_number_advice import in_place
from chainrules_py.extend import (
    Line,
    advise,
    advised,
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
    if not isinstance(x, (ast.Name, ast.Attribute, ast.Subscript)):
        write = write.replace("{x} = ", "{x}[...] = ")  # a view that a call returns
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


def _keywords(line: Any) -> dict[str, str]:
    given = getattr(line.node, "keywords", ())
    return {each.arg: ast.unparse(each.value) for each in given if each.arg is not None}


def _parameters(name: str) -> list[str]:
    return [each.partition("=")[0] for each in MOVED[name][0].split()]


def _in_words(name: str, rng: str) -> str:
    """Return the advice for a draw whose arguments are not on the line."""
    names = _parameters(name)
    return f"use {moved(name, rng, names, {})}, of its {', '.join(names)}"


def _generator(line: Any, name: str) -> str:
    """Return the expression of the generator whose method of this name a line calls."""
    if getattr(line.function, "__self__", None) is _global and line.owner(name) is None:
        return "np.random"
    bound = f"{line.called}.__self__" if line.called else "rng"
    return line.owner(name) or bound


def _moved(name: str) -> Any:
    """Return the advice for a draw, of the shape of its parameters where no size is given."""

    def given(line: Any) -> str:
        keywords, rng = _keywords(line), _generator(line, name)
        unpacked = [each for each in getattr(line.node, "keywords", ()) if each.arg is None]
        theirs = getattr(line.function, "__name__", name) != name  # it draws inside of another
        if theirs or line.node is None or unpacked or any(x[:1] == "*" for x in line.arguments):
            return _in_words(name, "rng" if theirs else rng)
        named = dict(zip(_parameters(name), line.arguments, strict=False)) | keywords
        size = named.pop("size", "None")
        named = {key: _as_array(line, x) for key, x in named.items()}
        nodes = {x: ast.parse(x, mode="eval").body for x in named.values()}
        shapes = [f"np.shape({x})" for x, node in nodes.items() if _may_have_axes(line, node)]
        shape = f"np.broadcast_shapes({', '.join(shapes)})" if shapes[1:] else "".join(shapes)
        # What draws vectors has axes beyond those of its size.
        whole = bool(shape) and name != "multivariate_normal"
        if whole and line.frame.f_locals.get(size, size) is None:
            size = f"{shape} if {size} is None else {size}"
        if size != "None" or whole:
            named["size"] = shape if size == "None" else size
        # A function that is called by a name of its own draws by this name.
        write = moved(name, rng, [], named).replace(f".__self__.{name}(", "(")
        return f"use {in_place(line, write)}"

    return given


def _as_array(line: Any, text: str) -> str:
    """Return an argument, or the array of its numbers if it is a list of traced ones."""
    node = ast.parse(text, mode="eval").body
    if not any(line.traced(node)):
        return text
    if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
        return ast.unparse(stacked_list(node))
    return f"np.stack({text})" if isinstance(line.resolved(node), (list, tuple)) else text


def _may_have_axes(line: Any, node: ast.AST) -> bool:
    """Return whether an expression is no number, as far as names lead to it."""
    x = line.resolved(node)
    if x is not None:
        return np.ndim(untraced(x)) > 0
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return any([_may_have_axes(line, part) for part in parts])
    return not isinstance(node, ast.Constant)


def _choice(line: Any) -> str:
    """Suggest a choice of indices of a traced value, with constant probabilities."""
    x, constant = next(iter(line.arguments), "x"), line.with_constant()
    first = f"(ignore_derivatives({x})"
    if first in constant:
        return f"use {x}[{constant.replace(first, f'(len({x})', 1)}]"
    return f"use {constant}, which is a constant"


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
for _name, _draw in _advice.items():
    for _home in (np.random.Generator, np.random.RandomState, np.random):
        if hasattr(_home, _name):
            advise(getattr(_home, _name), _draw)


def _drawn(line: Line) -> str | None:
    """Return the advice for a method of a generator, or of what may be one, or None."""
    called: Any = getattr(line.node, "func", None)
    callers = [str(frame.f_globals.get("__name__")) for frame in line.library]
    if called is None or not all([module.startswith("numpy.random.") for module in callers]):
        return None
    if (function := line.function) is not None:
        made = isinstance(function, functools.partial)
        draw = function.func if made else function
        home = str(getattr(draw, "__module__", ""))
        if isinstance(draw, type) or not home.startswith("numpy.random"):
            return None
        of_partial = made and draw.__name__ in MOVED
        rng = f"{line.called}.func.__self__"
        return _in_words(draw.__name__, rng) if of_partial else advised(draw, line)
    owner, name = getattr(called, "value", None), getattr(called, "attr", None)
    if isinstance(called, ast.Call) and called.args[1:]:  # getattr(rng, "normal")
        owner, name = called.args[0], getattr(called.args[1], "value", None)
        name = name or line.value_of(called.args[1])
    generator = owner and line.resolved(owner)
    draws = generator is None or generator is np.random or isinstance(generator, _GENERATORS)
    return suggestion(_advice.get(str(name)), line) if draws else None


_GENERATORS = np.random.Generator, np.random.RandomState
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
