"""tinygrad: functions with rules as its functions; rules run in its own graph.

Importing this module registers its tensors as arrays, with the operations that tinygrad computes; a
rule that needs another operation raises an error.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from tinygrad.dtype import DType, dtypes
from tinygrad.engine.jit import TinyJit
from tinygrad.function import function
from tinygrad.tensor import Tensor
from tinygrad.uop.ops import UOp

from chainrules_kit import (
    Support,
    Transformation,
    Transformations,
    nestings,
    refuse_captured,
    resolved,
    stated,
    supported,
)
from chainrules_py import (
    ChainRulesError,
    NoRuleError,
    NotDifferentiableError,
    ZeroTangent,
    add_tangents,
    is_zero,
    unthunk,
)
from chainrules_py.extend import (
    Library,
    bind,
    demand_rule,
    describe,
    made,
    name_of,
    register_array_type,
)

chainrules_contract = 1

# ------------------------------------------------------------------- operations


def _isdtype(dtype: Any, kind: str) -> bool:
    checks: dict[str, Callable[[Any], bool]] = {
        "bool": dtypes.is_bool,
        "integral": dtypes.is_int,
        "real floating": dtypes.is_float,
    }
    return kind in checks and bool(checks[kind](dtype))


def _full(shape: Any, fill: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return Tensor.full(shape, fill, dtype=dtype, device=device)


def _asarray(x: Any, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    x = x if isinstance(x, Tensor) else Tensor(x, dtype=dtype, device=device)
    return Tensor.contiguous(x) if copy else x


def _reduced(name: str) -> Callable[..., Any]:
    def reduced(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return getattr(x, name)(axis=axis, keepdim=keepdims)

    return reduced


def _method(name: str) -> Callable[..., Any]:
    def method(x: Any, *rest: Any) -> Any:
        x = x if isinstance(x, Tensor) else Tensor(x)
        return getattr(x, name)(*rest)

    return method


def _count_nonzero(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return (x != 0).sum(axis=axis, keepdim=keepdims)


def _astype(x: Any, dtype: Any, *, copy: bool = True) -> Any:
    return x.cast(dtype if isinstance(dtype, DType) else np.dtype(dtype).name)


def _log1p(x: Any) -> Any:
    # In one kernel tinygrad would simplify u - 1 to x; their quotient corrects the rounding of u.
    u = (x + 1.0).contiguous()
    near = x * u.log() / (u - 1.0)
    return (u == 1.0).where(x, (u - 1.0 == x).where(u.log(), near))


def _expm1(x: Any) -> Any:
    u = x.exp()
    near = (u - 1.0) * x / u.log()
    return (u == 1.0).where(x, ((u - 1.0).abs() < 0.5).where(near, u - 1.0))


def _squeezed(x: Any, axis: Any) -> Any:
    gone = {place % x.ndim for place in ((axis,) if isinstance(axis, int) else axis)}
    return x.reshape(tuple([n for i, n in enumerate(x.shape) if i not in gone]))


class _Namespace(types.SimpleNamespace):
    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


operations = _Namespace(
    isdtype=_isdtype,
    asarray=_asarray,
    full=_full,
    zeros=lambda shape, **given: _full(shape, 0, **given),
    ones=lambda shape, **given: _full(shape, 1, **given),
    zeros_like=lambda x: x.zeros_like(),
    ones_like=lambda x: x.ones_like(),
    astype=_astype,
    count_nonzero=_count_nonzero,
    real=lambda x: x,
    conj=lambda x: x,
    positive=lambda x: x,
    copy=lambda x: x.contiguous(),
    reshape=lambda x, shape: x.reshape(shape),
    broadcast_to=lambda x, shape: x.expand(shape),
    permute_dims=lambda x, axes: x.permute(axes),
    matrix_transpose=lambda x: x.transpose(-1, -2),
    expand_dims=lambda x, axis: x.unsqueeze(axis),
    squeeze=_squeezed,
    flip=lambda x, *, axis=None: x.flip(tuple(range(x.ndim)) if axis is None else axis),
    concat=lambda xs, axis=0: xs[0].cat(*xs[1:], dim=axis),
    stack=lambda xs, axis=0: xs[0].stack(*xs[1:], dim=axis),
    outer=lambda x, y: x.reshape(-1, 1) * y.reshape(1, -1),
    where=lambda condition, x, y: condition.where(x, y),
    einsum=lambda *xs, subscripts, optimize=False: Tensor.einsum(subscripts, *xs),
    expit=_method("sigmoid"),
    log1p=_log1p,
    expm1=_expm1,
    negative=_method("neg"),
    subtract=_method("sub"),
    multiply=_method("mul"),
    divide=_method("div"),
    equal=_method("eq"),
    not_equal=_method("ne"),
    less=_method("__lt__"),
    less_equal=_method("__le__"),
    greater=_method("__gt__"),
    greater_equal=_method("__ge__"),
    **{name: _reduced(name) for name in ("sum", "mean", "max", "min", "prod")},
    **{
        name: _method(name)
        for name in (
            *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "ceil", "cos"),
            *(
                "copysign",
                "cosh",
                "erf",
                "exp",
                "exp2",
                "floor",
                "isfinite",
                "isinf",
                "isnan",
                "log",
                "log10",
            ),
            *("log2", "logaddexp", "logical_not", "matmul", "maximum", "minimum", "pow"),
            *("reciprocal", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
            "trunc",
        )
    },
)
"""The operations of tinygrad, under the names and with the parameters of the array-API standard."""

register_array_type(Tensor, Library(operations, devices=False))


# -------------------------------------------------------------------------------------- exporting


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into a tinygrad function, whose ``grad_fxn`` is this rule.

    Parameters
    ----------
    f : callable
        An operation, a function under `primitive`, or one with derivatives of its own
        (`custom_vjp`). It returns one tensor, and uses only operations that `operations` has.

    Returns
    -------
    callable
        It takes the arguments of f, with tensors for arrays.

    Raises
    ------
    NotDifferentiableError
        If f is not one operation, or returns anything but one tensor.
    NoRuleError
        When it is called, if no rule has a reverse mode.

    Notes
    -----
    Gradients are graphs of tinygrad's operations, which it fuses, compiles, and differentiates.

    Examples
    --------
    >>> from tinygrad import Tensor
    >>> from chainrules_py import primitive, scalar_rule
    >>> from chainrules_py import ops as v
    >>> @primitive
    ... def softplus(x):
    ...     return v.log(1.0 + v.exp(x))
    >>> scalar_rule(softplus, lambda y, x: v.exp(x - y))
    >>> x = Tensor([0.0, 0.0])
    >>> export(softplus)(x).sum().gradient(x)[0].tolist()
    [0.5, 0.5]
    """

    def exported(*operands: Any, **options: Any) -> Any:
        call = resolved(f, operands, options)
        operation = call.operation
        if operation is None or call.after:
            raise NotDifferentiableError(
                f"{name_of(f)} is several operations here, each of which is differentiated by "
                f"itself; "
                f"call it as it is, with the operations in it exported"
            )
        operands = tuple([Tensor(x) if isinstance(x, np.ndarray) else x for x in call.operands])
        refuse_captured(operation, operands, lambda x: isinstance(x, Tensor), "tinygrad")
        places = [i for i, x in enumerate(operands) if isinstance(x, Tensor)]
        # The function receives a tensor once, even if it occurs several times among the operands.
        tensors = list({id(operands[i].uop): operands[i] for i in places}.values())
        which = {i: _index(tensors, operands[i]) for i in places}
        classes = tuple(map(type, operands))
        rule = demand_rule(operation, classes, None, "reverse")
        bound = bind(rule, classes, tuple([i in which for i in range(len(operands))]), "reverse")

        def around(tensors: Sequence[Tensor]) -> list[Any]:
            return [tensors[which[i]] if i in which else x for i, x in enumerate(operands)]

        def value(*tensors: Tensor) -> Tensor:
            with _naming(f):
                y = operation(*around(tensors), **call.options)
            if not isinstance(y, Tensor):
                raise NotDifferentiableError(
                    f"{name_of(f)} gives {describe(y)}; a function of tinygrad's gives one tensor"
                )
            return y

        def gradient(y_bar: UOp, node: UOp) -> tuple[UOp, ...]:
            tensors = list(map(Tensor, node.src[1:]))
            sums: list[Any] = [ZeroTangent()] * len(tensors)
            if bound is not None:
                with _naming(f):
                    _, (pull, _, *saved) = bound.run(None, *around(tensors), **call.options)
                    answer = pull(Tensor(y_bar), *saved)
                wanted = [i for i, w in enumerate(bound.wanted) if w]
                for i, bar in zip(wanted, answer if len(wanted) > 1 else (answer,), strict=True):
                    sums[which[i]] = add_tangents(sums[which[i]], unthunk(bar))
            each = zip(sums, tensors, strict=True)
            return tuple([(x.zeros_like() if is_zero(bar) else bar).uop for bar, x in each])

        return function(value, grad_fxn=gradient)(*tensors)

    return made(exported, f, export)  # type: ignore[no-any-return]


@contextlib.contextmanager
def _naming(f: Any) -> Iterator[None]:
    """Raise an error that names f for what its rule needs and tinygrad lacks."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        if isinstance(error, ChainRulesError):
            raise
        raise NoRuleError(
            f"{name_of(f)} or its rule needs what tinygrad does not compute ({error}); call it on "
            f"NumPy's arrays, as in x.numpy()"
        ) from error


def _index(tensors: Sequence[Tensor], x: Tensor) -> int:
    return next(n for n, tensor in enumerate(tensors) if tensor.uop is x.uop)


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return which transformations of tinygrad an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        A function, as for `export`.
    *operands, **options
        The arguments of a call.

    Examples
    --------
    >>> from tinygrad import Tensor
    >>> from chainrules_py import ops as v
    >>> supports(v.sin, Tensor([1.0]))
    Support(grad=True, jvp=False, vmap=False, jit=True, order=inf)
    """
    said = stated(f, operands, options)
    return supported(
        export(f),
        operands,
        options,
        transformations,
        is_constant=said.order == 0,
        compiled=("jit", "jit of grad"),
    )


def _run(of: Transformation) -> Transformation:
    return Transformation(of.gives, lambda f, z, u: of.run(f, z, u).numpy())


def _compiled(f: Callable[..., Any], z: Any) -> Any:
    """Call a function under `TinyJit` until it replays what it has captured."""
    jitted = TinyJit(lambda z: f(z).realize())
    return [jitted(z).numpy() for _ in range(4)][-1]


def _gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda z: f(z).gradient(z)[0]


transformations = Transformations(
    {
        **{name: _run(of) for name, of in nestings(_gradient).items()},
        "jit": Transformation("value", lambda f, z, u: _compiled(f, z)),
        "jit of grad": Transformation("gradient", lambda f, z, u: _compiled(_gradient(f), z)),
    },
    Tensor,
    takes_complex=False,
)
