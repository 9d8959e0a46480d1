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

from chainrules_numpy.plain_number_advice import in_place
from chainrules_py.extend import advise, filled, gives, register_generator, untraced

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
        "{mean} + {rng}.standard_normal(({size}, len({mean}))) @ np.linalg.cholesky({cov}).T",
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
    if "size" not in given:
        write = write.replace("({size}, len({mean}))", "len({mean})")
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
    parameters = [each.partition("=")[0] for each in MOVED[name][0].split()]
    write = moved(name, "rng", parameters, {})
    return f"draws are constants; for a derivative in parameters: {write}"


def _keywords(line: Any) -> dict[str, str]:
    given = getattr(line.node, "keywords", ())
    return {each.arg: ast.unparse(each.value) for each in given if each.arg is not None}


def _moved(name: str) -> Any:
    """Return the advice for a draw, of the shape of its parameters where no size is given."""

    def given(line: Any) -> str:
        arguments, keywords = line.arguments, _keywords(line)
        parameters = [each.partition("=")[0] for each in MOVED[name][0].split()]
        unpacked = [each for each in getattr(line.node, "keywords", ()) if each.arg is None]
        if unpacked or any([x[:1] == "*" for x in arguments]):
            names = ", ".join(parameters)
            return f"use {moved(name, line.owner() or 'rng', parameters, {})}, of its {names}"
        rest = {*parameters[len(arguments) :]} - keywords.keys()
        nodes = {x: ast.parse(x, mode="eval").body for x in (*arguments, *keywords.values())}
        several = [x for x, node in nodes.items() if not _is_number(line, node)]
        # What draws vectors has axes beyond those of its size.
        of_parameters = "size" in rest and name != "multivariate_normal"
        # What NumPy makes on the line may have axes; what draws is not written twice.
        made = [x for x in nodes if x[:1] in ("[", "(") or re.match(r"np\.(?!random)\w+\(", x)]
        if of_parameters and made:
            shapes = ", ".join([f"np.shape({x})" for x in several])
            keywords["size"] = shapes if len(several) == 1 else f"np.broadcast_shapes({shapes})"
        elif of_parameters and _has_axes(line, *nodes.values()):
            keywords["size"] = f"np.shape({' + '.join(several)})"
        return f"use {in_place(line, moved(name, line.owner() or 'rng', arguments, keywords))}"

    return given


def _is_number(line: Any, node: ast.AST) -> bool:
    """Return whether an expression is a number, as far as names lead to it."""
    x = line.resolved(node)
    return isinstance(node, ast.Constant) or (x is not None and np.ndim(untraced(x)) == 0)


def _has_axes(line: Any, *nodes: ast.AST) -> bool:
    """Return whether an expression contains an array with axes, as far as names lead to one."""
    unknown = [node for node in nodes if line.resolved(node) is None]
    if any([not _is_number(line, node) for node in nodes if node not in unknown]):
        return True
    return any([_has_axes(line, *ast.iter_child_nodes(node)) for node in unknown])


def _choice(line: Any) -> str:
    """Suggest a choice of indices of a traced value, with constant probabilities."""
    x, constant = next(iter(line.arguments), "x"), line.with_constant()
    first = f"(ignore_derivatives({x})"
    if first in constant:
        return f"use {x}[{constant.replace(first, f'(len({x})', 1)}]"
    return f"use {constant}, which is a constant"


gives[np.random.default_rng] = np.random.Generator
for _chooses in (np.random.Generator.choice, np.random.RandomState.choice, np.random.choice):
    advise(_chooses, _choice)
_shared: Any = np.random.get_state, random.getstate  # methods of the shared global generators
_global = _shared[0].__self__
for _name in (*MOVED, *OTHERS):
    _advice: Any = (
        _moved(_name)
        if _name in MOVED
        else "use ignore_derivatives({x}) in it: a draw has no derivative in such a parameter, and "
        "the logarithm of its probability has one"
    )
    for _class in (np.random.Generator, np.random.RandomState):
        if hasattr(_class, _name):
            advise(getattr(_class, _name), _advice)
    if hasattr(np.random, _name):
        advise(getattr(np.random, _name), _advice)


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
