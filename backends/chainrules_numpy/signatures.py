"""Signatures of NumPy's compiled functions, for ``python -OO``.

Aliases are read against the parameters of their functions. NumPy states those of its compiled
functions in docstrings, which ``-OO`` drops. The texts are those of NumPy 2.4: a test compares each
with NumPy's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py.extend import tell_parameters

_UFUNC = "where=True, casting='same_kind', order='K', dtype=None, subok=True, signature=None"
_GENERAL = "axes=UNSAID, axis=UNSAID, keepdims=False, " + _UFUNC.removeprefix("where=True, ")
TEXTS = """
arange(start_or_stop, /, stop=None, step=1, *, dtype=None, device=None, like=None)
array(object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, ndmax=0, like=None)
asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None)
asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None)
ascontiguousarray(a, dtype=None, *, like=None)
asfortranarray(a, dtype=None, *, like=None)
bincount(x, /, weights=None, minlength=0)
can_cast(from_, to, casting='safe')
concat(arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind')
copyto(dst, src, casting='same_kind', where=True)
datetime_as_string(arr, unit=None, timezone='naive', casting='same_kind')
datetime_data(dtype, /)
dot(a, b, out=None)
empty(shape, dtype=None, order='C', *, device=None, like=None)
empty_like(prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None)
from_dlpack(x, /, *, device=None, copy=None)
frombuffer(buffer, dtype=None, count=-1, offset=0, *, like=None)
fromfile(file, dtype=None, count=-1, sep='', offset=0, *, like=None)
fromiter(iter, dtype, count=-1, *, like=None)
frompyfunc(func, /, nin, nout, **kwargs)
inner(a, b, /)
lexsort(keys, axis=-1)
may_share_memory(a, b, /, max_work=0)
min_scalar_type(a, /)
packbits(a, /, axis=None, bitorder='big')
promote_types(type1, type2, /)
putmask(a, /, mask, values)
ravel_multi_index(multi_index, dims, mode='raise', order='C')
result_type(*arrays_and_dtypes)
shares_memory(a, b, /, max_work=-1)
unpackbits(a, /, axis=None, count=None, bitorder='big')
unravel_index(indices, shape, order='C')
vdot(a, b, /)
where(condition, x=None, y=None, /)
zeros(shape, dtype=None, order='C', *, device=None, like=None)
ndarray.all(self, /, axis=None, out=None, keepdims=False, *, where=True)
ndarray.any(self, /, axis=None, out=None, keepdims=False, *, where=True)
ndarray.argmax(self, /, axis=None, out=None, *, keepdims=False)
ndarray.argmin(self, /, axis=None, out=None, *, keepdims=False)
ndarray.argpartition(self, kth, /, axis=-1, kind='introselect', order=None)
ndarray.argsort(self, /, axis=-1, kind=None, order=None, *, stable=None)
ndarray.astype(self, /, dtype, order='K', casting='unsafe', subok=True, copy=True)
ndarray.byteswap(self, /, inplace=False)
ndarray.choose(self, /, choices, out=None, mode='raise')
ndarray.clip(self, /, min=None, max=None, out=None, **kwargs)
ndarray.compress(self, /, condition, axis=None, out=None)
ndarray.conj(self, /)
ndarray.conjugate(self, /)
ndarray.copy(self, /, order='C')
ndarray.cumprod(self, /, axis=None, dtype=None, out=None)
ndarray.cumsum(self, /, axis=None, dtype=None, out=None)
ndarray.diagonal(self, /, offset=0, axis1=0, axis2=1)
ndarray.dot(self, other, /, out=None)
ndarray.dump(self, /, file)
ndarray.dumps(self, /)
ndarray.fill(self, /, value)
ndarray.flatten(self, /, order='C')
ndarray.getfield(self, /, dtype, offset=0)
ndarray.item(self, /, *args)
ndarray.max(self, /, axis=None, out=None, **kwargs)
ndarray.mean(self, /, axis=None, dtype=None, out=None, **kwargs)
ndarray.min(self, /, axis=None, out=None, **kwargs)
ndarray.nonzero(self, /)
ndarray.partition(self, kth, /, axis=-1, kind='introselect', order=None)
ndarray.prod(self, /, axis=None, dtype=None, out=None, **kwargs)
ndarray.put(self, indices, values, /, mode='raise')
ndarray.ravel(self, /, order='C')
ndarray.repeat(self, repeats, /, axis=None)
ndarray.reshape(self, /, *shape, order='C', copy=None)
ndarray.resize(self, /, *new_shape, refcheck=True)
ndarray.round(self, /, decimals=0, out=None)
ndarray.searchsorted(self, v, /, side='left', sorter=None)
ndarray.setfield(self, val, /, dtype, offset=0)
ndarray.setflags(self, /, *, write=None, align=None, uic=None)
ndarray.sort(self, /, axis=-1, kind=None, order=None, *, stable=None)
ndarray.squeeze(self, /, axis=None)
ndarray.std(self, /, axis=None, dtype=None, out=None, ddof=0, **kwargs)
ndarray.sum(self, /, axis=None, dtype=None, out=None, **kwargs)
ndarray.swapaxes(self, axis1, axis2, /)
ndarray.take(self, indices, /, axis=None, out=None, mode='raise')
ndarray.to_device(self, device, /, *, stream=None)
ndarray.tobytes(self, /, order='C')
ndarray.tofile(self, fid, /, sep='', format='%s')
ndarray.tolist(self, /)
ndarray.trace(self, /, offset=0, axis1=0, axis2=1, dtype=None, out=None)
ndarray.transpose(self, /, *axes)
ndarray.var(self, /, axis=None, dtype=None, out=None, ddof=0, **kwargs)
ndarray.view(self, /, *args, **kwargs)
"""
"""One function or method of NumPy with its parameters per line; ufuncs are of five kinds."""


def _of_ufunc(f: np.ufunc) -> str:
    operands = "x" if f.nin == 1 else ", ".join(f"x{i + 1}" for i in range(f.nin))
    out = f"({', '.join(['None'] * f.nout)})" if f.nout > 1 else "None"
    return f"({operands}, /, out={out}, *, {_GENERAL if f.signature else _UFUNC})"


def _told() -> Iterator[tuple[Callable[..., Any], str]]:
    """Yield all functions, with their parameters as text."""
    for line in TEXTS.strip().splitlines():
        name, bracket, rest = line.partition("(")
        f: Any = np
        for part in name.split("."):
            f = getattr(f, part)
        yield f, bracket + rest
    for name in dir(np):
        ufunc = getattr(np, name, None)
        if type(ufunc) is np.ufunc:
            yield ufunc, _of_ufunc(ufunc)


def _function(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"UNSAID": vars(np)["_NoValue"]}
    exec(f"def told{text}: ...", space)  # noqa: S102  # a text of this file
    made: Callable[..., Any] = space["told"]
    return made


def tell() -> None:
    """Register these parameters with the core."""
    for f, text in _told():
        tell_parameters(f, _function(text))
