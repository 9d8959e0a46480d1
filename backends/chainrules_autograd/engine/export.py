"""`export`: a function with a rule as a function that autograd differentiates."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import box_types

from chainrules_autograd.engine import _private
from chainrules_autograd.engine.boxes import bare, boxed, is_boxed, opened, returned
from chainrules_autograd.engine.calls import (
    MODES,
    entering,
    forward_node,
    is_function,
    reverse_node,
    run,
    tangent_of,
)
from chainrules_autograd.engine.rule_config import config
from chainrules_kit import (
    Support,
    imported_from,
    lookups,
    resolved,
    run_resolved,
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
    number_home,
    scalar_at_home,
    see,
    type_info,
)

trace_of, node_of, value_of = _private.trace, _private.node, _private.value


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into one that autograd differentiates by this rule.

    Parameters
    ----------
    f : callable
        An operation, a NumPy function that is aliased to one, a function under `primitive`, a
        function with derivatives of its own (`custom_vjp`), or code that is written in these.

    Returns
    -------
    callable
        It takes the arguments of f, and returns the result of f, under autograd's ``grad``,
        ``jacobian``, ``make_jvp`` and the others, in any nesting.

    Raises
    ------
    NoRuleError
        When the result is called, if f cannot be called; when it is differentiated, if no rule
        applies.

    Notes
    -----
    autograd's gradient with respect to complex numbers is the conjugate of the real adjoint that
    rules state; exported functions follow autograd.

    Examples
    --------
    >>> import autograd
    >>> import numpy as np
    >>> from chainrules_py import primitive, scalar_rule
    >>> from chainrules_py.ops import exp, log
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
    is_native = isinstance(f, Hashable) and f in aliases and not isinstance(f, Primitive)

    def exported(*operands: Any, **options: Any) -> Any:
        trace = -1
        for x in operands:
            if type(x) in box_types and trace_of(x) > trace:
                trace = trace_of(x)
        if trace < 0:
            every = (*operands, *options.values())
            if is_native and not any([is_function(x) or is_boxed(x) for x in every]):
                return f(*operands, **options)  # the library's own function; nothing is traced
            return _called(f, operands, options, None)
        # Most calls have arrays as operands; the plan of the first call with their types applies to
        # all.
        nodes, values, found = [], [], list[Any]()
        for x in operands:
            moves_here = type(x) in box_types and trace_of(x) == trace
            if moves_here:
                nodes.append(node_of(x))
                x = value_of(x)
            values.append(boxed(x) if type(x) is ArrayBox else x)
            found += moves_here, type(values[-1])
        given = [(name, exactly(x)) for name, x in options.items()] if options else ()
        key = type(nodes[0]), tuple(found), *given
        try:
            plan = plans.table.get(key)
        except TypeError:  # an option is not hashable
            return _called(f, operands, options, None)
        if plan is not None and (y := plan(trace, nodes, values)) is not None:
            return y
        return _called(f, operands, options, lambda *call: _learn(plans, key, *call))

    return made(exported, f, export)  # type: ignore[no-any-return]


def _called(
    f: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any], learn: Any
) -> Any:
    """Run a call in the general way, which supports any operands."""
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
        learn = None  # the plan would be for converted operands
    call = resolved(f, operands, options)

    def run_operation(operation: Any, xs: tuple[Any, ...], static: dict[str, Any]) -> Any:
        if not (boxes or hidden):
            return operation(*xs, **static)
        y = run(operation, xs, static)
        simple = not call.after and len(operands) == len(xs) and type(bare(y)) in _DOUBLE
        if learn is not None and simple and all(map(operator.is_, operands, xs)):
            learn(operation, static)
        return y

    return returned(run_resolved(f, call, run_operation, "autograd", lambda _: False, _causes))


def _causes(code: Callable[[], Any]) -> Any:
    """Run code of libraries, and raise the error of a box that a library's error hides."""
    try:
        return code()
    except Exception as error:
        if isinstance(error.__cause__, ChainRulesError):
            raise error.__cause__ from None
        raise


# --------------------------------------------------------------- calls of arrays and numbers


def _learn(
    plans: Cache, key: tuple[Any, ...], operation: Primitive[..., Any], options: dict[str, Any]
) -> None:
    """Store how a call is recorded, if its operands are arrays and numbers only."""
    kind, found, *_ = key
    table, wanted, classes = plans.open(), found[::2], found[1::2]
    plain = all([type_info(cls).is_array or type_info(cls).is_number for cls in classes])
    mode = MODES.get(kind)
    rule = find_rule(operation, classes, config)
    if mode is None or not plain or rule is None or rule.statement(mode) is None:
        return
    bound = bind(rule, classes, wanted, mode, config=config)
    if bound is None or bound.may_be_zero or bound.wanted != wanted:
        return
    if not is_static(*options.values()) or lookups(operation) or imported_from(operation):
        return
    places = [i for i, w in enumerate(wanted) if w]
    table[key] = _recording(bound.run, places, options, is_forward=mode == "forward")


_F8 = np.dtype(np.float64)
_DOUBLE = frozenset((np.ndarray, np.float64, float))


def _is_double(x: Any) -> bool:
    """Return whether a value is real and in double precision, so that nothing is conjugated."""
    return type(x) is float or (type(x) in _DOUBLE and x.dtype == _F8)


def _recording(
    forward: Callable[..., Any], places: list[int], options: dict[str, Any], *, is_forward: bool
) -> Callable[..., Any]:
    one = len(places) == 1

    def record(trace: int, nodes: list[Any], values: list[Any]) -> Any:
        """Record a call as a box; return None if the general way is needed."""
        for i in places:
            if not _is_double(values[i]):
                return None
        dots = tuple([boxed(node.g) for node in nodes]) if is_forward else None
        y, rest = forward(dots, *values, **options)
        if not _is_double(y):
            return None
        if is_forward:
            return ArrayBox(
                y, trace, forward_node(rest if type(rest) in _DOUBLE else tangent_of(y, rest))
            )
        pull, _, *saved = rest
        python = type(y) is float

        def vjp(g: Any) -> Any:
            if type(g) is not np.ndarray:
                g = entering(g, python)
            return (pull(g, *saved),) if one else pull(g, *saved)

        return ArrayBox(y, trace, reverse_node(nodes, vjp))

    return record


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return which transformations of autograd an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        A function, as for `export`.
    *operands, **options
        The arguments of a call, on which each transformation is run. Without operands, the answer
        follows from the rules.

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
    from chainrules_autograd.engine.transformation_list import transformations

    return supported(export(f), operands, options, transformations, is_constant=not said.order)
