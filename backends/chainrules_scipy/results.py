"""Results of SciPy's searches: each field is differentiated, constant, or refused where it is used.

A solver gives back more than its solution: slopes, covariances, prices, estimates of errors. They
hang on what the solver was given, so that a plain number in their place would have a derivative of
zero, which is wrong. `answer` splits a result: what a solver states is computed of the solution,
whole numbers, truths and texts are as they are, and all else is `Unstated`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, final

import numpy as np
from scipy.optimize import OptimizeResult

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import map_leaves, refuse_type, varies

_CONSTANT = {"execution_time", "active_mask"}
"""Fields of floats, which are no functions of real numbers."""


class _NoAttributeError(NotDifferentiableError, AttributeError):
    """Error for an attribute of what has no derivative: it is not there for who asks."""


@final
class Unstated:
    """A value of a result that hangs on what is being differentiated, without a derivative.

    Any use of it but a comparison is an error that says so.

    Attributes
    ----------
    name : str
        Whose field it is, as people write it.
    plain : object
        What SciPy gives, without a derivative: for who takes it to be constant.
    of : object
        What is being differentiated that it hangs on, as far as one knows.
    """

    __slots__ = ("name", "of", "plain")

    def __init__(self, name: str, plain: Any, of: Any = ()) -> None:
        self.name = name
        self.plain = plain
        self.of = of

    def __outside__(self, payload: Callable[[Any], Any]) -> Any:
        """Return what it is outside of a differentiation: SciPy's value, if that was the last."""
        of = map_leaves(payload, self.of)
        return Unstated(self.name, self.plain, of) if varies(of) or not self.of else self.plain

    def _refuse(self, *_: Any, error: type = NotDifferentiableError, **__: Any) -> NoReturn:
        msg = (
            f"{self.name} hangs on what is being differentiated, and its derivative is not "
            "stated: compute it from the solution, or take it to be constant by writing "
            f"{self.name}.plain"
        )
        raise error(msg)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" or not hasattr(self.plain, name):  # who asks whether it is there
            raise AttributeError(name)
        self._refuse(error=_NoAttributeError)

    def __repr__(self) -> str:
        return f"<{self.name}, without a derivative: {self.plain!r}>"


_USES = (
    *("array", "array_ufunc", "array_function", "float", "int", "complex", "index", "bool", "len"),
    *("iter", "getitem", "contains", "call", "neg", "pos", "abs", "round"),
    *(
        side + name
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
        for side in ("", "r")
    ),
)
for _name in _USES:
    setattr(Unstated, f"__{_name}__", Unstated._refuse)
for _compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
    setattr(
        Unstated,
        f"__{_compare.__name__}__",
        lambda x, y, _compare=_compare: _compare(x.plain, plain(y)),
    )
Unstated.__hash__ = object.__hash__  # type: ignore[method-assign]


refuse_type(
    "chainrules_scipy.results.Unstated",
    "compute it from the solution, or take its .plain to be constant",
)


def plain(x: Any) -> Any:
    """Return what SciPy gave where `Unstated` stands for it; other values as they are."""
    return x.plain if type(x) is Unstated else x


@final
class Later:
    """A field that is computed when it is first read, as a Jacobian that costs n derivatives.

    Parameters
    ----------
    compute : callable
        Without arguments.
    """

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute


class Answer(OptimizeResult):  # type: ignore[misc]
    """A result with fields that are computed when they are read."""

    __getattr__ = OptimizeResult.__getattr__  # see `Beside`

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if type(value) is Later:
            self[name] = value = value.compute()
        return value

    def __iter__(self) -> Iterator[str]:  # so that ``dict(answer)`` reads the fields
        return iter(self.keys())

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or what stands for it if there is none."""
        return self[name] if name in self else default  # noqa: SIM401

    def values(self) -> Any:
        """Return all fields."""
        return [self[name] for name in self.keys()]

    def items(self) -> Any:
        """Return the names and all fields."""
        return [(name, self[name]) for name in self.keys()]


def answer(name: str, found: Any, /, **stated: Any) -> Any:
    """Return a result of SciPy's, of which some fields have derivatives, and no other is a number.

    Parameters
    ----------
    name : str
        As people write it, for errors.
    found : OptimizeResult, dict or tuple
        SciPy's result.
    **stated
        Fields with their derivatives; of a tuple, ``_0`` and so on. `Later` is for what costs
        much. If none of the others is traced, so is nothing, and the result is SciPy's with these.

    Returns
    -------
    Answer or tuple
        With `Unstated` values for real numbers that are not stated.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(lambda a: answer("found", {"x": 2.0, "nit": 3}, x=a * a).x)(3.0))
    6.0
    """
    of = [x for x in stated.values() if type(x) is not Later and varies(x)]
    refused = bool(of)
    if isinstance(found, tuple):
        return tuple(
            stated.get(f"_{i}", unstated(f"{name}[{i}]", x, of) if refused else x)
            for i, x in enumerate(found)
        )
    fields = {k: unstated(f"{name}.{k}", x, of) if refused else x for k, x in found.items()}
    late = {k for k, x in stated.items() if type(x) is Later}
    kept = {k: x for k, x in stated.items() if k not in late or (refused and k in fields)}
    return Answer(fields | kept)


def unstated(name: str, x: Any, of: Any = ()) -> Any:
    """Return what SciPy gives with `Unstated` in place of all that may hang on real numbers, of.

    Examples
    --------
    >>> unstated("found", (3, 0.5, "well"))
    (3, <found[1], without a derivative: 0.5>, 'well')
    """
    if x is None or isinstance(x, (bool, int, str)) or name.rpartition(".")[2] in _CONSTANT:
        return x
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biuSU":
        return x
    if isinstance(x, dict):
        return type(x)({k: unstated(f"{name}.{k}", item, of) for k, item in x.items()})
    if type(x) in (list, tuple):
        items: Any = x
        return type(x)([unstated(f"{name}[{i}]", item, of) for i, item in enumerate(items)])
    return Unstated(name, x, of)
