"""Derivatives that autograd lacks, put where its programs look for them, and taken away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import autograd.numpy as anp
import autograd.numpy.fft
import numpy as np
from autograd.core import VJPNode, primitive_jvps, primitive_vjps
from autograd.tracer import notrace_primitives

from chainrules_autograd.boxes import boxed
from chainrules_autograd.config import as_tuple, make_jvp, make_vjp
from chainrules_autograd.exporting import export
from chainrules_py.alias import aliases
from chainrules_py.errors import NoRuleError
from chainrules_py.kinship import rows_of
from chainrules_py.loading import see
from chainrules_py.structure import flatten, is_structure_type

__all__ = ["Installed", "install"]

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

_ABSENT = object()


@final
class Installed:
    """What `install` put into autograd. As a context manager it is removed at the end of the block.

    Attributes
    ----------
    names : tuple of str
        The functions of ``autograd.numpy`` that are ours now, or that we added a mode to.
    """

    def __init__(self) -> None:
        self._before: list[tuple[str, Callable[..., Any], Any, Any]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as long as they are installed."""
        return tuple(dict.fromkeys([name for name, _, _, _ in self._before]))

    def remove(self) -> None:
        """Put everything back as it was."""
        for _, put, where, before in reversed(self._before):
            put(where, before)
        self._before = []

    def _attribute(self, name: str, function: Any) -> None:
        space, last = _place(name)
        before = vars(space).get(last, _ABSENT)
        put = lambda where, value: _set(where, last, value)
        self._before.append((name, put, space, before))
        setattr(space, last, function)

    def _entry(self, name: str, table: dict[Any, Any], key: Any, value: Any) -> None:
        put = lambda where, value: _enter(where, key, value)
        self._before.append((name, put, table, table.get(key, _ABSENT)))
        table[key] = value

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<installed in autograd.numpy: {len(self.names)} functions>"


def _set(space: Any, name: str, value: Any) -> None:
    if value is _ABSENT:
        delattr(space, name)
    else:
        setattr(space, name, value)


def _enter(table: dict[Any, Any], key: Any, value: Any) -> None:
    if value is _ABSENT:
        del table[key]
    else:
        table[key] = value


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
        If NumPy has no function of a name, or we no rule for it. Nothing is installed then.

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
    chosen = {name: _native(name) for name in names}
    installed = Installed()
    for name, native in chosen.items():
        _replace(installed, name, native)
    for name, function in functions.items():
        installed._attribute(name, export(function))
    if not (names or functions):
        for name in _without_reverse():
            _replace(installed, name, _native(name))
        for theirs in _without_forward():
            installed._entry(theirs.__name__, primitive_jvps, theirs, _forward(export(theirs.fun)))
        # It is what autograd's pullbacks of Fourier transforms end with.
        cut = autograd.numpy.fft.truncate_pad
        installed._entry("fft.truncate_pad", primitive_jvps, cut, _same)
    return installed


def _without_reverse() -> list[str]:
    """The functions of NumPy that autograd wraps and has no reverse mode of."""
    found = []
    for name in (*rows_of("numpy"), "concat"):
        theirs = _find(anp, name)
        wrapped = getattr(theirs, "_is_autograd_primitive", False) and name not in LEFT
        if wrapped and theirs not in notrace_primitives[VJPNode] and theirs not in primitive_vjps:
            found.append(name)
    return found


def _without_forward() -> list[Any]:
    """The primitives of autograd's, of SciPy's functions too, that have reverse mode alone."""
    found = []
    for theirs in primitive_vjps:
        native = getattr(theirs, "fun", None)
        if theirs not in primitive_jvps and native is not None:
            see(native, ())
            if native in aliases:
                found.append(theirs)
    return found


def _replace(installed: Installed, name: str, native: Callable[..., Any]) -> None:
    """Put ours in the place of autograd's, and behind what is still called by that."""
    theirs, ours = _find(anp, name), export(native)
    installed._attribute(name, ours)
    if getattr(theirs, "_is_autograd_primitive", False):
        installed._entry(name, primitive_vjps, theirs, _reverse(ours))
        installed._entry(name, primitive_jvps, theirs, _forward(ours))


def _reverse(ours: Callable[..., Any]) -> Callable[..., Any]:
    """As ``defvjp_argnums`` takes it."""

    def maker(argnums: Any, ans: Any, args: Any, options: Any) -> Any:
        moved = as_tuple(tuple([args[i] for i in argnums]))
        pull, _ = make_vjp(_of(ours, argnums, args, options), moved)
        if not is_structure_type(type(ans)):
            return pull
        return lambda g: pull(as_tuple(tuple([g[i] for i in range(len(ans))])))

    return maker


def _forward(ours: Callable[..., Any]) -> Callable[..., Any]:
    """As ``defjvp_argnums`` takes it."""

    def maker(argnums: Any, gs: Any, _: Any, args: Any, options: Any) -> Any:
        moved = as_tuple(tuple([args[i] for i in argnums]))
        return make_jvp(_of(ours, argnums, args, options), moved)(as_tuple(tuple(gs)))[1]

    return maker


def _same(_: Any, gs: Any, __: Any, args: Any, options: Any) -> Any:
    """As ``defjvp(..., "same")`` has it, of the first operand."""
    return autograd.numpy.fft.truncate_pad(gs[0], *args[1:], **options)


def _of(ours: Callable[..., Any], argnums: Any, args: Any, options: Any) -> Callable[..., Any]:
    def along(moved: Any) -> Any:
        given = list(args)
        for n, i in enumerate(argnums):
            given[i] = moved[n]
        y = ours(*given, **options)
        return as_tuple(tuple(flatten(boxed(y))[0])) if is_structure_type(type(y)) else y

    return along


def _native(name: str) -> Callable[..., Any]:
    native = _find(np, name)
    see(native, ())
    if native is None or native not in aliases:
        msg = (
            f"install({name!r}): there is no rule for a function numpy.{name}; give functions of "
            f"your own by name, install({name.rpartition('.')[2]}=function)"
        )
        raise NoRuleError(msg)
    return native  # type: ignore[no-any-return]


def _place(name: str) -> tuple[Any, str]:
    path, _, last = name.rpartition(".")
    return (_find(anp, path) if path else anp), last


def _find(space: Any, name: str) -> Any:
    for part in name.split("."):
        space = getattr(space, part, None)
    return space
