"""Random programs in NumPy, and the judge of an engine on them.

`programs` is a strategy of hypothesis: a few arrays, then lines as people write them. What an
engine says of a program is compared with differences of the program itself, the modes with each
other, and where JAX has all of its functions, with JAX.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any, final

import numpy as np

try:
    from hypothesis import assume
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "tests.fuzz.programs needs hypothesis; write: pip install hypothesis"
    ) from error

from chainrules_py import MutationError, TracerError
from chainrules_py.primitives import plugins
from chainrules_py.testing.cases.differences import derivative
from tests.fuzz.lines import Choices, Line, Maker
from tests.fuzz.tables import LINES


@final
@dataclasses.dataclass(frozen=True)
class Program:
    """A program that was drawn: called with arrays it gives one real number.

    Attributes
    ----------
    leaves : tuple
        What it is differentiated in.
    constants : tuple
        Arrays and numbers besides.
    lines : tuple of Line
        What it does, in order.
    weights : tuple
        By what each result enters the number, or None.
    """

    leaves: tuple[Any, ...]
    constants: tuple[Any, ...]
    lines: tuple[Line, ...]
    weights: tuple[Any, ...]

    def values(self, *xs: Any, library: Any = np) -> list[Any]:
        """Everything that the program has computed at its end."""
        env = [*xs, *self.constants]
        for line in self.lines:
            env += line(library, env)
        return env

    def __call__(self, *xs: Any, library: Any = np) -> Any:
        """Compute a number that depends on every result."""
        total: Any = 0.0
        for y, w in zip(self.values(*xs, library=library), self.weights, strict=True):
            if w is not None:
                total = total + library.sum(library.real(w * y))
        return total + 0.05 * total * total

    @property
    def has_jax(self) -> bool:
        """Whether JAX has every function in it."""
        return all(line.jax for line in self.lines)

    def __str__(self) -> str:
        texts, env = [], [*self.leaves, *self.constants]
        for i, x in enumerate(env):
            name = "x" if i < len(self.leaves) else "c"
            texts.append(f"{name}{i} = {x!r}")
        names = [text.partition(" ")[0] for text in texts]
        env = [*env]
        for line in self.lines:
            made = line(np, env)
            new = [f"v{len(env) + i}" for i in range(len(made))]
            texts.append(f"{', '.join(new)}{' = ' * bool(new)}{line.text(names)}")
            env += made
            names += new
        return "\n".join(texts)

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the program as hypothesis shows the one that is left of a failure."""
        printer.text(f"\n{self}\n")


def is_good(y: Any) -> bool:
    """Tell whether a value is a number or an array of moderate size and numbers."""
    x = np.asarray(y)
    if x.dtype.kind not in "fc":
        return x.dtype.kind in "biu"
    return 0 < x.size <= 300 and bool(np.all(np.isfinite(x))) and float(np.max(np.abs(x))) < 30


def programs(
    min_lines: int = 5, max_lines: int = 15, lines: tuple[tuple[Maker, ...], ...] = LINES
) -> st.SearchStrategy[Program]:
    """Programs of some lines.

    Parameters
    ----------
    min_lines, max_lines : int
        How many lines.
    lines : tuple of tuples of callables
        What lines are drawn from: a family, then one of it, which takes `Choices` and gives a
        `Line`, or None where what there is does not suit it.

    Examples
    --------
    >>> from hypothesis import find
    >>> program = find(programs(1, 3), lambda program: len(program.lines) == 2)
    >>> len(program.lines)
    2
    """

    @st.composite
    def build(draw: Callable[[Any], Any]) -> Program:
        program = drawn(Choices(draw), min_lines, max_lines, lines)
        assume(program is not None)
        return program  # type: ignore[return-value]

    return build()


def drawn(
    choices: Choices, min_lines: int, max_lines: int, lines: tuple[tuple[Maker, ...], ...]
) -> Program | None:
    """Draw a program; None if too few of the lines that were drawn suit the others.

    Parameters
    ----------
    choices : Choices
        What draws it.
    min_lines, max_lines, lines
        As of `programs`.
    """
    n = choices.integer(1, 3)
    leaves = tuple([choices.leaf() for _ in range(n)])
    # A number of Python's beside single precision is computed in that.
    narrow = not any(type(x) is float for x in leaves)
    constants = tuple([choices.constant(narrow) for _ in range(choices.integer(0, 2))])
    choices.start([*leaves, *constants])
    wanted, found = choices.integer(min_lines, max_lines), []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(4 * wanted):
            line = choices.choice(choices.choice(lines))(choices)
            if line is not None and choices.append(line, is_good):
                found.append(line)
            if len(found) == wanted:
                break
    if len(found) < min_lines:
        return None
    weights = [choices.weight(y) for y in choices.env]
    weights[: len(leaves) + len(constants)] = [None] * (len(leaves) + len(constants))
    return Program(leaves, constants, tuple(found), tuple(weights))


# ----------------------------------------------------------------------------------- the judge


class NoTruthError(Exception):
    """Differences do not agree with each other: a kink is near, or numbers are too great."""


def _direction(x: Any, rng: Any) -> Any:
    t = rng.standard_normal(np.shape(x))
    if np.iscomplexobj(x):
        t = t + 1j * rng.standard_normal(np.shape(x))
    return t if isinstance(x, np.ndarray) else x * 0 + t.item()


def _inner(a: Any, b: Any) -> float:
    return sum(float(np.sum(np.real(np.conj(x) * y))) for x, y in zip(a, b, strict=True))


def _moved(xs: Any, ts: Any, h: float) -> list[Any]:
    return [
        np.asarray(x + h * t) if isinstance(x, np.ndarray) else x + h * t
        for x, t in zip(xs, ts, strict=True)
    ]


def _slope(f: Callable[[float], Any], what: str) -> tuple[float, float]:
    value, error = derivative(lambda h: np.asarray([f(h)]))
    value, error = float(value[0]), float(error[0])
    if not np.isfinite(value) or error > 1e-5 * max(1.0, abs(value)):
        raise NoTruthError(what)
    return value, error


def _close(found: float, truth: float, error: float, what: str, rtol: float) -> None:
    if not abs(found - truth) <= max(rtol * max(1.0, abs(truth)), 50 * error):
        msg = f"{what}: {found!r}, and it has to be {truth!r}"
        raise AssertionError(msg)


def check_program(program: Program, *, second: bool = True, jax: bool = False) -> bool:
    """Check what the engine that is installed says of a program.

    Parameters
    ----------
    program : Program
        The program, differentiated at its leaves.
    second : bool
        Whether second derivatives are compared with differences as well, and not only with each
        other.
    jax : bool
        Whether JAX is asked, where it has all functions.

    Returns
    -------
    bool
        Whether there was a truth to compare with, and nothing was refused.

    Raises
    ------
    AssertionError
        If anything is wrong.

    Examples
    --------
    >>> from hypothesis import find
    >>> check_program(find(programs(1, 3), lambda program: len(program.lines) == 2))
    True
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            _check(program, second)
        except (NoTruthError, MutationError):
            return False
        except (ValueError, TracerError) as error:
            # NumPy's, of a plain array that the tape has locked; and of one that is not like a
            # tracer that is written into it, or that it is made of.
            said = ("read-only", "is written into", "cannot convert")
            if not any([text in str(error) for text in said]):
                raise
            return False
        if jax and program.has_jax:
            _check_jax(program)
    return True


def _check(program: Program, second: bool) -> None:
    engine, xs = plugins.default_engine(), program.leaves
    rng = np.random.default_rng(0)
    ts, us = [[_direction(x, rng) for x in xs] for _ in range(2)]
    kept = [np.array(x) for x in xs]
    plain = program(*xs)
    places = tuple(range(len(xs)))
    value, bars = engine.value_and_grad(program, places)(*xs)
    scale = max(1.0, abs(plain))
    _close(float(value), float(plain), 1e-12 * scale, "value", 0.0)
    for x, bar in zip(xs, bars, strict=True):
        found, wanted = np.asarray(bar), np.asarray(x)
        dtype = found.dtype if type(x) is float else wanted.dtype  # a number of Python's has none
        if (found.shape, found.dtype) != (wanted.shape, dtype):
            msg = f"gradient: {found.dtype}{found.shape} of {wanted.dtype}{wanted.shape}"
            raise AssertionError(msg)
    truth, error = _slope(lambda h: program(*_moved(xs, ts, h)), "first order")
    _, along = engine.jvp(program, xs, tuple(ts))
    _close(float(along), truth, error, "jvp", 1e-7)
    _close(_inner(bars, ts), float(along), 1e-12 * scale, "grad", 1e-9)
    product = engine.hvp(program, xs, tuple(ts))
    gradient = engine.grad(program, places)
    _, other = engine.jvp(gradient, xs, tuple(ts))
    size = max(1.0, *(float(np.max(np.abs(t), initial=0.0)) for t in product))
    for a, b in zip(product, other, strict=True):
        if not np.allclose(a, b, rtol=1e-7, atol=1e-8 * size):
            msg = f"hvp: {a} in reverse over forward, {b} in forward over reverse"
            raise AssertionError(msg)
    if second:
        f = lambda h: engine.jvp(program, tuple(_moved(xs, us, h)), tuple(ts))[1]
        truth, error = _slope(f, "second order")
        _close(_inner(product, us), truth, error, "hvp", 1e-6)
    for x, before in zip(xs, kept, strict=True):
        if not np.array_equal(x, before):
            msg = f"an argument was changed: {before} is {x} now"
            raise AssertionError(msg)


_SINGLE = (np.dtype(np.float32), np.dtype(np.complex64))


def _check_jax(program: Program) -> None:
    """Compare the gradient and the Hessian's product with JAX's, whose cotangents are conjugate."""
    import jax

    engine, xs = plugins.default_engine(), program.leaves
    rng = np.random.default_rng(1)
    ts = tuple([_direction(x, rng) for x in xs])
    places = tuple(range(len(xs)))
    f = lambda *xs: program(*xs, library=jax.numpy)
    bars = engine.grad(program, places)(*xs)
    gradient = jax.grad(f, places)
    theirs, products = jax.jvp(gradient, xs, ts)
    # The two libraries round the functions of single numbers otherwise.
    single = any([getattr(y, "dtype", None) in _SINGLE for y in program.values(*xs)])
    close = 1e-5 if single else 1e-8
    for a, b, what in ((bars, theirs, "grad"), (engine.hvp(program, xs, ts), products, "hvp")):
        for ours, other in zip(a, b, strict=True):
            other = np.conj(np.asarray(other))
            size = max(1.0, float(np.max(np.abs(other), initial=0.0)))
            if not np.allclose(ours, other, rtol=close, atol=0.1 * close * size):
                msg = f"{what}: {ours}, and {other} by JAX"
                raise AssertionError(msg)
