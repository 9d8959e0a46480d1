"""PyTorch's own samples of its functions, as calls of the operations that compute the same.

They are those that PyTorch tests itself with (`op_db`). What PyTorch writes otherwise than the
operation (``dim``, ``unbiased``, matrices on the right) stands here as data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from chainrules_py import Primitive, export
from chainrules_py import ops as v

OPERATIONS = {name: f for name in dir(v) if isinstance(f := getattr(v, name), Primitive)}


class Otherwise(Exception):  # noqa: N818  # it is no error
    """PyTorch's function does here what the operation has no way to say."""


class Call(NamedTuple):
    """A call, by PyTorch and in words, as functions of the tensors that have derivatives."""

    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    xs: tuple[torch.Tensor, ...]


# --------------------------------------------------------------- what is written otherwise
# By function: the options that PyTorch takes by position behind the operands; and how what it
# takes is given to the operation.

AXES = ("axis", "keepdims")
POSITIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("sum", "mean", "prod", "logsumexp", "all", "any", "count_nonzero"), AXES),
    **dict.fromkeys(("argmax", "argmin", "max", "min", "amax", "amin"), AXES),
    **dict.fromkeys(("softmax", "log_softmax", "cumsum", "cumprod"), ("axis",)),
    "diff": ("n", "axis"),
    "flip": ("axis",),
    "roll": ("shift", "axis"),
    "broadcast_to": ("shape",),
    "reshape": ("shape",),
    "squeeze": ("axis",),
    "unsqueeze": ("axis",),
    "permute": ("axes",),
    "tile": ("repetitions",),
    "tril": ("k",),
    "triu": ("k",),
    "diagonal": ("offset", "axis1", "axis2"),
    "linalg.diagonal": ("offset", "axis1", "axis2"),
    "stack": ("axis",),
    "cat": ("axis",),
    "sort": ("axis", "descending"),
    "tensordot": ("axes",),
    **dict.fromkeys(("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft"), ("n", "axis", "norm")),
    "linalg.vector_norm": ("ord", "axis", "keepdims"),
    "linalg.svd": ("full_matrices",),
    "linalg.qr": ("mode",),
    "linalg.eigh": ("UPLO",),
    "linalg.eigvalsh": ("UPLO",),
    "logit": ("eps",),
    "round": ("decimals",),
    "take_along_dim": ("indices", "axis"),
    "nan_to_num": ("nan", "posinf", "neginf"),
}
NAMES = {"dim": "axis", "keepdim": "keepdims", "dims": "axis", "repeats": "repetitions"}
NAMES |= {"shifts": "shift", "size": "shape", "dim1": "axis1", "dim2": "axis2"}
NAMES |= {"unitriangular": "unit_diagonal"}
SYNONYMS = {
    "amax": "max", "amin": "min", "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
    "permute": "permute_dims", "unsqueeze": "expand_dims", "mm": "matmul", "bmm": "matmul",
    "mv": "matmul", "take_along_dim": "take_along_axis", "mT": "matrix_transpose",
    "special.bessel_j0": "j0",
    "special.bessel_j1": "j1", "special.bessel_y0": "y0", "special.bessel_y1": "y1",
    "special.modified_bessel_i0": "i0", "special.modified_bessel_i1": "i1",
    "special.modified_bessel_k0": "k0", "special.modified_bessel_k1": "k1",
    "special.scaled_modified_bessel_k0": "k0e", "special.scaled_modified_bessel_k1": "k1e",
    "nn.functional.logsigmoid": "log_expit",
}  # fmt: skip
"""Operations for functions of another name, besides PyTorch's own aliases."""
SWAPPED = {
    "where": (1, 0, 2), "polygamma": (1, 0), "special.polygamma": (1, 0),
    "igamma": (0, 1),
}  # fmt: skip
"""Functions whose operands stand in another order."""
HERMITIAN = (
    "cholesky",
    "linalg.cholesky",
    "linalg.eigh",
    "linalg.eigvalsh",
    "linalg.pinv hermitian",
)
"""Functions of one triangle: PyTorch's derivative is that of Hermitian matrices."""
FIRST = ("max", "min", "sort")
"""Functions that give places as well."""
APART = (
    "masked.", "nn.functional.pad", "nn.functional.kl_div", "equal", "scatter_add", "repeat",
    "pinv singular", "max binary", "min binary", "bincount", "lu_factor", "cumulative_m", "take",
    "full_like", "zeros_like", "ones_like", "_refs", "linspace", "linalg.lstsq", "round ",
    "searchsorted", "svd", "nan_to_num", "rsub", "linalg.matrix_rank hermitian",
)  # fmt: skip
"""Functions that share a name with an operation, and are others, or count otherwise."""


def translated(
    name: str, operation: Any, args: list[Any], kw: dict[str, Any]
) -> Callable[..., Any]:
    """Return a function of PyTorch's operands that computes the operation, exported.

    Raises
    ------
    Otherwise
        If the operation cannot say it.
    """
    f = export(operation, to="torch")
    kw = {NAMES.get(key, key): x for key, x in kw.items()}
    if name in ("tril", "triu"):
        kw = dict(zip(("k",), kw.values(), strict=False))
    if name == "einsum":
        subscripts = kw.pop("equation", args[-1])
        if not isinstance(subscripts, str):
            raise Otherwise
        named = export(np.einsum, to="torch")  # which knows the dots
        return lambda *xs: named(subscripts, *xs)
    if name in ("add", "sub", "rsub"):
        alpha = kw.pop("alpha", 1)
        if alpha != 1 or name == "rsub":
            raise Otherwise
    if name.startswith("div") and kw.pop("rounding_mode", None):
        raise Otherwise
    if name.startswith(("std", "var")):
        args, kw = _deviation(args, kw)
    if name == "linalg.solve_triangular" and not kw.pop("left", True):
        raise Otherwise
    if name == "linalg.vander":
        kw["columns"] = kw.pop("N", None) or args[0].shape[-1]
        kw["increasing"] = True
    if name == "linalg.solve" and args[1].ndim == args[0].ndim - 1 > 1:
        raise Otherwise  # many vectors, where the operation sees one matrix
    if name == "clamp" and (len(args) < 3 or None in args[1:]):
        raise Otherwise
    if name == "tensordot" and args[0].shape != args[1].shape and 1 in args[1].shape:
        raise Otherwise  # PyTorch sums over what it would have to repeat
    if name in ("linalg.eigh", "linalg.eigvalsh"):
        kw["upper"] = kw.pop("UPLO", "L") == "U"
    if name in ("softmax", "log_softmax", "sum", "prod", "mean") and kw.pop("dtype", None):
        raise Otherwise
    if name == "tensordot" and not isinstance(kw.get("axes", 2), int):
        kw["axes"] = tuple(map(tuple, kw["axes"]))
    if name == "tensordot" and "axis" in kw:
        given = kw.pop("axis")
        kw["axes"] = given if isinstance(given, int) else tuple(map(tuple, given))
    if name == "linalg.vector_norm":
        kw.pop("dtype", None)
    if name.startswith("fft.") and kw.get("norm") is None:
        kw.pop("norm", None)
    if name in ("diagonal", "linalg.diagonal"):
        first = (0, 1) if name == "diagonal" else (-2, -1)
        axes = {a % args[0].ndim for a in (kw.pop("axis1", first[0]), kw.pop("axis2", first[1]))}
        if axes != {args[0].ndim - 2, args[0].ndim - 1}:
            raise Otherwise  # the operation takes the last two
    for key in ("shape", "axes", "repetitions"):
        if isinstance(kw.get(key), (list, torch.Size)):
            kw[key] = tuple(kw[key])
    if isinstance(kw.get("axis"), list):
        kw["axis"] = tuple(kw["axis"])
    if kw.get("axis") == () and name not in ("squeeze", "flip", "roll"):
        kw["axis"] = None
    if name in ("softmax", "log_softmax") and kw.get("axis") is None:
        raise Otherwise
    known = {
        p.name
        for p in inspect.signature(operation.__wrapped__).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }
    if not kw.keys() <= known:
        raise Otherwise
    return lambda *xs: f(*xs, **kw)


def _deviation(args: list[Any], kw: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Say how many numbers are free: PyTorch takes one less by default."""
    unbiased = kw.pop("unbiased", True)
    if args and isinstance(args[-1], bool):
        raise Otherwise
    kw.setdefault("correction", 1.0 if unbiased else 0.0)
    if kw["correction"] is None:
        kw["correction"] = 1.0
    return args, kw


def operation_of(op: Any) -> Any:
    """Return the operation that computes what a function of PyTorch's does, or None."""
    full = f"{op.name} {op.variant_test_name}"
    if full.startswith(APART) or op.variant_test_name in ("with_dtype", "singular", "unbiased"):
        return None
    names = [op.name, *[alias.name for alias in op.aliases]]
    for name in (SYNONYMS.get(op.name), *[name.rpartition(".")[2] for name in names]):
        if name in OPERATIONS:
            return OPERATIONS[name]
    return None


def calls(op: Any, dtype: torch.dtype) -> Iterator[Call]:
    """Yield the samples of a function that the operation can say."""
    torch.manual_seed(0)
    operation = operation_of(op)
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        args = [sample.input, *sample.args]
        if op.name in ("stack", "cat"):
            args = [*sample.input, *sample.args]
        count = len(args)
        names = POSITIONS.get(op.name, ())
        signature = inspect.signature(operation.__wrapped__).parameters.values()
        operands = [p for p in signature if p.kind is p.POSITIONAL_ONLY]
        if op.name in ("stack", "cat"):
            count = len(sample.input)
        elif op.name == "einsum":
            args = [*sample.input, *sample.args]
            count = len(sample.input)
        elif op.name in SWAPPED:
            args = [args[i] for i in SWAPPED[op.name]]
            count = len(args)
        else:
            count = min(len(operands), len(args))
        given, kw = args[:count], dict(sample.kwargs)
        rest = args[count:]
        if op.name != "einsum":
            if len(rest) > len(names):
                continue
            kw |= dict(zip(names, rest, strict=False))
        try:
            ours = translated(op.name, operation, [*given, *rest], kw)
        except Otherwise:
            continue
        if op.name == "nan_to_num" or not all(
            [isinstance(x, (torch.Tensor, int, float, complex)) for x in given]
        ):
            continue
        yield _call(op, sample, given, ours)


def _call(op: Any, sample: Any, given: list[Any], ours: Callable[..., Any]) -> Call:
    hermitian = key(op) in HERMITIAN
    order = SWAPPED.get(op.name, range(len(given)))
    places = [
        i
        for i, x in enumerate(given)
        if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())
    ]
    listed = isinstance(sample.input, (list, tuple))

    def operands(xs: tuple[Any, ...]) -> list[Any]:
        found = list(given)
        for i, x in zip(places, xs, strict=True):
            found[i] = (x + x.mH) / 2 if hermitian else x
        return found

    def theirs(*xs: Any) -> Any:
        found = operands(xs)
        if listed:
            n = len(sample.input)
            y = op(found[:n], *sample.args, **sample.kwargs)
        else:
            found = [found[list(order).index(i)] for i in range(len(found))]
            y = op(*found, *sample.args[len(found) - 1 :], **sample.kwargs)
            y = y[0] if op.name in FIRST and not isinstance(y, torch.Tensor) else y
        return sample.output_process_fn_grad(y)

    def of_operations(*xs: Any) -> Any:
        return sample.output_process_fn_grad(ours(*operands(xs)))

    return Call(theirs, of_operations, tuple([given[i].detach().clone() for i in places]))


@cache
def ops() -> tuple[Any, ...]:
    """List PyTorch's functions for which there is an operation."""
    from torch.testing._internal.common_methods_invocations import op_db

    return tuple([op for op in op_db if operation_of(op) is not None])


# ------------------------------------------------------------------------------ the comparisons


def parts(y: Any) -> list[torch.Tensor]:
    """List the tensors in a result that have derivatives."""
    leaves = torch.utils._pytree.tree_leaves(tuple(y) if isinstance(y, tuple) else y)
    return [t for t in leaves if isinstance(t, torch.Tensor)]


def floats(y: Any) -> list[torch.Tensor]:
    """List those of them that have derivatives."""
    return [t for t in parts(y) if t.is_floating_point() or t.is_complex()]


def weights(ys: list[torch.Tensor]) -> list[torch.Tensor]:
    """Make one cotangent for each part of a result, always the same."""
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(y.shape, dtype=y.dtype, generator=generator) for y in ys]


def value(f: Callable[..., Any], xs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Compute the result."""
    return parts(f(*xs))


def gradient(
    f: Callable[..., Any], xs: tuple[torch.Tensor, ...], *, graph: bool = False
) -> list[torch.Tensor]:
    """Pull back by `torch.autograd.grad`."""
    xs = xs if graph else tuple([x.clone().requires_grad_() for x in xs])
    ys = [y for y in floats(f(*xs)) if y.requires_grad]
    if not ys:
        return [torch.zeros_like(x) for x in xs]
    bars = torch.autograd.grad(ys, xs, weights(ys), create_graph=graph, allow_unused=True)
    return [torch.zeros_like(x) if bar is None else bar for x, bar in zip(xs, bars, strict=True)]


def push(f: Callable[..., Any], xs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Push forward by `torch.func.jvp`."""
    return list(torch.func.jvp(lambda *xs: tuple(floats(f(*xs))), xs, tuple(weights(list(xs))))[1])


def second(f: Callable[..., Any], xs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Pull back through the pullback."""
    return gradient(lambda *xs: gradient(f, xs, graph=True), xs)


CHECKS: dict[str, Callable[..., list[torch.Tensor]]] = {
    "value": value,
    "gradient": gradient,
    "push": push,
    "second": second,
}


def asked(op: Any, dtype: torch.dtype) -> list[str]:
    """List what PyTorch says that it has for a function."""
    differentiable = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    found = ["value"]
    if differentiable:
        found += ["gradient"]
        found += ["push"] if op.supports_forward_ad else []
        found += ["second"] if op.supports_gradgrad else []
    return found


def compared(call: Call, check: str) -> str:
    """Tell in what a call differs from PyTorch's: nothing, or a line of text.

    Numbers that are not finite are PyTorch's business.
    """
    run = CHECKS[check]
    try:
        want = run(call.theirs, call.xs)
    except (RuntimeError, NotImplementedError):
        return ""  # PyTorch has none
    try:
        have = run(call.ours, call.xs)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if len(have) != len(want):
        return f"{len(have)} parts for {len(want)}"
    for a, b in zip(have, want, strict=True):
        if a.shape != b.shape:
            return f"shape {tuple(a.shape)} for {tuple(b.shape)}"
        wide = torch.promote_types(torch.promote_types(a.dtype, b.dtype), torch.float64)
        a, b = (t.detach().to(wide) for t in (a, b))
        seen = torch.isfinite(b)
        if not torch.any(seen):
            continue
        apart = torch.abs(a - b)[seen]
        largest = float(torch.abs(b[seen]).max())
        if not bool(torch.all(apart <= 1e-6 * max(1.0, largest))):
            return f"off by {float(apart.max()):.3g} of {largest:.3g}"
    return ""


def key(op: Any) -> str:
    """Name a function and the variant of its samples."""
    return f"{op.name} {op.variant_test_name}".strip()
