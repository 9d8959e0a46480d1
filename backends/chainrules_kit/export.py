"""What a call comes down to, and what every exporter asks of it.

`resolved` finds the one primitive of a call, and `partition` takes its operands apart into the flat
list of arrays that engines work with. Rules are bound by `chainrules_py.extend.bind`; where the
engine does not say beforehand which half it will need, for both. An engine that sees primitives
being called in a program that it traces registers so with `chainrules_py.extend.register_host`. For
engines that see nothing inside of a function, a `Kernel` computes, and so do its derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from chainrules_kit.structures import of_some
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
    primal_of,
    see,
    type_info,
    unbind,
)


class Support(NamedTuple):
    """Support of an engine for an exported function: the transformations that it can apply.

    Attributes
    ----------
    grad, jvp : bool
        Whether there is reverse mode, and forward mode.
    vmap, jit : bool
        Whether it can be mapped over a batch, and compiled.
    order : float
        To which order it can be differentiated: ``inf`` for rules written in words, 0 where no
        derivative flows.

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
    """Tell how much of a call the rules state: exporters say so, or what their engine can do of it.

    Examples
    --------
    >>> import numpy as np
    >>> stated(np.sum, (np.ones(3),), {"axis": 0})
    Support(grad=True, jvp=True, vmap=False, jit=False, order=inf)
    """
    call = resolved(f, operands, options)
    if call.operation is None:
        return Support(grad=True, jvp=True, vmap=False, jit=False, order=math.inf)
    rule = find_rule(call.operation, tuple(map(type, call.operands)), config)
    if rule is None:
        flows = grad = jvp = looked_into(call.operation, tuple(map(type, call.operands)), config)
    else:
        statement = rule.reverse or rule.forward
        flows = statement is not None and not statement.recipe.is_constant
        grad, jvp = rule.reverse is not None, rule.forward is not None
    return Support(grad=grad, jvp=jvp, vmap=False, jit=False, order=math.inf if flows else 0)


# ---------------------------------------------------------------------------- what a call is


@final
class Resolved:
    """Resolution of a call: the one primitive it comes down to, or code that calls several.

    Attributes
    ----------
    operation : Primitive or None
        What is called, if it is one primitive; None for code that is made of several.
    operands, options
        In the one form: operands by position, all options by name.
    call : callable or None
        Without an operation, ``call()`` runs the code on what was given.
    after : tuple of callable
        What is applied to the result of the operation, in order.
    """

    __slots__ = ("after", "call", "operands", "options", "operation")

    def __init__(
        self,
        operation: Primitive[..., Any] | None,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        call: Callable[[], Any] | None = None,
        after: tuple[Callable[[Any], Any], ...] = (),
    ) -> None:
        self.operation = operation
        self.operands = operands
        self.options = options
        self.call = call
        self.after = after


def resolved(f: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Resolved:
    """Resolve a call of a function: it is one primitive, or code that calls several.

    Parameters
    ----------
    f : callable
        As `export` takes it.
    operands, options
        As a person gave them.

    Raises
    ------
    UnsupportedKeywordError
        If f is a library's function, and a keyword has no derivative.

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
    row = _row(f)
    if row is None:
        see(f, ())
        row = _row(f)
    if row is not None:
        homes = [type_info(type(x)).home for x in (*operands, *options.values())]
        home = next((home for home in homes if home is not None), None)
        call = called_beside(home, row.call, operands, options)
        # np.where(x) is np.nonzero(x); a composite stands for SciPy's function and for itself.
        if not call.after and call.operation is not f and _row(call.operation) is not None:
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
    primal = primal_of(f)
    if primal is not None:
        return Resolved(primal, *primal.normalise(operands, options))
    if not callable(f):
        msg = f"{name_of(f)} cannot be called, so that there is nothing to export"
        raise NoRuleError(msg)
    return Resolved(None, operands, options, lambda: f(*operands, **options))


def _row(f: Any) -> Alias | None:
    try:
        return aliases.get(f)
    except TypeError:  # unhashable
        return None


# ---------------------------------------------------------------------- what functions look up


def lookups(operation: Primitive[..., Any]) -> tuple[Any, ...]:
    """Return what people wrote of a function, its body first, if any of it captured values.

    It is empty if none did, or nobody stated a rule of their own.
    """
    try:
        return operation._cache.table[lookups]  # type: ignore[no-any-return]
    except KeyError:
        table = operation._cache.open()
        own = [s for s in rules_for(operation) if s.recipe and not s.source.is_ours]
        found = (
            (operation.__wrapped__, *[f for s in own for f in s.recipe.functions]) if own else ()
        )
        table[lookups] = found = found if any(map(parts_of, found)) else ()
        return found


def check_options(
    operation: Primitive[..., Any],
    options: dict[str, Any],
    is_traced: Callable[[Any], bool],
    operands: Sequence[Any] = (),
) -> None:
    """Raise for what is static, and another engine differentiates: rules see no derivative in it.

    Parameters
    ----------
    operation : Primitive
        The function.
    options : dict
        Its options.
    is_traced : callable
        Tells whether a value is differentiated.
    operands : sequence, optional
        Its operands, of which some may be held fixed.

    Raises
    ------
    NotDifferentiableError
        It names the option, or the operand.
    TracerError
        It names the value that a function or object among the options holds.
    """
    for i in operation.fixed if operands else ():
        if not callable(operands[i]) and any(map(is_traced, flatten(operands[i])[0])):
            msg = (
                f"{operation.operands[i]} of {operation.__name__} is held fixed "
                f"(nondiff_argnums), and is "
                f"being differentiated: its gradient would be lost; state a derivative in it, or "
                f"pass a plain value, as ignore_derivatives gives"
            )
            raise NotDifferentiableError(msg)
    for name, value in options.items():
        leaves = flatten(value)[0]
        hidden = [x for x in leaves if callable(x) or not (is_static(x) or is_traced(x))]
        if hidden and (names := _held_by(operation, name, value, is_traced)):
            msg = (
                f"{name} of {operation.__name__} is an option, and holds {' and '.join(names)}, "
                f"which "
                f"is being differentiated, mapped over or compiled: that gradient would be lost; "
                f"make it an operand"
            )
            raise TracerError(msg)
        if any(map(is_traced, leaves)):
            msg = (
                f"{name} of {operation.__name__} is an option, and is being differentiated, "
                f"mapped over "
                f"or compiled; an option is static, without a derivative: make it an operand"
            )
            raise NotDifferentiableError(msg)


def _held_by(
    operation: Primitive[..., Any], name: str, option: Any, is_traced: Callable[[Any], bool]
) -> list[str]:
    """Name an option that is, or directly holds, a function or object that captured a value."""
    return [name] if captured(flatten(option)[0], is_it=is_traced) else []


def is_captured(
    operation: Primitive[..., Any],
    is_traced: Callable[[Any], bool],
    among: bool,
    operands: Sequence[Any] = (),
) -> bool:
    """Tell whether a function with a rule captured a value that another engine differentiates.

    Parameters
    ----------
    operation : Primitive
        The function.
    is_traced : callable
        Tells whether a value is one.
    among : bool
        Whether there is one among the operands as well. If not, the engine can differentiate
        through the body.
    operands : sequence, optional
        What it is called with: functions that it holds fixed are looked through as well.

    Raises
    ------
    TracerError
        If there is: the rule says nothing of the derivative in what was captured.
    """
    names = captured(lookups(operation), is_it=is_traced)
    for i in operation.fixed if operands else ():
        leaves = flatten(operands[i])[0]
        hidden = [x for x in leaves if not is_traced(x)]  # `check_options` sees the others
        # A closure is taken apart into what it captured, of which nobody else tells.
        seen = not callable(operands[i]) and len(hidden) < len(leaves)
        held = hidden if seen else operands[i]
        names += _held_by(operation, operation.operands[i], held, is_traced)
    if names and among:
        msg = (
            f"{operation.__name__} depends on {in_operations(names)}, which is being "
            f"differentiated, "
            f"mapped over or compiled, and is not an operand: that gradient would be lost; pass it "
            f"as an operand, or hold it fixed with ignore_derivatives"
        )
        raise TracerError(msg)
    return bool(names)


# ------------------------------------------------------------- for engines that see nothing inside


@final
class Kernel:
    """A function of arrays alone that gives a tuple of arrays, and its derivatives as such.

    An engine to which a function is one opaque operation calls it, and what `pull` and `push` give;
    these are kernels as well, so that it can differentiate again. They run on an engine, which
    finds the rules of what is called inside.

    Parameters
    ----------
    f : callable
        Of arrays, by position; it gives an array, a number, or a structure of these.
    count : int
        How many it takes.
    moving : sequence of int, optional
        The places of those that derivatives are taken in; by default all.
    engine : object, optional
        It has ``vjp(f, *xs)`` and ``jvp(f, xs, dots)``; by default the engine that is installed.

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
        """From the operands and one cotangent per output to one for each operand that moves."""

        def pull(*given: Any) -> tuple[Any, ...]:
            along, moved = self._along(given[: self.count])
            _, pullback = self._engine().vjp(along, *moved)
            return tuple(pullback(given[self.count :]))

        return self._derived(pull, f"pull_of_{self.name}", outputs)

    def push(self) -> Kernel:
        """From the operands and one tangent for each that moves to the tangents of the outputs."""

        def push(*given: Any) -> tuple[Any, ...]:
            along, moved = self._along(given[: self.count])
            return tuple(self._engine().jvp(along, moved, given[self.count :])[1])

        return self._derived(push, f"push_of_{self.name}", len(self.moving))

    def _derived(self, f: Callable[..., Any], name: str, more: int) -> Kernel:
        tangents = range(self.count, self.count + more)
        made = Kernel(f, self.count + more, (*self.moving, *tangents), engine=self.engine)
        made.name = name
        return made

    def _engine(self) -> Any:
        engine = default_engine() if self.engine is None else self.engine
        if engine is None:
            msg = "no engine is installed to differentiate with; pip install chainrules-py"
            raise ContractError(msg)
        return engine

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.count}>"
