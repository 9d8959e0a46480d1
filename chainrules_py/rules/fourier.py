"""Rules of discrete Fourier transforms, which are linear.

With F_jk = exp(-2πi jk/n), the adjoint of F is n times its inverse; that of a scaled F is the
inverse with the opposite scaling. C. Van Loan, Computational Frameworks for the Fast Fourier
Transform (1992), section 1.1; for real sequences section 4.3.
"""

from functools import partial

from chainrules_py.ops import (
    arange_like,
    concat,
    equal,
    fft,
    full_like,
    ifft,
    index,
    irfft,
    logical_or,
    real,
    reshape,
    rfft,
    where,
)
from chainrules_py.registry.constructors import linear_rule
from chainrules_py.rules.support.batching_rules import along_axis

ADJOINT_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def resized(x, length, axis):
    """Cut or pad with zeros along an axis to a length: cutting and padding are adjoint."""
    axis %= x.ndim
    have = x.shape[axis]
    if have == length:
        return x
    if have > length:
        return index(x, (*(slice(None),) * axis, slice(length)))
    rest = (*x.shape[:axis], length - have, *x.shape[axis + 1 :])
    return concat(x, full_like(x, shape=rest, fill=0), axis=axis)


def complex_transpose(inverse, y_bar, x, *, n, axis, norm):
    """x̄ = Fᴴ ȳ, cut or padded to the length of x; Fᴴ is the inverse transform, scaled."""
    x_bar = inverse(y_bar, axis=axis, norm=ADJOINT_NORM[norm or "backward"])
    return resized(x_bar, x.shape[axis], axis)


def alone(like, n, axis):
    """Find which of the n // 2 + 1 frequencies have no conjugate: 0, and n/2 for even n."""
    length = n // 2 + 1
    k = reshape(
        arange_like(like, stop=length),
        shape=tuple(length if i == axis % like.ndim else 1 for i in range(like.ndim)),
    )
    return logical_or(equal(k, 0), equal(2 * k, n))


def rfft_transpose(y_bar, x, *, n, axis, norm):
    """Compute Re Fᴴ ȳ, where each frequency counts once; `irfft` counts most of them twice."""
    n = x.shape[axis] if n is None else n
    halved = where(alone(y_bar, n, axis), y_bar, 0.5 * y_bar)
    x_bar = irfft(halved, n=n, axis=axis, norm=ADJOINT_NORM[norm or "backward"])
    return resized(x_bar, x.shape[axis], axis)


def irfft_transpose(y_bar, x, *, n, axis, norm):
    """Apply `rfft`, and count each frequency that has a conjugate twice."""
    once = rfft(real(y_bar), axis=axis, norm=ADJOINT_NORM[norm or "backward"])
    x_bar = where(alone(once, y_bar.shape[axis], axis), once, 2.0 * once)
    return resized(x_bar, x.shape[axis], axis)


for _operation, _transpose in (
    (fft, partial(complex_transpose, ifft)),
    (ifft, partial(complex_transpose, fft)),
    (rfft, rfft_transpose),
    (irfft, irfft_transpose),
):
    linear_rule(_operation, _transpose, batched=along_axis)
