"""What functions that give derivatives say of themselves: docstrings, signatures and types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from chainrules_py.extend import Made
from chainrules_tape.functions.arguments import Arguments

P = ParamSpec("P")
# The bound lets type checkers take the parameter of a lambda for Any.
X = TypeVar("X", bound=Any, contravariant=True)
G = TypeVar("G", covariant=True)


class Gradient(Generic[X, P, G]):
    """Function that takes what another one takes, and gives a gradient in its first argument.

    For type checkers alone: they read it in the signature of `grad`.
    """

    @overload
    def __call__(self, x: X, /, *operands: P.args, **keywords: P.kwargs) -> G: ...
    @overload
    def __call__(self, /, **keywords: Any) -> G: ...  # the first argument by its name
    def __call__(self, /, *operands: Any, **keywords: Any) -> Any:
        """Compute it."""
        raise NotImplementedError


def describe_derivative(
    found: Made, what: str, gives: str, arguments: Arguments, typed: bool = False
) -> Callable[..., Any]:
    """Have a function say what it computes, and not what the function says that it is made of.

    Parameters
    ----------
    found : Made
        What computes it.
    what, gives : str
        What it is called, and what it is like.
    arguments : Arguments
        Those that are differentiated in.
    typed : bool
        Whether the result is annotated as the one argument is.
    """
    name = getattr(found, "__name__", "a function")
    chosen = arguments.names_of_chosen
    first_line = (found.__doc__ or "").strip().partition("\n")[0]
    found.__doc__ = (
        f"Compute the {what} of {name} in argument{'s' * (len(chosen) > 1)} "
        f"{', '.join(map(str, chosen))}.\n\nTakes what {name} takes, and returns {gives}."
        + f"\n\n{name}: {first_line}"
        * bool(first_line)
    )
    found.returned = _annotation_of(chosen[0] if typed and arguments.alone else None)
    return found


def _annotation_of(chosen: int | str | None) -> Callable[[inspect.Signature], Any]:
    def annotation(signature: inspect.Signature) -> Any:
        parameters = signature.parameters
        names = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
        if isinstance(chosen, int) and -len(names) <= chosen < len(names):
            return parameters[names[chosen]].annotation
        found = parameters.get(str(chosen))
        return inspect.Signature.empty if found is None else found.annotation

    return annotation
