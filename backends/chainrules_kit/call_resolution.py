"""Resolve calls for exporters, and wrap functions for engines that see nothing inside.

`resolved` finds the one primitive of a call, and `partition` flattens its operands into the list of
arrays that engines work with. Rules are bound by `chainrules_py.extend.bind`, for both halves if
the engine does not know in advance which it needs. An engine that traces programs and sees the
primitives called in them registers with `chainrules_py.extend.register_host`. For engines that see
nothing inside a function, a `Kernel` computes it and its derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from chainrules_kit.operand_leaves import of_some
from chainrules_py import (
    Config,
    NoRuleError,
    NotDifferentiableError,
    Primitive,
    TracerError,
    rules_for,
)
from chainrules_py.extend import (
    Alias,
    ContractError,
    aliases,
    called_beside,
    captured,
    default_engine,
    find_rule,
    flatten,
    in_operations,
    is_static,
    looked_into,
    name_of,
    number_home,
    parts_of,
    see,
    type_info,
    unbind,
)


class Support(NamedTuple):
    """Transformations that an engine supports for an exported function.

    Attributes
    ----------
    grad, jvp : bool
        Whether reverse mode and forward mode are supported.
    vmap, jit : bool
        Whether it can be mapped over a batch, and compiled.
    order : float
        The highest order of differentiation: ``inf`` for rules written in operations, 0 for a
        function without derivative.

    Examples
    --------
    >>> Support(grad=True, jvp=True, vmap=True, jit=True, order=2)
    Support(grad=True, jvp=True, vmap=True, jit=True, order=2)
    """

    grad: bool
    jvp: bool
    vmap: bool
    jit: bool
    order: float


def stated(
    f: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    config: Config | None = None,
) -> Support:
    """Return the support that the rules of a call state; exporters return it or their engine's own.

    Examples
    --------
    >>> import numpy as np
    >>> stated(np.sum, (np.ones(3),), {"axis": 0})
    Support(grad=True, jvp=True, vmap=False, jit=False, order=inf)
    """
    operation, given, *_ = resolved(f, operands, options)
    if operation is None:
        return Support(grad=True, jvp=True, vmap=False, jit=False, order=math.inf)
    rule = find_rule(operation, tuple(map(type, given)), config)
    if rule is None:
        flows = grad = jvp = looked_into(operation, tuple(map(type, given)), config)
    else:
        statement = rule.reverse or rule.forward
        flows = statement is not None and not statement.recipe.is_constant
        grad, jvp = rule.reverse is not None, rule.forward is not None
    return Support(grad=grad, jvp=jvp, vmap=False, jit=False, order=math.inf if flows else 0)


# ---------------------------------------------------------------------------- resolved calls


class Resolved(NamedTuple):
    """Resolved call: the one primitive that it calls, or code that calls several.

    Attributes
    ----------
    operation : Primitive or None
        The primitive; None for code that calls several.
    operands, options
        In canonical form: operands by position, all options by name.
    call : callable or None
        Without an operation, ``call()`` runs the code on the given arguments.
    after : tuple of callable
        Functions that are applied to the result of the operation, in order.
    """

    operation: Primitive[..., Any] | None
    operands: tuple[Any, ...]
    options: dict[str, Any]
    call: Callable[[], Any] | None = None
    after: tuple[Callable[[Any], Any], ...] = ()


def resolved(f: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Resolved:
    """Resolve a call of a function to one primitive, or to code that calls several.

    Parameters
    ----------
    f : callable
        As in `export`.
    operands, options
        The arguments, as the user passes them.

    Raises
    ------
    UnsupportedKeywordError
        If f is a library's function and a keyword has no derivative.

    Examples
    --------
    >>> import numpy as np
    >>> call = resolved(np.sum, (np.ones((2, 3)),), {"axis": 0})
    >>> call.operation, call.options
    (<primitive sum>, {'axis': 0, 'keepdims': False})
    """
    f, operands = unbind(f, operands)
    if isinstance(f, Primitive):
        return Resolved(f, *f.normalise(operands, options))
    row = row_of(f)
    if row is None:
        see(f, ())
        row = row_of(f)
    if row is not None:
        homes = [type_info(type(x)).home for x in (*operands, *options.values())]
        home = next((home for home in homes if home is not None), None)
        call = called_beside(home, row.call, operands, options)
        # np.where(x) is np.nonzero(x); a composite represents SciPy's function and itself.
        if not call.after and call.operation is not f and row_of(call.operation) is not None:
            return resolved(call.operation, tuple(call.operands.values()), call.options)
        if isinstance(call.operation, Primitive):
            given = tuple(call.operands.values())
            theirs = number_home(f)
            if home is not None and theirs is not None and row.gather is None:
                given = tuple(
                    [home.asarray(theirs.asarray(x)) if type(x) is list else x for x in given]
                )
            return Resolved(
                call.operation,
                *call.operation.normalise(given, call.options),
                after=tuple(call.after),
            )
        return Resolved(None, operands, options, lambda: called_beside(home, call))
    if not callable(f):
        raise NoRuleError(f"{name_of(f)} cannot be called, so that there is nothing to export")
    return Resolved(None, operands, options, lambda: f(*operands, **options))


def row_of(f: Any) -> Alias | None:
    """Return the alias of a library's function, or None if there is none."""
    try:
        return aliases.get(f)
    except TypeError:  # unhashable
        return None


# ------------------------------------------------------------- values that functions captured


def lookups(operation: Primitive[..., Any]) -> tuple[Any, ...]:
    """Return a primitive's body and the functions of its rules, if any of them captured values.

    The tuple is empty if none captured values, or if there are no rules.
    """
    try:
        return operation._cache.table[lookups]  # type: ignore[no-any-return]
    except KeyError:
        table = operation._cache.open()
        stated = [s for s in rules_for(operation) if s.recipe]
        found = (
            (operation.__wrapped__, *[f for s in stated for f in s.recipe.functions])
            if stated
            else ()
        )
        table[lookups] = found = found if any(map(parts_of, found)) else ()
        return found


def check_options(
    operation: Primitive[..., Any],
    options: dict[str, Any],
    is_traced: Callable[[Any], bool],
    operands: Sequence[Any] = (),
) -> None:
    """Raise for static arguments that another engine differentiates, which rules would ignore.

    Parameters
    ----------
    operation : Primitive
        The function.
    options : dict
        Its options.
    is_traced : callable
        Returns whether a value is being differentiated.
    operands : sequence, optional
        Its operands, some of which may be held fixed.

    Raises
    ------
    NotDifferentiableError
        For an option, or a fixed operand; the message names it.
    TracerError
        For a value that a function or object among the options holds; the message names it.
    """
    for i in operation.fixed if operands else ():
        if not callable(operands[i]) and any(map(is_traced, flatten(operands[i])[0])):
            raise NotDifferentiableError(
                f"{operation.operands[i]} of {operation.__name__} is held fixed "
                f"(nondiff_argnums), and is being differentiated: its gradient would be lost; "
                f"state a derivative in it, or pass a plain value, as ignore_derivatives gives"
            )
    for name, value in options.items():
        leaves = flatten(value)[0]
        hidden = [x for x in leaves if callable(x) or not (is_static(x) or is_traced(x))]
        if hidden and captured(leaves, is_it=is_traced):
            raise TracerError(
                f"{name} of {operation.__name__} is an option, and holds a value that is being "
                f"differentiated, mapped over or compiled: that gradient would be lost; "
                f"make it an operand"
            )
        if any(map(is_traced, leaves)):
            raise NotDifferentiableError(
                f"{name} of {operation.__name__} is an option, and is being differentiated, "
                f"mapped over or compiled; an option is static, without a derivative: make it an "
                f"operand"
            )


def is_captured(
    operation: Primitive[..., Any],
    is_traced: Callable[[Any], bool],
    among: bool,
    operands: Sequence[Any] = (),
) -> bool:
    """Return whether a function with a rule captured a value that another engine differentiates.

    Parameters
    ----------
    operation : Primitive
        The function.
    is_traced : callable
        Returns whether a value is being differentiated.
    among : bool
        Whether an operand is being differentiated as well. If not, the engine can differentiate
        through the body.
    operands : sequence, optional
        The operands of the call: functions among its fixed operands are searched as well.

    Raises
    ------
    TracerError
        If both are: the rule has no derivative in captured values.
    """
    names = captured(lookups(operation), is_it=is_traced)
    for i in operation.fixed if operands else ():
        # `check_options` sees traced leaves; those of a closure are what it captured, and are not.
        own = callable(operands[i])
        held = [x for x in flatten(operands[i])[0] if own or not is_traced(x)]
        if captured(held, is_it=is_traced):
            names.append(operation.operands[i])
    if names and among:
        raise TracerError(
            f"{operation.__name__} depends on {in_operations(names)}, which is being "
            f"differentiated, mapped over or compiled, and is not an operand: that gradient would "
            f"be lost; pass it as an operand, or hold it fixed with ignore_derivatives"
        )
    return bool(names)


# ------------------------------------------------------------- for engines that see nothing inside


@final
class Kernel:
    """Function of arrays alone that returns a tuple of arrays, with its derivatives as kernels.

    An engine for which a function is one opaque operation calls the kernel, and the kernels that
    `pull` and `push` return, so that it can differentiate again. They run on an engine that finds
    the rules of the calls inside.

    Parameters
    ----------
    f : callable
        A function of arrays by position that returns an array, a number, or a structure of these.
    count : int
        The number of arrays that it takes.
    moving : sequence of int, optional
        Indices of the arrays to differentiate with respect to; by default all.
    engine : object, optional
        An object with ``vjp(f, *xs)`` and ``jvp(f, xs, dots)``; by default the installed engine.

    Examples
    --------
    >>> from chainrules_py.ops import multiply
    >>> product = Kernel(multiply, 2)
    >>> product(2.0, 3.0)
    (6.0,)
    >>> product.pull(1)(2.0, 3.0, 1.0)
    (3.0, 2.0)
    >>> product.pull(1).pull(2)(2.0, 3.0, 1.0, 1.0, 0.0)
    (0.0, 1.0, 3.0)
    """

    __slots__ = ("count", "engine", "f", "moving", "name")

    def __init__(
        self,
        f: Callable[..., Any],
        count: int,
        moving: Sequence[int] | None = None,
        *,
        engine: Any = None,
    ) -> None:
        self.f = f
        self.engine = engine
        self.count = count
        self.moving = tuple(range(count)) if moving is None else tuple(moving)
        self.name = name_of(f)

    def __call__(self, *xs: Any) -> tuple[Any, ...]:
        """Return the arrays and numbers in the result, in order."""
        return tuple(flatten(self.f(*xs))[0])

    def _along(self, xs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return the function of the moving operands alone, and these operands."""
        return of_some(self, xs, self.moving), tuple([xs[i] for i in self.moving])

    def pull(self, outputs: int) -> Kernel:
        """Return the kernel from operands and output cotangents to moving operands' cotangents."""
        return self._derived(self._pull, f"pull_of_{self.name}", outputs)

    def _pull(self, *given: Any) -> tuple[Any, ...]:
        along, moved = self._along(given[: self.count])
        _, pullback = self._engine().vjp(along, *moved)
        return tuple(pullback(given[self.count :]))

    def push(self) -> Kernel:
        """Return the kernel from operands and tangents of the moving ones to output tangents."""
        return self._derived(self._push, f"push_of_{self.name}", len(self.moving))

    def _push(self, *given: Any) -> tuple[Any, ...]:
        along, moved = self._along(given[: self.count])
        return tuple(self._engine().jvp(along, moved, given[self.count :])[1])

    def _derived(self, f: Callable[..., Any], name: str, more: int) -> Kernel:
        tangents = range(self.count, self.count + more)
        made = Kernel(f, self.count + more, (*self.moving, *tangents), engine=self.engine)
        made.name = name
        return made

    def _engine(self) -> Any:
        engine = default_engine() if self.engine is None else self.engine
        if engine is None:
            raise ContractError(
                "no engine is installed to differentiate with; pip install chainrules-py"
            )
        return engine

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.count}>"
