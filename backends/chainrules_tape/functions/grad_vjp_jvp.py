"""Public functions: `grad`, `value_and_grad`, `vjp`, `jvp`, `linearize` and `stop_gradient`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    Never,
    ParamSpec,
    TypeAlias,
    TypeVar,
    final,
    overload,
)

from chainrules_kit import deliver_many, many_directions
from chainrules_py import NotDifferentiableError, ZeroTangent, ignore_derivatives, is_zero
from chainrules_py.extend import (
    Guard,
    GuardMode,
    Made,
    finite_tests,
    forgets,
    leaf_cotangents,
    leaf_tangents,
    leaves_out,
    made,
    map_leaves,
    shorten_traceback,
    type_info,
    untraced,
    warn_unused,
)
from chainrules_tape.core.cotangent_routing import ZERO
from chainrules_tape.functions.arguments import Arguments, Names, Numbers, numbers, unit, units
from chainrules_tape.functions.run import (
    ForwardRun,
    LinearRun,
    ReverseRun,
    can_repair,
    is_lost,
    strong_pass,
)
from chainrules_tape.rule_config import config, recorders

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T")
# The bound lets type checkers take the parameter of a lambda for Any.
X = TypeVar("X", bound=Any, contravariant=True)
G = TypeVar("G", covariant=True)


class Gradient(Generic[X, P, G]):
    """Function with the signature of another one that returns a gradient in its first argument.

    For type checkers only: they read it in the signature of `grad`.
    """

    @overload
    def __call__(self, x: X, /, *operands: P.args, **keywords: P.kwargs) -> G: ...
    @overload
    def __call__(self, /, **keywords: Any) -> G: ...  # the first argument by its name
    def __call__(self, /, *operands: Any, **keywords: Any) -> Any:
        """Compute the gradient."""
        raise NotImplementedError


def derivative(
    call: Callable[..., Any],
    f: Callable[..., Any],
    maker: Callable[..., Any],
    arguments: Arguments,
    what: str,
    gives: str,
    *operands: Any,
    **settings: Any,
) -> Callable[..., Any]:
    """Return a derivative of f as a function whose docstring says what it computes.

    Parameters
    ----------
    call : callable
        The function that computes it.
    maker, operands, settings
        The transformation, and its arguments besides f.
    arguments : Arguments
        The arguments that f is differentiated with respect to.
    what, gives : str
        The name of the derivative, and the description of its result.
    """
    found = made(call, f, maker, *operands, **settings)
    name = getattr(found, "__name__", "a function")
    chosen = arguments.names_of_chosen
    first_line = (found.__doc__ or "").strip().partition("\n")[0]
    found.__doc__ = (
        f"Compute the {what} of {name} in argument{'s' * (len(chosen) > 1)} "
        f"{', '.join(map(str, chosen))}.\n\nTakes what {name} takes, and returns {gives}."
        + f"\n\n{name}: {first_line}"
        * bool(first_line)
    )
    found.returns_other = True
    return found  # type: ignore[no-any-return]


def vjp(
    f: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    guard: GuardMode = "sample",
) -> Any:
    """Compute the value of a function and its pullback.

    Parameters
    ----------
    f, has_aux, guard
        As in `grad`.
    *primals
        The point at which f is differentiated.

    Returns
    -------
    y
        ``f(*primals)``.
    pullback : callable
        ``pullback(y_bar)`` is a tuple with one cotangent per primal; it can be called any number
        of times. ``pullback(y_bar, batched=True)`` takes and returns arrays with one more leading
        axis, which counts cotangents: all are pulled back in one pass. A cotangent is a dense zero
        where y does not depend on the primal, and `NoTangent()` for a leaf that cannot be
        perturbed; it is a tuple, list or dict for a primal of that class, and `Tangent[P]` for
        other structures.
    aux
        Only with ``has_aux``.

    Raises
    ------
    ProjectionError
        In the pullback, if a cotangent does not belong to y.

    Examples
    --------
    >>> y, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> y, pullback(1.0)
    (6.0, (3.0, 2.0))
    """
    run = ReverseRun(f, primals, has_aux=has_aux, guard=guard)
    whole = Mapped(pullback, run)
    whole.recipe = _second, (f, vjp, *primals), {"has_aux": has_aux, "guard": guard}
    return (run.value, whole, run.aux) if has_aux else (run.value, whole)


@final
class Mapped(Made):
    """Pullback or push, which is pickled as the call that made it."""

    def __reduce__(self) -> Any:
        self.args[0].tape.guard.check()
        return super().__reduce__()


def _second(f: Any, maker: Callable[..., Any], *primals: Any, **settings: Any) -> Any:
    """Make the pullback or push of a function again, in another process."""
    return maker(f, *primals, **settings)[1]


def pullback(run: ReverseRun, y_bar: Any, *others: Any, batched: bool = False) -> Any:
    """Pull one cotangent back through a run, or many."""
    if batched:
        seeds = many_directions("a pullback", run.y_tree, run.y, y_bar)
        return deliver_many(run.tree, run.leaves, run.pull(seeds, many=True), seeds, run.y_leaves)
    seeds = leaf_cotangents(run.y_tree, run.y, (y_bar, *others) if others else y_bar)
    return run.delivered(run.tree, run.leaves, run.pull(seeds), seeds)


def push(run: LinearRun, primals: tuple[Any, ...], *tangents: Any) -> Any:
    """Push tangents of the primals through a run."""
    ts = leaf_tangents("push", primals, tangents)
    return run.delivered(run.y_tree, run.y_leaves, run.push(ts), ts)


def jvp(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    has_aux: bool = False,
    batched: bool = False,
) -> Any:
    """Compute the value of a function and its directional derivative.

    Parameters
    ----------
    f, has_aux
        As in `grad`.
    primals : tuple
        The point at which f is differentiated.
    tangents : tuple
        The direction: one tangent per primal, ``ZeroTangent()`` for a primal that is held fixed.
    batched : bool
        Whether tangents have one more leading axis, which counts directions. f runs once.

    Returns
    -------
    y, y_dot
        The value and its tangent; a dense zero where y does not depend on the primals. With
        ``batched`` the tangent has the same leading axis.
    aux
        Only with ``has_aux``.

    Raises
    ------
    ProjectionError
        If a tangent does not belong to its primal.

    Examples
    --------
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    if batched:
        linear = LinearRun(f, primals, has_aux=has_aux)
        given = many_directions("jvp", linear.tree, primals, tangents)
        ts = linear.push(given, many=True)
        out = deliver_many(linear.y_tree, linear.y_leaves, ts, given, linear.leaves)
        return (linear.value, out, linear.aux) if has_aux else (linear.value, out)
    ts = leaf_tangents("jvp", primals, tangents)
    run = ForwardRun(f, primals, ts, has_aux)
    dots = [ZeroTangent() if t is None else t for t in run.outputs]
    y_dot = run.delivered(run.y_tree, run.y_leaves, dots, ts)
    return (run.value, y_dot, run.aux) if has_aux else (run.value, y_dot)


def linearize(
    f: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    guard: GuardMode = "sample",
) -> Any:
    """Compute the value of a function and its push: its derivative at a point, a linear function.

    f runs once, when it is linearized; a push costs the linear part alone.

    Parameters
    ----------
    f, has_aux, guard
        As in `grad`.
    *primals
        The point at which f is linearized.

    Returns
    -------
    y
        ``f(*primals)``.
    push : callable
        ``push(x_dot, ...)``, with one tangent per primal, returns the tangent of y; it can be
        called any number of times.
    aux
        Only with ``has_aux``.

    Raises
    ------
    ProjectionError
        In the push, if a tangent does not belong to its primal.

    Examples
    --------
    >>> y, push = linearize(lambda x, y: x * y, 2.0, 3.0)
    >>> y, push(1.0, 0.0), push(0.0, 1.0)
    (6.0, 3.0, 2.0)
    """
    run = LinearRun(f, primals, has_aux=has_aux, guard=guard)
    whole = Mapped(push, run, primals)
    whole.recipe = _second, (f, linearize, *primals), {"has_aux": has_aux, "guard": guard}
    return (run.value, whole, run.aux) if has_aux else (run.value, whole)


Unused: TypeAlias = Literal["warn", "zero", "none", "raise"]
Dense: TypeAlias = Literal["warn", "zero", "raise"]


@overload
def value_and_grad(
    f: Callable[Concatenate[X, Q], R],
    argnums: Literal[0] | None = None,
    *,
    has_aux: bool = False,
    guard: GuardMode = "lock",
    unused: Dense = "warn",
) -> Gradient[X, Q, tuple[R, X]]: ...
@overload
def value_and_grad(
    f: Callable[P, R],
    argnums: Numbers = None,
    *,
    argnames: Names = None,
    has_aux: bool = False,
    guard: GuardMode = "lock",
    unused: Unused = "warn",
    by_name: bool = False,
    sparse: bool = False,
) -> Callable[P, tuple[R, Any]]: ...
def value_and_grad(
    f: Callable[..., Any],
    argnums: Numbers = None,
    *,
    argnames: Names = None,
    has_aux: bool = False,
    guard: GuardMode = "lock",
    unused: Unused = "warn",
    by_name: bool = False,
    sparse: bool = False,
    **misspelled: Never,
) -> Callable[..., Any]:
    """Return a function that computes the value of f together with its gradient; see `grad`.

    Returns
    -------
    callable
        Takes the arguments of f and returns ``(value, gradient)``; with ``has_aux`` the value is
        ``(result, aux)``.

    Examples
    --------
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    arguments = Arguments("value_and_grad", f, argnums, argnames, by_name, misspelled)
    return derivative(
        _differentiating(f, arguments, True, has_aux, guard, unused, sparse),
        f,
        value_and_grad,
        arguments,
        "value and gradient",
        f"(value, gradient){_LIKE}",
        argnums,
        argnames=argnames,
        has_aux=has_aux,
        guard=guard,
        unused=unused,
        by_name=by_name,
        sparse=sparse,
    )


_nothing = Guard("off")


# One function for both: a further Python call would be a tenth of the smallest gradient's cost.
def _differentiating(
    f: Callable[..., Any],
    arguments: Arguments,
    with_value: bool,
    has_aux: bool,
    guard: GuardMode,
    unused: Unused,
    sparse: bool,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of f, or its value and its gradient."""
    if unused not in ("warn", "zero", "none", "raise"):
        raise NotDifferentiableError(f"unused={unused!r}; write 'warn', 'zero', 'none' or 'raise'")
    names, alone = arguments.names_of_chosen, arguments.alone and not arguments.by_name
    what, warns = "value_and_grad" if with_value else "grad", unused == "warn"

    def differentiated(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = operands, f
        if keywords or len(operands) != arguments.first:
            xs, of_chosen = arguments.pick(operands, keywords)
        watch = Guard(guard)
        try:
            run = ReverseRun(of_chosen, xs, has_aux=has_aux, guard=watch, names=names)
            y = run.y
            seeds = [units[type(y)] if type(y) in units else unit(y, what, f, run.leaves)]
            found = (
                run.pull_sparsely(seeds) if sparse else pulled(run, seeds, of_chosen, xs, has_aux)
            )
            run.tape.guard, run.tape.held = _nothing, _nothing.held  # f may have kept its values
            if run.tree.is_flat and all(map(numbers.__getitem__, map(type, found))):
                bars: Any = tuple(found)  # numbers are returned unchanged
            else:
                bars = run.delivered(run.tree, run.leaves, found, seeds, unused != "none")
            if warns:
                if (
                    found
                    and found[0] is ZERO
                    and run.is_constant(found)
                    and not recorders.under_way
                ):
                    warn_unused(f, run.notes)
            elif unused != "zero":
                bars = without_zeros(run, found, bars, unused, names)
        except Exception as error:
            shorten_traceback(error)
            raise
        finally:
            watch.undo()  # first, because an interrupt may come at any later call
        bars = bars[0] if alone else arguments.deliver(bars)
        if not with_value:
            return (bars, run.aux) if has_aux else bars
        return (y, run.aux) if has_aux else y, bars

    return differentiated


@overload
def grad(
    f: Gradient[X, Q, Any],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    guard: GuardMode = "lock",
    unused: Dense = "warn",
) -> Gradient[X, Q, X]: ...
@overload
def grad(
    f: Callable[Concatenate[X, Q], Any],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    guard: GuardMode = "lock",
    unused: Dense = "warn",
) -> Gradient[X, Q, X]: ...
@overload
def grad(
    f: Callable[Concatenate[X, Q], tuple[Any, T]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    guard: GuardMode = "lock",
    unused: Dense = "warn",
) -> Gradient[X, Q, tuple[X, T]]: ...
@overload
def grad(
    f: Callable[P, Any],
    argnums: Numbers = None,
    *,
    argnames: Names = None,
    has_aux: bool = False,
    guard: GuardMode = "lock",
    unused: Unused = "warn",
    by_name: bool = False,
    sparse: bool = False,
) -> Callable[P, Any]: ...
def grad(
    f: Callable[..., Any],
    argnums: Numbers = None,
    *,
    argnames: Names = None,
    has_aux: bool = False,
    guard: GuardMode = "lock",
    unused: Unused = "warn",
    by_name: bool = False,
    sparse: bool = False,
    **misspelled: Never,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of f, whose result is one real number.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers, and structures of them; other arguments may be anything.
    argnums : int or sequence of int, optional
        The arguments to differentiate with respect to, by position; the first by default. A
        negative number counts from the last positional argument of the call.
    argnames : str or sequence of str, optional
        The same by name, whether they are passed by position, by keyword, or left at their default.
    has_aux : bool
        Whether f returns ``(result, aux)``; aux is not differentiated, and is returned as plain
        values.
    guard : {"lock", "sample", "full", "off"}
        How to detect writes to the arrays that the gradient depends on before it is computed.
        "lock" makes them read-only meanwhile, and compares those of up to 64 elements; views made
        before can still be written to. "sample" compares 64 elements of each; "full" compares all
        bytes; "off" does not check.
    unused : {"warn", "zero", "none", "raise"}
        The gradient in an argument, or a leaf of one, that the result does not depend on. "warn"
        gives a dense zero, with a warning if the result depends on no argument; "zero" gives a
        dense zero; "none" gives None; "raise" raises an error that names the argument.
    by_name : bool
        Whether the gradients are returned in a dict, by the names of the arguments.
    sparse : bool
        Whether the gradient is `Rows` in an array of which only rows were read, by arrays of
        indices (``table[places]``). Otherwise the gradient is an array.

    Returns
    -------
    callable
        Takes the arguments of f. Its result is the gradient for one argument, and a tuple for
        several, those of ``argnums`` first; with ``has_aux``, ``(gradient, aux)``. The gradient has
        the structure of the argument: a dense zero where the result does not depend on it,
        `NoTangent()` for a leaf that cannot be perturbed, `Tangent[P]` for a dataclass. An integer
        counts as a number and gets a floating-point gradient.

    Raises
    ------
    NotDifferentiableError
        When called, if the result is not one real floating-point number, or if a named argument is
        missing.
    MutationError
        If an array that the gradient depends on was written to.

    Examples
    --------
    >>> grad(lambda x: x * x * x)(2.0)
    12.0
    >>> grad(lambda x: x * grad(lambda y: x * y * y)(x))(3.0)
    54.0
    >>> grad(lambda x, scale: scale * x * x, argnames=("x", "scale"))(2.0, scale=3.0)
    (12.0, 4.0)
    """
    arguments = Arguments("grad", f, argnums, argnames, by_name, misspelled)
    return derivative(
        _differentiating(f, arguments, False, has_aux, guard, unused, sparse),
        f,
        grad,
        arguments,
        "gradient",
        f"the gradient{_LIKE}",
        argnums,
        argnames=argnames,
        has_aux=has_aux,
        guard=guard,
        unused=unused,
        by_name=by_name,
        sparse=sparse,
    )


_LIKE = ", with the structure of what it is taken in"


def pulled(
    run: ReverseRun,
    seeds: list[Any],
    f: Callable[..., Any],
    xs: tuple[Any, ...],
    has_aux: bool = False,
) -> list[Any]:
    """Pull seeds back and drop the records; if that gives NaN, pull again with strong zeros.

    The second pull runs f again at xs. If f then returns another number, as a function that draws
    random numbers does, or raises, the NaN is returned.
    """
    guard = run.tape.guard
    helps = not guard.large or any([leaves_out(half) for half, *_ in run.tape if half is not None])
    found = run.pull(seeds, consume=True)
    for bar in found if helps else ():
        sums = _totals[type(bar)]
        total = bar if sums is None else sums(bar, bar)
        if total != total and is_lost(bar) and can_repair(run):
            run.tape.guard.unlock()  # f may write to arrays that it captures
            try:
                again = ReverseRun(f, xs, has_aux=has_aux)
            except Exception:
                return found
            y, before = untraced(again.y), untraced(run.y)
            same = y == before or (y != y and before != before)
            return strong_pass(again, seeds) if same else found
    return found


class _Totals(dict[type, Callable[[Any, Any], Any] | None]):
    """By class of cotangents: a function of ``(t, t)`` whose result is NaN if t may have NaN.

    It is None for numbers and zeros, which show this themselves: a program may have thousands. A
    library's function is called directly: a Python function would cost as much as its pass.
    """

    def __missing__(self, cls: type) -> Callable[[Any, Any], Any] | None:
        info, test = type_info(cls), finite_tests.get(cls, is_zero)
        found: Any = lambda t, _: 0.0 if test(t) else math.nan
        if numbers[getattr(cls, "payload_type", cls)] or cls is ZeroTangent:
            found = None
        elif cls in finite_tests and info.is_array and info.host is None:
            vdot = info.library.namespace.vdot
            found = getattr(vdot, "_implementation", vdot)
        return self.setdefault(cls, found)


_totals = _Totals()
forgets(lambda: (_totals,))


def without_zeros(
    run: ReverseRun, found: list[Any], bars: Any, unused: Unused, names: Sequence[int | str]
) -> Any:
    """Replace by None the gradients in leaves that the result does not depend on, or raise."""
    none = [i is not None and is_zero(bar) for i, bar in zip(run.inputs, found, strict=True)]
    if unused == "raise" and any(none):
        number, *keys = list(run.tree.paths())[none.index(True)]
        where = "".join([f"[{key!r}]" for key in keys])
        raise NotDifferentiableError(
            f"the result does not depend on argument {names[number]!r}{where}: no gradient flows "
            f"there; leave it out, or write unused='zero' or unused='none'"
        )
    return map_leaves(lambda t: None if type(t) is ZeroTangent else t, bars)


def stop_gradient(x: Any) -> Any:
    """Treat a value as constant, at all levels of differentiation.

    Parameters
    ----------
    x : array, number or structure
        Its tracers are replaced by their values; strings, functions and the like are unchanged.

    Returns
    -------
    same as x
        Plain values. To make a function whose *result* counts as constant, use
        `chainrules_py.ignore_derivatives`.

    Examples
    --------
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    >>> grad(grad(lambda x: x * x * stop_gradient(x)))(3.0)
    6.0
    """
    return ignore_derivatives((x,))[0]  # in a tuple, because a function alone would be wrapped


config.vjp, config.jvp = vjp, jvp  # for rules that call back into the engine
