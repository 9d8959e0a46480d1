"""Arrays of CuPy's in the memory of the host: memory, devices, views of it as NumPy's, and back.

Memory, pointers and devices are private matters of CuPy's; this is for tests alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import warnings
from collections.abc import Iterator
from typing import Any, final

import numpy as np


@final
class Memory:
    """Stand-in for the memory of the devices.

    Attributes
    ----------
    device : int
        The current device, on which arrays are made.
    live : int
        How many bytes are in use.
    peak : int
        The most that were, since somebody set it.
    launches : int
        How many calls launched something; CuPy's own functions may launch more than one kernel.
    threads : set of int
        The threads that they were launched in: the current stream and device are a thread's own.
    are_peers : bool
        Whether the devices read each other's memory, of which CuPy then warns.
    """

    def __init__(self) -> None:
        self.device = 0
        self.live = 0
        self.peak = 0
        self.launches = 0
        self.threads: set[int] = set()
        self.are_peers = False

    def launch(self) -> None:
        """Count a launch."""
        self.launches += 1
        self.threads.add(threading.get_ident())


memory = Memory()


class _Block:
    """Some host memory, given back when nobody has it any more."""

    __slots__ = ("data", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.data = np.empty(size, np.uint8)
        memory.live += size
        memory.peak = max(memory.peak, memory.live)

    def __del__(self) -> None:
        memory.live -= self.size


def _allocate(size: int) -> Any:
    block = _Block(max(size, 1))
    held = _cupy.cuda.UnownedMemory(block.data.ctypes.data, block.size, block, memory.device)
    return _cupy.cuda.MemoryPointer(held, 0)


_cupy: Any = None


def is_installed() -> bool:
    """Tell whether CuPy is the one on the host."""
    return _cupy is not None


def put(cupy: Any) -> None:
    """Have CuPy make its arrays in the memory of the host."""
    global _cupy
    _cupy = cupy
    cupy.cuda.set_allocator(_allocate)


@contextlib.contextmanager
def device(number: int) -> Iterator[None]:
    """Make another device the current one, inside a ``with`` block."""
    before, memory.device = memory.device, number
    try:
        yield
    finally:
        memory.device = before


# ------------------------------------------------------------------------- there and back


def host(x: Any) -> Any:
    """View the memory of an array of CuPy's as an array of NumPy's."""
    if x.size == 0:
        return np.empty(x.shape, x.dtype)
    mem = x.data.mem
    buffer = (ctypes.c_char * mem.size).from_address(mem.ptr)
    return np.ndarray(
        x.shape, x.dtype, buffer=buffer, offset=x.data.ptr - mem.ptr, strides=x.strides
    )


def up(y: Any) -> Any:
    """Convert what NumPy computed to CuPy's form: arrays of no axes in place of scalars."""
    if isinstance(y, (np.ndarray, np.generic)):
        y = np.asarray(y)
        x = _cupy.ndarray(y.shape, y.dtype, order="F" if y.flags.fnc else "C")
        if y.size:
            host(x)[...] = y
        return x
    if isinstance(y, (tuple, list)):  # named or not: CuPy's are plain
        return (list if isinstance(y, list) else tuple)(map(up, y))
    return y


def down(x: Any) -> Any:
    if isinstance(x, _cupy.ndarray):
        return host(x)
    if type(x) in (tuple, list):
        return type(x)(map(down, x))
    if isinstance(x, slice):
        return slice(down(x.start), down(x.stop), down(x.step))
    return x


def check(x: Any, axes: int = -1) -> None:
    """Raise where CuPy would at a kernel launch: for NumPy's arrays of more than ``axes`` axes."""
    if isinstance(x, _cupy.ndarray):
        if x.data.device_id != memory.device:
            msg = (
                f"The device where the array resides ({x.data.device_id}) is different from the "
                f"current device ({memory.device}). Peer access"
            )
            if not memory.are_peers:
                msg = f"{msg} is unavailable between these devices."
                raise ValueError(msg)
            msg = f"{msg} has been activated automatically."
            warnings.warn(msg, _cupy._util.PerformanceWarning, stacklevel=3)
    elif isinstance(x, (tuple, list)):
        for part in x:
            check(part, axes)
    elif isinstance(x, np.ndarray):
        if x.ndim > axes:
            msg = f"Unsupported type {np.ndarray}"
            raise TypeError(msg)
    elif hasattr(x, "__array_function__"):  # what NumPy would know what to do with
        msg = f"Unsupported type {type(x)}"
        raise TypeError(msg)


def no_driver() -> tuple[type[Exception], ...]:
    runtime = _cupy.cuda.runtime.CUDARuntimeError
    driver = _cupy.cuda.driver.CUDADriverError
    return (runtime, driver)
