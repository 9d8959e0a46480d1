"""`export`: a function with a rule as a PyTorch function."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import types
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

import chainrules_py
from chainrules_kit import (
    check_hidden,
    check_options,
    is_captured,
    of_own,
    own_function,
    refuse_numpy,
    resolved,
    run_resolved,
)
from chainrules_py import ChainRulesError, NotDifferentiableError, Primitive
from chainrules_py import ops as v
from chainrules_py.extend import (
    Cache,
    closed,
    exactly,
    flatten,
    looked_into,
    map_leaves,
    name_of,
    partition,
)
from chainrules_torch import _private
from chainrules_torch.array_types import beside_tensors
from chainrules_torch.engine.autograd_functions import Transformed, transformed
from chainrules_torch.engine.call_plans import Call, Plan
from chainrules_torch.engine.compilers import (
    captured_there,
    check_result,
    is_abstract,
    leave_out,
    of_graph,
    refuse_captured,
    unseen,
)
from chainrules_torch.engine.eager_functions import eager
from chainrules_torch.engine.import_rule import computed_by_torch
from chainrules_torch.engine.opaque_programs import is_hidden
from chainrules_torch.engine.outputs import unwrap
from chainrules_torch.engine.pulls_and_pushes import solved
from chainrules_torch.engine.rule_config import (
    ASKED,
    Unlost,
    config,
    floats,
    is_cast,
    is_differentiated,
    is_mapped,
    is_quiet,
    is_tensor,
    outside,
    refuse_hidden,
    uncast,
    varies,
)

Tensor = torch.Tensor
_transforms_active = _private.transforms_active
_grad_enabled: Callable[[], bool] = torch.is_grad_enabled
_unseen: Any = torch.compiler.disable
_compiling: Callable[[], bool] = torch.compiler.is_dynamo_compiling


def export(f: Callable[..., Any], /) -> Exported:
    """Export a function with a rule as a function of PyTorch's autograd.

    Parameters
    ----------
    f : callable
        An operation, a NumPy function that is aliased to one, a function under `primitive`, a
        function with derivatives of its own (`custom_vjp`), or code that is written in these.

    Returns
    -------
    Exported
        It takes the arguments of f, with tensors for arrays, and returns the result of f. It is
        differentiated by the rules of f in eager programs, to any order, by all of `torch.func`,
        with dual numbers, and under `torch.compile`.

    Raises
    ------
    NoRuleError
        When the result is called, if f cannot be called or no rule applies.

    Notes
    -----
    Cotangents of complex numbers are real adjoints, in PyTorch as in this library. The pullback of
    a call runs as operations on tensors; where PyTorch may differentiate it again, these operations
    are differentiated by their rules as well, so rules apply at every order.

    Examples
    --------
    >>> import torch
    >>> from chainrules_py import primitive, scalar_rule
    >>> from chainrules_py.ops import exp, log
    >>> @primitive
    ... def softplus(x):
    ...     return log(1.0 + exp(x))
    >>> scalar_rule(softplus, lambda y, x: exp(x - y))
    >>> f = export(softplus)
    >>> x = torch.zeros(2, requires_grad=True)
    >>> f(x).sum().backward()
    >>> x.grad
    tensor([0.5000, 0.5000])
    >>> torch.func.hessian(f)(torch.tensor(0.0))
    tensor(0.2500)
    """
    return Exported(f)


class Exported:
    """Function that `export` returns, which PyTorch differentiates by its rule.

    Attributes
    ----------
    function : callable
        The function that was exported.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.function, self._plans = f, Cache()

        # The compiler puts this function into its graph unchanged. What it runs is traced with the
        # graph, forward and backward together. Of structures the graph takes tuples, lists and
        # dicts. Where the compiler makes no graph, it calls this function without looking into it.
        seen = _unseen(self._call)

        def exported(*operands: Any, **options: Any) -> Any:
            try:
                y = seen(of_graph(operands), of_graph(options))
                check_result(y, name_of(f))
                return y
            except ChainRulesError as error:
                leave_out(error)
                raise

        self._out_of_graph = _unseen(lambda xs, kw: self(*xs, **kw), reason=_OUT_OF_GRAPH)
        self._in_graph: Any = torch.compiler.allow_in_graph(_with_own_code(exported))

        # The compiler compiles one code object only a few times.
        def called(*operands: Any, **options: Any) -> Any:
            return self(*operands, **options)

        self._torchdynamo_orig_callable = _with_own_code(called)
        self._torchdynamo_wrapper_id = id(self)

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Compute the value, to be differentiated by its rule."""
        if _compiling():
            # The compiled program repeats the checks made here at each call.
            if not options and all([isinstance(x, Tensor) for x in operands]):
                return self._in_graph(*operands)
            if _passes(operands) and _passes(options):
                return self._in_graph(*operands, **options)
            return self._out_of_graph(operands, options)
        if not (options or is_cast()):
            plans = self._plans.table
            recorded = _grad_enabled() and not (_transforms_active() or _private.dual_level() >= 0)
            if recorded and (run := plans.get(len(operands))) is not None:
                for x in operands:
                    if type(x) is not Tensor or not x.requires_grad:
                        break
                else:
                    out = run(*operands)
                    return out if isinstance(out, Tensor) else unwrap(out)
            if (plan := plans.get(tuple(map(type, operands)))) is not None:
                if not recorded:
                    return applied(plan, plan, operands)
                return _recorded(plan, operands, plans)
        return self._call(operands, options)

    @unseen
    def _call(self, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if is_cast():
            return uncast(self._call, operands, options)
        if _private.dual_level() >= 0:
            operands = map_leaves(_without_flags, operands)
        plans = self._plans.open()
        call = resolved(self.function, operands, options)

        def run(operation: Any, xs: tuple[Any, ...], static: dict[str, Any]) -> Any:
            values = beside_tensors(xs)
            classes = tuple(map(type, values))
            if is_program(operation, classes):
                return self._seen(functools.partial(operation, *values, **static))
            plan = plan_for(operation, classes, static)
            if not plan.flat:
                return applied(plan, *opened(plan, values))
            unchanged = plan.is_static and not (options or call.after or plan.imported)
            unchanged = unchanged and len(operands) == len(values)
            if unchanged and all([x is y for x, y in zip(operands, values, strict=True)]):
                plans[plan.classes] = plan
            return applied(plan, plan, values)

        return run_resolved(self.function, call, run, "PyTorch", _is_asked, self._seen)

    def _seen(self, run: Callable[[], Any]) -> Any:
        """Run code whose operations PyTorch records one by one, and refuse what it would miss."""
        with nullcontext() if is_quiet() else Unlost():
            try:
                return run()
            except Exception as error:
                refuse_captured(error, name_of(self.function))
                refuse_numpy(error, self.function, "PyTorch", asked=_is_asked(error))
                raise

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> tuple[Any, ...]:
        return export, (self.function,)  # modules that hold it are copied and pickled

    def __repr__(self) -> str:
        return f"<{getattr(self, '__name__', self.function)} exported to PyTorch>"


def _without_flags(x: Any) -> Any:
    """Conjugate or negate a tensor that is only marked so: PyTorch has no views of its duals."""
    return x.resolve_conj().resolve_neg() if isinstance(x, Tensor) else x


def _is_asked(error: Exception) -> bool:
    return any([said in str(error) for said in ASKED])


for _function, _what in (
    (export, "export makes a function that PyTorch's compiler knows"),
    (chainrules_py.export, "export makes a function that PyTorch's compiler knows"),
    (chainrules_py.primitive, "primitive declares a function of every engine"),
):
    _private.left_out(
        _function,
        f"{_what}, and is called outside of what is compiled: write f = {_function.__name__}(f) "
        f"before it, and call f in it",
    )

_numbers = itertools.count()


def _with_own_code(f: Any) -> Any:
    """Give a closure a code object of its own: compiled programs are cached by code object."""
    f.__code__ = f.__code__.replace(co_name=f"exported_{next(_numbers)}")
    return f


_OUT_OF_GRAPH = (
    "an exported function is given a function or an object in a program that is compiled, which "
    "PyTorch's compiler puts into no graph; export one that has it already: "
    "export(functools.partial(root, f))"
)


def _passes(x: Any) -> bool:
    """Return whether a compiler accepts an operand in its graph."""
    if isinstance(x, dict):
        return all([_passes(part) for part in x.values()])
    if isinstance(x, (tuple, list)):
        return all([_passes(part) for part in x])
    # Asking the class of a function for fields is what the compiler of PyTorch 2.11 cannot do.
    if type(x) is not types.FunctionType and dataclasses.is_dataclass(type(x)):
        return bool(type(x).__dataclass_params__.frozen)
    return isinstance(x, _PASSED) or x is ...


_PASSED = (
    Tensor, torch.SymInt, torch.SymFloat, torch.dtype, torch.device, np.ndarray, np.generic,
    int, float, complex, str, bytes, slice, range, type, type(None),
)  # fmt: skip

_PROGRAMS = frozenset((v.map, v.reduce, v.scan))
"""Operations that only call a function several times: PyTorch records all they do."""


def is_program(operation: Primitive[..., Any], classes: tuple[type, ...]) -> bool:
    """Return whether PyTorch differentiates what a primitive calls, and not the primitive."""
    return operation in _PROGRAMS or looked_into(operation, classes, config)


def _needs(x: Any) -> bool:
    """Return whether a value needs a gradient."""
    return isinstance(x, Tensor) and x.requires_grad


@unseen
def _recorded(plan: Plan, operands: tuple[Any, ...], plans: Any) -> Any:
    """Run an eager call; cache the function for calls where all operands are plain and wanted."""
    needs = tuple(map(_needs, operands))
    if True not in needs:
        return applied(plan, plan, operands)
    run = plan.short.get(needs) or eager(plan, needs)
    if plan.is_proven and all(needs) and plan.classes == (Tensor,) * len(needs):
        plans[len(needs)] = run
    out = run(*operands)
    return out if isinstance(out, Tensor) else unwrap(out)


_all_plans = Cache()


def plan_for(
    operation: Primitive[..., Any], classes: tuple[type, ...], options: dict[str, Any]
) -> Plan:
    """Return the plan of calls with operands of these types and these options."""
    key = (operation, classes, *[(name, exactly(x)) for name, x in options.items()])
    try:
        return _all_plans.table[key]  # type: ignore[no-any-return]
    except KeyError:
        plans = _all_plans.open()
        plan = plans[key] = Plan(operation, classes, options)
        plan.is_stored = True
        return plan
    except TypeError:  # an option is not hashable
        return Plan(operation, classes, options)


def opened(plan: Plan, operands: tuple[Any, ...]) -> tuple[Call, list[Any]]:
    """Open a call with structures among the operands: return its leaves, and captured tensors."""
    check_hidden(plan.primal, operands, varies)
    if plan.primal.fixed:
        is_captured(plan.primal, varies, True, operands)
    if plan.takes_functions or plan.solves:
        found = [closed(of_own(x, "PyTorch"), _is_captured) if callable(x) else x for x in operands]
        like = next(filter(floats, flatten(found)[0]), None)
        if like is not None:
            found = [
                x if i == 0 else without_numbers(x, like, counts=i != 1)
                for i, x in enumerate(found)
            ]
        operands = tuple(found)
        plan = plan_for(plan.primal, tuple(map(type, operands)), plan.options)
    leaves, treedef = partition(operands, is_tensor)
    return Call(plan, treedef), leaves


def without_numbers(x: Any, like: Tensor, *, counts: bool = True) -> Any:
    """Convert the numbers in an operand to tensors, so that they can carry a derivative.

    With ``counts``, integers remain integers; as the start of a solver they are converted, too.
    """
    kinds = (float, complex) if counts else (float, complex, int)

    def made(leaf: Any) -> Any:
        leaf = leaf.item() if isinstance(leaf, np.generic) else leaf
        if type(leaf) not in kinds:
            return leaf
        dtype = like.dtype.to_complex() if type(leaf) is complex else like.dtype
        return torch.tensor(leaf, dtype=dtype, device=like.device)

    return map_leaves(made, x)


def _is_captured(x: Any) -> bool:
    """Return whether a value is one that a function must not capture."""
    return varies(x) or is_abstract(x)


def _refuse_captured_there(plan: Plan, leaves: Sequence[Any]) -> None:
    """Raise for a tensor that a rule captured in a compiled program.

    It would otherwise appear in the pullback, when a call can no longer be left out of the graph.
    """
    elsewhere = lambda x: is_tensor(x) and not is_abstract(x)
    if any(map(is_abstract, leaves)) and is_captured(plan.primal, elsewhere, False):
        raise captured_there(plan.primal.__name__)


@unseen
def applied(plan: Plan, call: Call, leaves: Sequence[Any]) -> Any:
    """Run a call: by its imported PyTorch function where that has captures, else by its rule."""
    if plan.imported and (own := own_function(plan.primal, "PyTorch", varies)) is not None:
        if any(map(is_abstract, leaves)):
            raise NotDifferentiableError(
                f"{name_of(own)}, which is imported, captured tensors that are differentiated, and "
                f"a compiled program does not see these: call {name_of(own)} itself there, or make "
                f"them operands"
            )
        return computed_by_torch(own, call.operands(leaves), plan.options)
    return _by_rule(plan, call, leaves)


def _by_rule(plan: Plan, call: Call, leaves: Sequence[Any]) -> Any:
    """Run a call that is differentiated by its rule."""
    if not (plan.is_static or is_quiet()):
        check_options(plan.primal, plan.options, lambda x: is_mapped(x) or is_differentiated(x))
        check_options(plan.primal, {}, is_differentiated, call.operands(leaves))
    if plan.lookups:
        if is_captured(plan.primal, varies, any(map(varies, leaves))):
            return unwrap(call.value(leaves))  # PyTorch differentiates through the body
        _refuse_captured_there(plan, leaves)
    if plan.solves and is_hidden(leaves):
        return solved(call, leaves, lambda *xs: applied(plan, call, xs))
    if _transforms_active() or _private.dual_level() >= 0:
        if call is not plan or not plan.is_stored:
            return unwrap(Transformed.apply(call, *leaves))
        run = plan.short.get(None) or plan.short.setdefault(None, transformed(plan))
        return unwrap(run(*leaves))
    if _grad_enabled():
        needs = tuple(map(_needs, leaves))
        if True in needs:
            return unwrap(eager(call, needs)(*map(outside, leaves)))
    if plan.solves:
        y = unwrap(call.value(leaves))
        refuse_hidden(y)
        return y
    return plan.compute(*call.operands(leaves), **plan.options)
