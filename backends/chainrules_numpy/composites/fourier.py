"""Fourier transforms along several axes, and of Hermitian sequences, in operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_numpy.composites.manipulation import normal_axes
from chainrules_py import Primitive
from chainrules_py import ops as v

Transform = Callable[..., Any]

_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def lengths(x: Any, s: Any, axes: Any) -> list[tuple[int, int | None]]:
    """Return the axes to transform along, with lengths; -1 means the length of the axis."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = list(axes)
    s = [-1] * len(axes) if s is None else list(s)  # of x, also for an axis that comes again
    if len(s) != len(axes):
        raise ValueError(f"{len(s)} lengths for {len(axes)} axes; give one length for each")
    return [
        (axis, None if n is None else x.shape[axis] if n == -1 else n)
        for axis, n in zip(axes, s, strict=True)
    ]


def _everywhere(operation: Primitive[..., Any]) -> Transform:
    """Return the transform along several axes, the last one first."""

    def transform(x: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
        for axis, n in reversed(lengths(x, s, axes)):
            x = operation(x, n=n, axis=axis, norm=norm or "backward")
        return x

    return transform


fftn, ifftn = _everywhere(v.fft), _everywhere(v.ifft)


def rfftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Compute `rfft` along the last of the axes, then `fft` along the others."""
    *others, (last, n) = lengths(x, s, axes)
    x = v.rfft(x, n=n, axis=last, norm=norm or "backward")
    for axis, length in reversed(others):
        x = v.fft(x, n=length, axis=axis, norm=norm or "backward")
    return x


def irfftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Compute `ifft` along all axes but the last, then `irfft` along the last."""
    *others, (last, n) = lengths(x, s, axes)
    for axis, length in others:
        x = v.ifft(x, n=length, axis=axis, norm=norm or "backward")
    return v.irfft(x, n=None if s is None else n, axis=last, norm=norm or "backward")


def _in_a_plane(transform: Transform) -> Transform:
    """Return the transform along two axes, the last ones by default."""

    def in_a_plane(x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
        return transform(x, s, axes, norm)

    return in_a_plane


fft2, ifft2, rfft2, irfft2 = map(_in_a_plane, (fftn, ifftn, rfftn, irfftn))


def hfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Compute the real spectrum of a Hermitian sequence."""
    return v.irfft(v.conj(x), n=n, axis=axis, norm=_SWAPPED[norm or "backward"])


def ihfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Compute the inverse of `hfft`."""
    return v.conj(v.rfft(x, n=n, axis=axis, norm=_SWAPPED[norm or "backward"]))


def fftshift(x: Any, axes: Any = None) -> Any:
    """Shift the frequency 0 to the middle."""
    return _shifted(x, axes, lambda n: n // 2)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """Compute the inverse of `fftshift`."""
    return _shifted(x, axes, lambda n: -(n // 2))


def _shifted(x: Any, axes: Any, shift: Any) -> Any:
    axes = tuple(range(x.ndim)) if axes is None else normal_axes(axes, x.ndim)
    return v.roll(x, shift=tuple(shift(x.shape[axis]) for axis in axes), axis=axes)
