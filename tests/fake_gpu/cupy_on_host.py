"""CuPy without a GPU: real ``cupy.ndarray`` objects in host memory, NumPy in place of the kernels.

CuPy imports without a driver, makes arrays in whatever memory its allocator gives, and takes views
of them; only what launches a kernel fails. Here each function, ufunc, method and kernel of CuPy is
called first, so that its own signature and checks hold: a ``where=`` that it does not take, a name
that it has not, an array of NumPy's where it wants one of its own fail as on a GPU. Where it then
finds no driver, NumPy computes the result, on the same memory.

Memory, pointers and devices are private matters of CuPy's; this is for tests alone.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_kit.derived_aliases import documented as _read
from tests.fake_gpu import host_names
from tests.fake_gpu.host_arrays import (
    check,
    down,
    host,
    is_installed,
    memory,
    no_driver,
    put,
    up,
)
from tests.fake_gpu.host_arrays import device as device
from tests.fake_gpu.host_kernels import elementwise_class, reduction_class
from tests.fake_gpu.host_modules import install_scatter, install_scipy_linalg

# ------------------------------------------------------------------------- what stands in

_FROM_HOST = ("asarray", "array", "asanyarray", "ascontiguousarray", "asfortranarray", "take")
"""Functions that take arrays of NumPy's."""


def _standing_in(
    native: Callable[..., Any], numpy_function: Callable[..., Any], *, from_host: bool = False
) -> Callable[..., Any]:
    """Make a function of CuPy's ask NumPy where it finds no driver."""
    try:
        signature = inspect.signature(native)
    except (ValueError, TypeError):
        signature = None
    missing = no_driver()
    lacks_library = False

    def call(*args: Any, **keywords: Any) -> Any:
        nonlocal lacks_library
        if lacks_library:
            if signature is not None:
                signature.bind(*args, **keywords)
        else:
            try:
                return native(*args, **keywords)
            except ImportError:  # of cuBLAS and its like
                lacks_library = True
            except missing:
                pass
        if not from_host:
            for x in (*args, *keywords.values()):
                check(x)
        memory.launch()
        out = keywords.pop("out", None)
        given = {name: down(x) for name, x in keywords.items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # no kernel warns
            warnings.simplefilter("ignore")
            y = numpy_function(*map(down, args), **given)
        if out is not None:
            host(out)[...] = y
            return out
        return up(y)

    # In a traceback it stands for the function.
    name = getattr(native, "__name__", "call")
    scope = {**globals(), "__name__": getattr(native, "__module__", None) or "cupy"}
    code = call.__code__.replace(co_name=name)
    call = types.FunctionType(code, scope, name, None, call.__closure__)
    functools.update_wrapper(call, native)
    if signature is not None:
        call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _ufunc_class(base: type) -> type:
    """CuPy's own class of ufuncs, whose instances ask NumPy where they find no driver."""

    class HostUfunc(base):  # type: ignore[misc]
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            try:
                return super().__call__(*args, **keywords)
            except no_driver():
                pass
            for x in (*args, *keywords.values()):
                if isinstance(x, (tuple, list, str)):
                    msg = f"Unsupported type {type(x)}"
                    raise TypeError(msg)
                check(x)
            memory.launch()
            out = keywords.pop("out", None) or (args[self.nin] if len(args) > self.nin else None)
            operands = [down(x) for x in args[: self.nin]]
            keywords.pop("casting", None)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                y = self.by_numpy(*operands, **keywords)
            if out is None:
                return up(y)
            if not np.can_cast(y.dtype, out.dtype, "same_kind"):
                msg = f"Cannot cast ufunc output from {y.dtype} to {out.dtype} ('same_kind')"
                raise TypeError(msg)
            host(out)[...] = y
            return out

        def reduce(self, array: Any, *args: Any, **keywords: Any) -> Any:
            method = {"cupy_add": "sum", "cupy_multiply": "prod"}.get(self.name)
            if method is None:
                msg = f"`{self.name}.reduce` is not supported yet"
                raise NotImplementedError(msg)
            return getattr(array, method)(*(args or (0,)), **keywords)

        def outer(self, a: Any, b: Any, **keywords: Any) -> Any:
            return self(a.reshape(*a.shape, *(1,) * b.ndim), b, **keywords)

    HostUfunc.__name__ = HostUfunc.__qualname__ = "ufunc"
    HostUfunc.__module__ = base.__module__
    return HostUfunc


def _method(base: type, name: str, numpy_function: Callable[..., Any]) -> Callable[..., Any]:
    native = getattr(base, name)
    missing: tuple[type[Exception], ...] = (ImportError, *no_driver())
    signature = None if name.startswith("__") else _documented(native)

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return native(self, *args, **keywords)
        except missing:
            pass
        memory.launch()
        check(self)
        for x in (*args, *keywords.values()):
            check(x, _AXES.get(name, -1))
        if signature is not None:
            given = signature.bind(self, *args, **keywords).arguments
            args = tuple(given.pop(_gathered, ()))
            keywords = {
                n: down(x)
                for n, x in given.items()
                if n != "self" and x is not signature.parameters[n].default
            }
        out = keywords.pop("out", None)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            y = numpy_function(host(self), *map(down, args), **keywords)
        if out is not None:
            out[...] = y
            return out
        return up(y)

    _gathered = next(
        (
            n
            for n, p in (signature.parameters.items() if signature else ())
            if p.kind == p.VAR_POSITIONAL
        ),
        "",
    )
    method.__name__, method.__doc__ = name, native.__doc__
    if signature is not None:
        method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _documented(native: Any) -> inspect.Signature | None:
    """Read the signature of a compiled method from the first line of its docstring."""
    found = _read(native)
    return None if found is None else inspect.signature(found)


_AXES = {"__getitem__": 64, "take": 64, "fill": 0}
"""Methods that take NumPy's arrays, of so many axes at most: places, and what to fill with."""
_NUMPY_METHODS: dict[str, Any] = {
    "ptp": np.ptp,
    "argmax": lambda x, axis=None, keepdims=False, **_: np.argmax(x, axis, keepdims=keepdims),
    "argmin": lambda x, axis=None, keepdims=False, **_: np.argmin(x, axis, keepdims=keepdims),
}


def _install_methods(cls: Any) -> None:
    base = cls.__mro__[1]
    for name in host_names.METHODS:
        by_numpy = _NUMPY_METHODS.get(name) or getattr(np.ndarray, name)
        setattr(cls, name, _method(base, name, by_numpy))
    for short in host_names.OPERATORS:
        name = f"__{short}__"
        setattr(cls, name, _method(base, name, getattr(np.ndarray, name)))
    for short in host_names.IN_PLACE:
        setattr(cls, f"__{short}__", _in_place(base, f"__{short}__"))
    for name in ("sort", "partition", "fill", "put"):
        setattr(cls, name, _in_place(base, name))
    cls.__getitem__ = _method(base, "__getitem__", np.ndarray.__getitem__)
    cls.__setitem__ = _setitem(base.__setitem__)
    for name, read in _SYNCS.items():
        if hasattr(base, name):
            setattr(cls, name, _reading(base, name, read))
    cls.__hash__ = base.__hash__


def _in_place(base: Any, name: str) -> Callable[..., Any]:
    native, by_numpy = getattr(base, name), getattr(np.ndarray, name)

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return native(self, *args, **keywords)
        except no_driver():
            pass
        memory.launch()
        for x in (self, *args):
            check(x, _AXES.get(name, -1))
        with np.errstate(all="ignore"):
            by_numpy(host(self), *map(down, args), **keywords)
        return self if name.startswith("__") else None

    method.__name__, method.__doc__ = name, native.__doc__
    if (signature := _documented(native)) is not None and not name.startswith("__"):
        method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _setitem(native: Any) -> Callable[..., None]:
    def __setitem__(self: Any, where: Any, value: Any) -> None:  # noqa: N807
        try:
            native(self, where, value)
        except no_driver():
            memory.launch()
            check(self)
            check(value, 0)
            host(self)[down(where)] = down(value)

    return __setitem__


# ------------------------------------------------------------------------- waiting for the device

_SYNCS: dict[str, Callable[..., Any]] = {
    "get": lambda x, *_, **__: x.copy(),
    "item": lambda x, *args: x.item(*args),
    "tolist": lambda x: x.tolist(),
    "tobytes": lambda x, *_: x.tobytes(),
    "nonzero": np.nonzero,
    "__bool__": bool,
    "__float__": float,
    "__complex__": complex,
    "__int__": int,
    "__repr__": repr,
    "__str__": str,
    "__format__": format,
}
"""What brings values to the host, and so waits for all that was launched before."""


def _reading(base: Any, name: str, read: Callable[..., Any]) -> Callable[..., Any]:
    native = getattr(base, name, None)

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        if native is not None and not name.startswith("__"):
            try:
                return native(self, *args, **keywords)
            except no_driver():
                pass
        y = read(host(self), *args, **keywords)
        return up(y) if name == "nonzero" else y

    method.__name__ = name
    if not name.startswith("__") and (signature := _documented(native)) is not None:
        method.__signature__ = signature  # type: ignore[attr-defined]
    return method


# ------------------------------------------------------------------------- installing it


def install() -> None:
    """Put CuPy on the host, in this process; nothing happens where it is there already.

    Raises
    ------
    RuntimeError
        If there is a GPU, or if something has used CuPy before.
    """
    if is_installed():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cupy: Any = importlib.import_module("cupy")
    if cupy.is_available():
        msg = "there is a GPU: CuPy needs no host to run on"
        raise RuntimeError(msg)
    if "chainrules_cupy" in sys.modules:
        msg = "chainrules_cupy was imported before: it has seen the functions that need a driver"
        raise RuntimeError(msg)
    put(cupy)
    _install_methods(cupy.ndarray)
    ufunc, made = _ufunc_class(cupy.ufunc), {}
    for space, numpy_space in _spaces(cupy):
        for name, native in list(vars(space).items()):
            by_numpy = _NUMPY.get(name, getattr(numpy_space, name, None))
            if name.startswith("_") or not callable(by_numpy) or name in host_names.AS_THEY_ARE:
                continue
            if isinstance(native, cupy.ufunc):
                if native not in made:
                    made[native] = _host_ufunc(ufunc, native, by_numpy)
                setattr(space, name, made[native])
            elif callable(native) and not isinstance(native, type):
                from_host = name in _FROM_HOST
                setattr(space, name, _standing_in(native, by_numpy, from_host=from_host))
    search: Any = importlib.import_module("cupy._sorting.search")
    search._where_ufunc = _host_ufunc(ufunc, search._where_ufunc, np.where)
    cupy.asnumpy = lambda x, *_, **__: np.array(host(x) if isinstance(x, cupy.ndarray) else x)
    cupy.cuda.runtime.getDevice = lambda: memory.device
    cupy.cuda.runtime.setDevice = lambda number: setattr(memory, "device", number)
    cupy.ElementwiseKernel = elementwise_class(cupy.ElementwiseKernel)
    cupy.ReductionKernel = reduction_class(cupy.ReductionKernel)
    install_scatter()
    install_scipy_linalg()


def _spaces(cupy: Any) -> Iterator[tuple[Any, Any]]:
    yield cupy, np
    yield cupy.linalg, np.linalg
    yield cupy.fft, np.fft
    yield (
        importlib.import_module("cupyx.scipy.special"),
        importlib.import_module("scipy.special"),
    )


def _host_ufunc(cls: Any, native: Any, by_numpy: Any) -> Any:
    made = cls(native.name, native.nin, native.nout, native._ops, doc=native.__doc__ or "")
    made.by_numpy = by_numpy
    return made


_NUMPY: dict[str, Any] = {"fix": np.trunc, "around": np.round}
"""What NumPy calls otherwise."""
