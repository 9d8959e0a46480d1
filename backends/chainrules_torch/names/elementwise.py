"""PyTorch's functions of each element."""

from __future__ import annotations

from typing import Any

import torch

from chainrules_py import UnsupportedKeywordError, ignore_derivatives
from chainrules_py import vocabulary as v
from chainrules_py.extend import elementwise_composites as composites
from chainrules_torch.names.rows import row, word

_word: Any
for _names, _word in (
    ("abs absolute", v.abs),
    ("acos arccos", v.acos),
    ("acosh arccosh", v.acosh),
    ("asin arcsin", v.asin),
    ("asinh arcsinh", v.asinh),
    ("atan arctan", v.atan),
    ("atanh arctanh", v.atanh),
    ("ceil", v.ceil),
    ("conj conj_physical", v.conj),
    ("cos", v.cos),
    ("cosh", v.cosh),
    ("deg2rad", v.deg2rad),
    ("digamma special.digamma special.psi", v.digamma),
    ("erf special.erf", v.erf),
    ("erfc special.erfc", v.erfc),
    ("erfinv special.erfinv", v.erfinv),
    ("exp", v.exp),
    ("exp2 special.exp2", v.exp2),
    ("expm1 special.expm1", v.expm1),
    ("fix trunc", v.trunc),
    ("floor", v.floor),
    ("i0 special.i0", v.i0),
    ("imag", v.imag),
    ("isfinite", v.isfinite),
    ("isinf", v.isinf),
    ("isnan", v.isnan),
    ("lgamma special.gammaln", v.gammaln),
    ("log", v.log),
    ("log10", v.log10),
    ("log1p special.log1p", v.log1p),
    ("log2", v.log2),
    ("logical_not", v.logical_not),
    ("neg negative", v.negative),
    ("positive", v.positive),
    ("rad2deg", v.rad2deg),
    ("reciprocal", v.reciprocal),
    ("sigmoid special.expit nn.functional.sigmoid", v.expit),
    ("sgn sign", v.sign),
    ("signbit", v.signbit),
    ("sin", v.sin),
    ("sinc special.sinc", v.sinc),
    ("sinh", v.sinh),
    ("sqrt", v.sqrt),
    ("square", v.square),
    ("tan", v.tan),
    ("tanh nn.functional.tanh", v.tanh),
    ("special.bessel_j0", v.j0),
    ("special.bessel_j1", v.j1),
    ("special.bessel_y0", v.y0),
    ("special.bessel_y1", v.y1),
    ("special.entr", v.entr),
    ("special.erfcx", v.erfcx),
    ("special.i0e", v.i0e),
    ("special.i1", v.i1),
    ("special.i1e", v.i1e),
    ("special.log_ndtr", v.log_ndtr),
    ("special.ndtr", v.ndtr),
    ("special.ndtri", v.ndtri),
    ("nn.functional.logsigmoid", v.log_expit),
):
    word(_names, _word)

for _names, _word in (
    ("atan2 arctan2", v.atan2),
    ("bitwise_and", v.bitwise_and),
    ("bitwise_or", v.bitwise_or),
    ("bitwise_xor", v.bitwise_xor),
    ("copysign", v.copysign),
    ("eq", v.equal),
    ("floor_divide", v.floor_divide),
    ("fmax", v.fmax),
    ("fmin", v.fmin),
    ("fmod", v.fmod),
    ("ge greater_equal", v.greater_equal),
    ("gt greater", v.greater),
    ("heaviside", v.heaviside),
    ("hypot", v.hypot),
    ("igamma special.gammainc", v.gammainc),
    ("igammac special.gammaincc", v.gammaincc),
    ("le less_equal", v.less_equal),
    ("logaddexp", v.logaddexp),
    ("logaddexp2", v.logaddexp2),
    ("logical_and", v.logical_and),
    ("logical_or", v.logical_or),
    ("logical_xor", v.logical_xor),
    ("lt less", v.less),
    ("maximum", v.maximum),
    ("minimum", v.minimum),
    ("mul multiply", v.multiply),
    ("ne not_equal", v.not_equal),
    ("nextafter", v.nextafter),
    ("pow Tensor.__pow__", v.pow),
    ("remainder", v.remainder),
    ("xlogy special.xlogy", v.xlogy),
    ("special.xlog1py", v.xlog1py),
    ("special.zeta", v.zeta),
):
    word(_names, _word)


@row("add")
def add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """x + a y."""
    return v.add(self, other if alpha == 1 else v.multiply(other, alpha))


@row("sub subtract")
def subtract(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """x - a y."""
    return v.subtract(self, other if alpha == 1 else v.multiply(other, alpha))


@row("div divide true_divide")
def divide(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """x / y, rounded."""
    y = v.divide(self, other)
    if rounding_mode is None:
        return y
    return v.floor(y) if rounding_mode == "floor" else v.trunc(y)


@row("float_power")
def float_power(self: Any, exponent: Any) -> Any:
    """Power in double precision."""
    return v.pow(double(self), exponent)


@row("round special.round")
def rounded(self: Any, *, decimals: int = 0) -> Any:
    """Return the nearest number with so many decimals."""
    return v.round_decimals(self, decimals=decimals) if decimals else v.round(self)


@row("frac")
def fraction(self: Any) -> Any:
    """Return what is behind the point."""
    return v.subtract(self, v.trunc(self))


@row("rsqrt")
def rsqrt(self: Any) -> Any:
    """1 / √x."""
    return v.reciprocal(v.sqrt(self))


@row("angle")
def angle(self: Any) -> Any:
    """Return the angle of complex numbers."""
    return composites.angle(self)


@row("logit special.logit")
def logit(self: Any, eps: float | None = None) -> Any:
    """log(p / (1 - p)), away from the ends by ``eps``."""
    return v.logit(self if eps is None else v.clip(self, eps, 1.0 - eps))


@row("polygamma special.polygamma")
def polygamma(self: Any, other: Any) -> Any:
    """Return a derivative of the digamma function, whose order comes first in the function."""
    n, x = (self, other) if isinstance(self, int) else (other, self)
    return v.polygamma(n, x)


@row("clamp clip")
def clamp(self: Any, min: Any = None, max: Any = None) -> Any:
    """Bring to an interval."""
    return composites.bounded(self, min, max)


@row("clamp_min")
def clamp_min(self: Any, min: Any) -> Any:
    """Bring above."""
    return composites.bounded(self, min, None)


@row("clamp_max")
def clamp_max(self: Any, max: Any) -> Any:
    """Bring below."""
    return composites.bounded(self, None, max)


@row("lerp")
def lerp(self: Any, end: Any, weight: Any) -> Any:
    """Between two values."""
    return v.lerp(self, end, weight)


@row("addcmul")
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """x + a y z."""
    return v.add(self, v.multiply(v.multiply(tensor1, tensor2), value))


@row("addcdiv")
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """x + a y / z."""
    return v.add(self, v.multiply(v.divide(tensor1, tensor2), value))


@row("nan_to_num")
def nan_to_num(self: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers for what is none."""
    limits = torch.finfo(self.dtype)
    posinf = limits.max if posinf is None else posinf
    return v.nan_to_num(self, nan or 0.0, posinf, limits.min if neginf is None else neginf)


@row("relu nn.functional.relu")
def relu(self: Any) -> Any:
    """Return the positive part, which has no slope at zero."""
    return v.where(v.greater(self, 0), self, 0.0)


@row("nn.functional.softplus")
def softplus(self: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    """log(1 + exp(b x)) / b, and x far out."""
    z = v.multiply(self, beta)
    near = v.divide(v.log1p(v.exp(v.minimum(z, threshold))), beta)
    return v.where(v.greater(z, threshold), self, near)


@row("nn.functional.silu")
def silu(self: Any) -> Any:
    """x σ(x)."""
    return v.multiply(self, v.expit(self))


@row("nn.functional.gelu")
def gelu(self: Any, *, approximate: str = "none") -> Any:
    """x Φ(x)."""
    if approximate == "none":
        return v.multiply(self, v.ndtr(self))
    inner = v.add(self, v.multiply(v.pow(self, 3), 0.044715))
    return v.multiply(
        v.multiply(self, 0.5), v.add(v.tanh(v.multiply(inner, 0.7978845608028654)), 1)
    )


# ---------------------------------------------------------------------------- choices and dtypes


@row("Tensor.where")
def where_method(self: Any, condition: Any, other: Any) -> Any:
    """x, or another where a condition does not hold."""
    return v.where(condition, self, other)


@row("torch.where")
def where(condition: Any, self: Any, other: Any) -> Any:
    """One or the other."""
    return v.where(condition, self, other)


@row("masked_fill")
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """x with a value where the mask says so."""
    return v.where(mask, value, self)


@row("clone")
def clone(self: Any, *, memory_format: Any = None) -> Any:
    """Memory of its own."""
    return v.copy(self)


@row("contiguous resolve_conj resolve_neg", views=True)
def contiguous(self: Any, memory_format: Any = None) -> Any:
    """Itself."""
    return self


@row("Tensor.detach torch.detach Tensor.data", views=True)
def detach(self: Any) -> Any:
    """Itself, as a constant."""
    return ignore_derivatives(self)


_OF_MEMORY = ("non_blocking", "copy", "memory_format")


@row("Tensor.to", views=True)
def to(self: Any, *operands: Any, **options: Any) -> Any:
    """x with another dtype, or on another device."""
    options = {name: x for name, x in options.items() if name not in _OF_MEMORY}
    for x in operands:
        if isinstance(x, torch.dtype):
            options["dtype"] = x
        elif isinstance(x, (str, torch.device, int)) and not isinstance(x, bool):
            options["device"] = x
        elif not isinstance(x, bool):
            options |= {"dtype": x.dtype, "device": x.device}
    if not options.keys() <= {"dtype", "device"}:
        msg = f"to() of a traced value takes a dtype and a device, got {', '.join(options)}"
        raise UnsupportedKeywordError(msg)
    if options.get("dtype") not in (None, self.dtype):
        self = v.astype(self, dtype=options["dtype"])
    device = options.get("device")
    if device is not None and torch.device(device) != self.device:
        self = v.to_device(self, device=device)
    return self


def _of_dtype(names: str, dtype: torch.dtype) -> Any:
    def converted(self: Any, *, memory_format: Any = None) -> Any:
        return to(self, dtype)

    row(names, views=True)(converted)
    return converted


double = _of_dtype("Tensor.double", torch.float64)
for _names, _dtype in (
    ("Tensor.float", torch.float32),
    ("Tensor.half", torch.float16),
    ("Tensor.bfloat16", torch.bfloat16),
    ("Tensor.cfloat", torch.complex64),
    ("Tensor.cdouble", torch.complex128),
    ("Tensor.long", torch.int64),
    ("Tensor.int", torch.int32),
    ("Tensor.bool", torch.bool),
):
    _of_dtype(_names, _dtype)


@row("Tensor.type_as", views=True)
def type_as(self: Any, other: Any) -> Any:
    """x with the dtype of another."""
    return to(self, other.dtype)


@row("Tensor.cpu", views=True)
def cpu(self: Any) -> Any:
    """x in the processor's memory."""
    return to(self, "cpu")
