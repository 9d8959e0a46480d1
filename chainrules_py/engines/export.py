"""Export of functions with rules as differentiable functions of other engines.

An exporter is a package for one engine. It announces itself by an entry point in the group
``chainrules_py.exporters``, named after the engine, and has

- ``chainrules_contract = 1``;
- ``export(f, **options)``, which returns f as a function of the engine;
- ``supports(f, *operands, **options)``, which returns a `chainrules_kit.Support`.

The package ``chainrules_kit`` contains what exporters have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py.errors import ContractError, RuleError, describe
from chainrules_py.primitives import plugins

EXPORTERS = "chainrules_py.exporters"


def exporters() -> tuple[str, ...]:
    """List the engines that functions can be exported to.

    Examples
    --------
    >>> "jax" in exporters()
    True
    """
    return tuple([name for name, _ in plugins.announced(EXPORTERS)])


def exporter(name: str) -> Any:
    """Import the package that exports to an engine.

    Raises
    ------
    ContractError
        If no exporter has this name, or it cannot be imported.
    """
    for known, module in plugins.announced(EXPORTERS):
        if known == name:
            found = plugins.load(module)
            if found is not None:
                return found
            raise ContractError(
                f"{module}, which exports to {name}, {plugins.failures[module]}; "
                f"pip install chainrules-py[{name}]"
            )
    raise ContractError(
        f"there is no exporter to {name!r}; write one of to={', to='.join(map(repr, exporters()))}"
    )


def export(f: Callable[..., Any], /, *, to: str | Sequence[str], **options: Any) -> Any:
    """Turn a function with a rule into a differentiable function of another engine.

    Parameters
    ----------
    f : callable
        An operation, a library function that is aliased to one, a function under `primitive`, one
        with a custom derivative (`custom_vjp`), or code that consists of these.
    to : str, or sequence of str
        The engine, or engines, by name, as ``"jax"``; another name is an error that lists them.
    **options
        Options of the exporter.

    Returns
    -------
    callable, or dict of callables
        The function for a name; a dict from name to function for a sequence of names.

    Raises
    ------
    ContractError
        If there is no such exporter, or its engine is not installed.
    RuleError
        If f is not a function.

    Examples
    --------
    >>> import jax
    >>> from chainrules_py.ops import sin
    >>> float(jax.grad(export(sin, to="jax"))(0.0))
    1.0
    """
    if not callable(f):
        raise RuleError(f"export({describe(f)}): not a function; pass the function itself")
    if isinstance(to, str):
        return exporter(to).export(f, **options)
    return {name: exporter(name).export(f, **options) for name in to}
