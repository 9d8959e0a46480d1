"""Functions with rules as other engines' own differentiable functions.

An exporter is a package that knows one engine. It announces itself by an entry point in the group
``chainrules_py.exporters`` whose name is that of the engine, and has

- ``chainrules_contract = 1``;
- ``export(f, **options)``, which gives f as a function of the engine;
- ``supports(f, *operands, **options)``, which gives a `chainrules_kit.Support`.

What every exporter needs besides stands in the package ``chainrules_kit``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py.errors import ContractError, RuleError
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
        If none announced itself under this name, or the one that did cannot be imported.
    """
    for known, module in plugins.announced(EXPORTERS):
        if known == name:
            found = plugins.load(module)
            if found is not None:
                return found
            msg = (
                f"{module}, which exports to {name}, {plugins.failures[module]}; "
                f"pip install chainrules-py[{name}]"
            )
            raise ContractError(msg)
    import difflib  # which only a mistake needs

    names = exporters()
    meant = difflib.get_close_matches(name, names, 1)
    write = f"did you mean {meant[0]!r}?" if meant else "install a package that has one"
    msg = f"there is no exporter to {name!r}, only to {', '.join(names) or 'none'}; {write}"
    raise ContractError(msg)


def export(f: Callable[..., Any], /, *, to: str | Sequence[str], **options: Any) -> Any:
    """Turn a function with a rule into a differentiable function of another engine.

    Parameters
    ----------
    f : callable
        An operation, a library's function that is aliased to one, a function under `primitive`, one
        with derivatives of its own (`custom_vjp`), or code that is written in these.
    to : str, or sequence of str
        The engine, or engines, by name, as ``"jax"``; another name is an error that lists them.
    **options
        What the exporter takes besides; see there.

    Returns
    -------
    callable, or dict of callables
        For a name the function, for a sequence of names a dict from name to function.

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
        msg = f"export({f!r}): not a function; pass the function itself"
        raise RuleError(msg)
    if isinstance(to, str):
        return exporter(to).export(f, **options)
    return {name: exporter(name).export(f, **options) for name in to}
