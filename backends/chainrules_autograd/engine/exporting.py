"""`export`: a function with a rule as a function that autograd differentiates."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from autograd.core import JVPNode, VJPNode
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import box_types

from chainrules_autograd.engine import _private
from chainrules_autograd.engine.boxes import boxed, is_boxed, opened, returned
from chainrules_autograd.engine.calls import entering as _entering
from chainrules_autograd.engine.calls import is_function, run, tangent_of
from chainrules_autograd.engine.config import config
from chainrules_kit import (
    Resolved,
    Support,
    imported_from,
    lookups,
    refuse_numpy,
    resolved,
    stated,
    supported,
)
from chainrules_py import ChainRulesError, Primitive
from chainrules_py.extend import (
    Cache,
    aliases,
    bind,
    exactly,
    find_rule,
    is_static,
    made,
    name_of,
    number_home,
    scalar_at_home,
    see,
    type_info,
)


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into one that autograd differentiates by this rule.

    Parameters
    ----------
    f : callable
        A word, a function of NumPy's that is aliased to one, a function under `primitive`, one with
        derivatives of its own (`custom_vjp`), or code that is written in these.

    Returns
    -------
    callable
        It takes what f takes, and gives what f gives: under autograd's ``grad``, ``jacobian``,
        ``make_jvp`` and the others, in any nesting.

    Raises
    ------
    NoRuleError
        If f cannot be called; when it is differentiated, if no rule fits.

    Notes
    -----
    autograd's gradient with respect to complex numbers is the conjugate of the real adjoint that
    rules state; the functions that come out of here follow autograd.

    Examples
    --------
    >>> import autograd
    >>> import numpy as np
    >>> from chainrules_py import primitive, scalar_rule
    >>> from chainrules_py.vocabulary import exp, log
    >>> @primitive
    ... def softplus(x):
    ...     return log(1.0 + exp(x))
    >>> scalar_rule(softplus, lambda y, x: exp(x - y))
    >>> f = export(softplus)
    >>> print(autograd.grad(f)(0.0), autograd.grad(autograd.grad(f))(0.0))
    0.5 0.25
    """
    plans = Cache()
    see(f, ())
    is_native = not isinstance(f, Primitive) and _is_aliased(f)

    def exported(*operands: Any, **options: Any) -> Any:
        trace, kind = -1, None
        for x in operands:
            if type(x) in box_types and _private.trace(x) > trace:
                trace, kind = _private.trace(x), type(_private.node(x))
        if kind is None:
            if is_native and not any(map(_may_hide, (*operands, *options.values()))):
                return f(*operands, **options)  # it is the library's own, and nothing moves
            return _called(f, operands, options, None)
        # Most calls have arrays for operands, and all that is to be decided about them is decided
        # at the first with such types.
        values, parents = [], []
        key: list[Any] = [kind]
        for x in operands:
            if type(x) in box_types and _private.trace(x) == trace:
                parents.append(_private.node(x))
                key.append(True)
                x = _private.value(x)
            if type(x) is ArrayBox:
                x = boxed(x)
            values.append(x)
            key.append(type(x))
        if options:
            key += [part for name, value in options.items() for part in (name, exactly(value))]
        try:
            plan = plans.table.get(tuple(key))
        except TypeError:  # an option without a hash
            return _called(f, operands, options, None)
        if plan is not None and (y := plan(trace, parents, values)) is not None:
            return y
        return _called(f, operands, options, lambda call: _learn(plans, tuple(key), call))

    found = made(exported, f, export)
    found.__name__ = name_of(f)
    return found  # type: ignore[no-any-return]


def _is_aliased(f: Callable[..., Any]) -> bool:
    """Tell whether f is a function of a library for which words stand."""
    try:
        return f in aliases
    except TypeError:  # unhashable
        return False


def _may_hide(x: Any) -> bool:
    """Tell whether a value holds boxes, or is a function, which may hide some."""
    return is_function(x) or is_boxed(x)


def _called(
    f: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any], learn: Any
) -> Any:
    """Run a call in the general way, which suits any operands."""
    given = operands
    boxes = any(map(is_boxed, operands)) or any(map(is_boxed, options.values()))
    hidden = any(map(is_function, operands))
    operands = opened(operands)
    options = {name: boxed(value) for name, value in options.items()}
    home = number_home(f)
    if (
        home is not None
        and operands
        and all([type_info(type(x)).is_python_number for x in operands])
    ):
        operands = tuple([scalar_at_home(x, home) for x in operands])
        given = ()
    call = resolved(f, operands, options)
    if call.word is None:
        assert call.call is not None
        try:
            return returned(call.call())
        except Exception as error:
            if isinstance(error.__cause__, ChainRulesError):  # libraries say less of what a box did
                raise error.__cause__ from None
            refuse_numpy(error, f, "autograd", asked=False)
            raise
    if boxes or hidden:
        unchanged = not call.after and len(given) == len(call.operands)
        if learn is not None and unchanged and all(map(operator.is_, operands, call.operands)):
            learn(call)
        y = run(call.word, call.operands, call.options)
    else:
        y = call.word(*call.operands, **call.options)
    for step in call.after:
        y = step(y)
    return returned(y)


# --------------------------------------------------------------- calls of arrays and numbers


def _learn(plans: Cache, key: tuple[Any, ...], call: Resolved) -> None:
    """Remember how a call is recorded, if it is one of arrays and numbers alone."""
    word, options, operands = call.word, call.options, call.operands
    assert word is not None
    table = plans.open()
    if key in table or not is_static(*options.values()) or any(map(is_function, operands)):
        return
    mode = {VJPNode: "reverse", JVPNode: "forward"}.get(key[0])
    wanted, classes, flag = [], [], False
    for part in key[1:]:
        if part is True:
            flag = True
        elif isinstance(part, type):
            classes.append(part)
            wanted.append(flag)
            flag = False
        else:
            break
    plain = [type_info(cls).is_array or type_info(cls).is_number for cls in classes]
    rule = find_rule(word, tuple(classes), config)
    if mode is None or not all(plain) or rule is None or rule.statement(mode) is None:
        return
    bound = bind(rule, tuple(classes), tuple(wanted), mode, config=config)
    if bound is None or bound.may_be_zero or bound.wanted != tuple(wanted):
        return
    if lookups(word) or imported_from(word):
        return
    make = _pulled if mode == "reverse" else _pushed
    places = [i for i, w in enumerate(wanted) if w]
    table[key] = make(bound.run, places, options, lambda: table.update({key: _never}))


def _never(*_: Any) -> None:
    """Return None, so that calls whose results are not that simple take the general way."""


_F8 = np.dtype(np.float64)
_REAL = frozenset((np.ndarray, np.float64))


def _is_double(x: Any) -> bool:
    """Tell whether a value is real and in double precision, so that nothing is conjugated."""
    cls = type(x)
    return cls is float or (cls in _REAL and x.dtype == _F8)


def _pulled(
    forward: Callable[..., Any],
    places: list[int],
    options: dict[str, Any],
    give_up: Callable[[], None],
) -> Callable[..., Any]:
    one = places[0] if len(places) == 1 else None

    def record(trace: int, parents: list[Any], values: list[Any]) -> Any:
        """Record a call as a box; return None where the general way has to be taken."""
        if not (
            all([_is_double(values[i]) for i in places]) if one is None else _is_double(values[one])
        ):
            return None
        y, (pull, _, *saved) = forward(None, *values, **options)
        if not _is_double(y):
            return give_up()
        python = type(y) is float
        node = _new_vjp(VJPNode)
        node.parents = parents

        def vjp(g: Any) -> Any:
            if type(g) is not _ndarray:
                g = _entering(g, python)
            return pull(g, *saved) if one is None else (pull(g, *saved),)

        node.vjp = vjp
        return ArrayBox(y, trace, node)

    return record


def _pushed(
    forward: Callable[..., Any],
    places: list[int],
    options: dict[str, Any],
    give_up: Callable[[], None],
) -> Callable[..., Any]:
    def record(trace: int, parents: list[Any], values: list[Any]) -> Any:
        """Record a call as a box; return None where the general way has to be taken."""
        if not all([_is_double(values[i]) for i in places]):
            return None
        y, y_dot = forward(tuple([boxed(parent.g) for parent in parents]), *values, **options)
        if not _is_double(y):
            return give_up()
        node = _new_jvp(JVPNode)
        node.g = y_dot if type(y_dot) in _REAL else tangent_of(y, y_dot)
        return ArrayBox(y, trace, node)

    return record


_ndarray = np.ndarray
_new_vjp: Any = VJPNode.__new__
_new_jvp: Any = JVPNode.__new__


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Tell which transformations of autograd an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        As `export` takes it.
    *operands, **options
        Those of a call, on which each transformation is run. Without operands the answer is read
        off what is stated.

    Returns
    -------
    Support
        autograd has neither ``vmap`` nor a compiler.

    Examples
    --------
    >>> import numpy as np
    >>> supports(np.sin, np.ones(3))
    Support(grad=True, jvp=True, vmap=False, jit=False, order=inf)
    """
    said = stated(f, operands, options, config)
    if not operands:
        return said
    from chainrules_autograd.engine.transform import transformations

    return supported(export(f), operands, options, transformations, is_constant=not said.order)
