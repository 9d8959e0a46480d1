"""Derivatives that autograd lacks, put where its programs look for them, and taken away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import autograd.numpy.fft
import numpy as np
from autograd.core import VJPNode, primitive_jvps, primitive_vjps
from autograd.tracer import notrace_primitives

from chainrules_autograd import _private
from chainrules_autograd.boxes import boxed
from chainrules_autograd.config import as_tuple, make_jvp, make_vjp
from chainrules_autograd.exporting import export
from chainrules_bridge import rows_of
from chainrules_compat.install import ABSENT, Installed, chosen, found_below, native_of, original
from chainrules_py.extend import aliases, flatten, is_structure_type, see

LEFT = frozenset(
    {
        # They write into what they are given, which autograd does not record.
        *("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"),
        # They are given nothing that a derivative is taken in.
        *("arange", "can_cast", "empty", "eye", "identity", "min_scalar_type", "ones", "tri"),
        *("einsum_path", "may_share_memory", "shares_memory", "zeros"),
    }
)
"""What stays as it is."""


def install(*names: str, **functions: Callable[..., Any]) -> Installed:
    """Give autograd the derivatives that it lacks.

    Parameters
    ----------
    *names : str
        Functions of NumPy, as they stand behind ``np.``, which get our derivatives whether autograd
        has some or not. Without any name: all that autograd lacks, and nothing else. A function
        without reverse mode becomes ours; one that has it and no forward mode gets that and stays.
    **functions : callable
        Others that have rules, by the names they get in ``autograd.numpy``.

    Returns
    -------
    Installed
        Its ``remove()`` puts everything back; so does the end of a ``with`` block.

    Raises
    ------
    NoRuleError
        If NumPy has no function of a name, or we no rule for it. Whatever raises, nothing is
        installed then.

    Examples
    --------
    >>> import autograd, autograd.numpy as anp, numpy as np
    >>> x = np.array([3.0, 1.0, 2.0])
    >>> with install() as installed:
    ...     print(autograd.grad(anp.median)(x), len(installed.names) > 140)
    [0. 0. 1.] True
    >>> autograd.grad(anp.median)(x)
    Traceback (most recent call last):
        ...
    NotImplementedError: VJP of median wrt argnums (0,) not defined
    """
    see(None, (np.ndarray,))
    installed = Installed(anp)
    for name, function in chosen(np, names, functions).items():
        if name in functions:
            installed.attribute(name, export(function))
        else:
            _replace(installed, name, function)
    if not (names or functions):
        for name in _without_reverse():
            _replace(installed, name, native_of(np, name))
        for theirs in _without_forward():
            installed.entry(theirs.__name__, primitive_jvps, theirs, _forward(export(theirs.fun)))
        # It is what autograd's pullbacks of Fourier transforms end with.
        cut = autograd.numpy.fft.truncate_pad
        installed.entry("fft.truncate_pad", primitive_jvps, cut, _same)
    return installed.put()


def _without_reverse() -> list[str]:
    """List the functions of NumPy that autograd wraps without giving them a reverse mode."""
    found = []
    for name in (*rows_of("numpy"), "concat"):
        theirs = original(anp, name)
        wrapped = _private.is_primitive(theirs) and name not in LEFT
        if (
            wrapped
            and theirs not in notrace_primitives[VJPNode]
            and not _has(primitive_vjps, theirs)
        ):
            found.append(name)
    return found


def _without_forward() -> list[Any]:
    """List autograd's primitives, SciPy's functions included, that have reverse mode alone."""
    found = []
    for theirs in primitive_vjps:
        native = getattr(theirs, "fun", None)
        if native is not None and _has(primitive_vjps, theirs) and not _has(primitive_jvps, theirs):
            see(native, ())
            if native in aliases:
                found.append(theirs)
    return found


def _has(table: Any, theirs: Any) -> bool:
    """Tell whether autograd itself has an entry for a function in a table."""
    return found_below(table, theirs) is not ABSENT


def _replace(installed: Installed, name: str, native: Callable[..., Any]) -> None:
    """Put ours in the place of autograd's, and behind what is still called by that."""
    theirs, ours = original(anp, name), export(native)
    installed.attribute(name, ours)
    if _private.is_primitive(theirs):
        installed.entry(name, primitive_vjps, theirs, _reverse(ours))
        installed.entry(name, primitive_jvps, theirs, _forward(ours))


def _reverse(ours: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reverse mode of one of our functions, as ``defvjp_argnums`` takes it."""

    def maker(argnums: Any, ans: Any, args: Any, options: Any) -> Any:
        moved = as_tuple(tuple([args[i] for i in argnums]))
        pull, _ = make_vjp(_of(ours, argnums, args, options), moved)
        if not is_structure_type(type(ans)):
            return pull
        return lambda g: pull(as_tuple(tuple([g[i] for i in range(len(ans))])))

    return maker


def _forward(ours: Callable[..., Any]) -> Callable[..., Any]:
    """Make a forward mode of one of our functions, as ``defjvp_argnums`` takes it."""

    def maker(argnums: Any, gs: Any, _: Any, args: Any, options: Any) -> Any:
        moved = as_tuple(tuple([args[i] for i in argnums]))
        return make_jvp(_of(ours, argnums, args, options), moved)(as_tuple(tuple(gs)))[1]

    return maker


def _same(_: Any, gs: Any, __: Any, args: Any, options: Any) -> Any:
    """Compute a tangent as ``defjvp(..., "same")`` would, in the first operand."""
    return autograd.numpy.fft.truncate_pad(gs[0], *args[1:], **options)


def _of(ours: Callable[..., Any], argnums: Any, args: Any, options: Any) -> Callable[..., Any]:
    def along(moved: Any) -> Any:
        given = list(args)
        for n, i in enumerate(argnums):
            given[i] = moved[n]
        y = ours(*given, **options)
        return as_tuple(tuple(flatten(boxed(y))[0])) if is_structure_type(type(y)) else y

    return along
