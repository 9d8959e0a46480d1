"""The tangent space of a primal, and projection of tangents to it.

Shape, dtype, realness, device and structure are adjusted here, so that rules need not do it.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, NoReturn, final

from chainrules_py.errors import NotDifferentiableError, ProjectionError, describe
from chainrules_py.ops.creation import full_like
from chainrules_py.ops.elementwise import real
from chainrules_py.ops.manipulation import astype, broadcast_to, reshape, to_device
from chainrules_py.primitives.closures.convert import joining
from chainrules_py.primitives.plugins import see
from chainrules_py.tangents.arithmetic import canonicalize
from chainrules_py.tangents.checks import (
    check_is_tangent,
    check_keys,
    is_constant,
    refuse_tangent,
    taken,
)
from chainrules_py.tangents.custom_space import own_space
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.sum_to_shape import unbroadcast
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.zeros import AbstractTangent, AbstractZero, NoTangent, Summand, is_zero
from chainrules_py.values.caches import forgets
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import find_tracers
from chainrules_py.values.structure import (
    Structure,
    fields_of,
    is_structure_type,
    primal_class,
    structure_of,
)
from chainrules_py.values.type_info import (
    as_scalar,
    check_served,
    namespace_of,
    refuse_derived,
    type_info,
)

_kinds: dict[Any, str] = {}
with_dtype: set[type] = set()
"""Classes whose instances `kind_of` has found to have a dtype."""
_NUMBER_KINDS = {bool: "bool", int: "int", float: "real", complex: "complex"}


def dtype_kind(dtype: Any, like: type) -> str:
    """Classify a dtype's numbers: ``"bool"``, ``"int"``, ``"real"``, ``"complex"``, ``"other"``."""
    # By class, since two libraries' dtypes may have the same hash and raise when compared, and a
    # dtype may be a number to one library only, as bfloat16 is to JAX and not to NumPy.
    found = _kinds.get((like, dtype))
    if found is not None:
        return found
    isdtype = namespace_of(like).isdtype
    names = {
        "bool": "bool",
        "integral": "int",
        "real floating": "real",
        "complex floating": "complex",
    }
    try:
        kind = next((short for long, short in names.items() if isdtype(dtype, long)), "other")
    except (AttributeError, TypeError):  # of another library's dtype
        kind = "other"
    _kinds[like, dtype] = kind
    return kind


def kind_of(x: Any) -> str:
    """Classify the numbers that an array or number holds; ``"none"`` for anything else."""
    cls = type(x)
    if cls in with_dtype:
        dtype = x.dtype
        found = _kinds.get((cls, dtype))
        return dtype_kind(dtype, cls) if found is None else found
    if cls in _NUMBER_KINDS:
        return _NUMBER_KINDS[cls]
    payload = type_info(cls).dispatch_type
    if payload in _NUMBER_KINDS:
        return _NUMBER_KINDS[payload]
    if type_info(cls).is_array or type_info(cls).is_number:
        if type_info(payload).namespace is None:
            see(None, (payload,))  # np.float64 is a float before its backend is loaded
        check_served(x, payload)
        if not hasattr(x, "dtype"):
            if type_info(cls).is_plain_number and not is_constant(x):
                return next(_NUMBER_KINDS[n] for n in payload.__mro__ if n in _NUMBER_KINDS)
            if is_constant(x) or issubclass(payload, int):
                return "none"
            refuse_derived(x)
        with_dtype.add(cls)
        return dtype_kind(x.dtype, cls)
    if (cls, None) not in _kinds and see(None, (cls,)):
        return kind_of(x)
    _kinds[cls, None] = "none"
    return "none"


@final
class Space:
    """The tangent space of an array or number: the shape, dtype and device of its cotangents.

    It has the attributes of an operand that a transpose reads (``shape``, ``ndim``, ``dtype``,
    ``device``, ``size``) and no elements, so linear operations save it in place of the operand.

    Examples
    --------
    >>> import numpy as np
    >>> Space(np.zeros((2, 3), dtype=np.float32))
    Space(float32[2,3])
    """

    __slots__ = ("device", "dtype", "kind", "like", "ndim", "shape", "size")

    def __init__(self, x: Any) -> None:
        cls = type(x)
        self.like: Any = type_info(cls).dispatch_type
        self.shape: tuple[int, ...] = getattr(x, "shape", ())
        self.dtype = getattr(x, "dtype", None)
        self.device = getattr(x, "device", None) if type_info(cls).has_device else None
        self.kind = kind_of(x)
        self.ndim, self.size = len(self.shape), math.prod(self.shape)

    def with_shape(self, shape: tuple[int, ...]) -> Space:
        """Return the space of arrays of another shape, with the same dtype and device."""
        of = object.__new__(Space)
        of.like, of.dtype, of.device, of.kind = self.like, self.dtype, self.device, self.kind
        of.shape, of.ndim, of.size = shape, len(shape), math.prod(shape)
        return of

    def zeros(self, beside: Any = None) -> Any:
        """Make the zero of the space, as a dense array or number.

        If another engine traces the value ``beside``, it traces this call as well.
        """
        if self.dtype is None:
            return 0.0 if self.kind != "complex" else 0j
        if beside is not None and type_info(type(beside)).host is not None:
            return full_like(beside, shape=self.shape, fill=0, dtype=self.tangent_dtype)
        return _zeros(self, self.shape)

    @property
    def tangent_dtype(self) -> Any:
        """The dtype of tangents: that of the primal, or the library's default for integers."""
        if self.kind in ("real", "complex"):
            return self.dtype
        return default_dtype(type_info(self.like).namespace)

    def __repr__(self) -> str:
        return f"Space({self.dtype or self.like.__name__}[{','.join(map(str, self.shape))}])"


def default_dtype(xp: Any, kind: str = "real") -> Any:
    """Return a library's dtype for tangents of integers and Python's numbers, or None.

    It is float64 or complex128; a library whose ``dtypes`` does not list it, as JAX's may not, uses
    its default dtype.
    """
    name = _widest(kind)
    widest, asked = getattr(xp, name, None), getattr(xp, "__array_namespace_info__", None)
    if widest is None or asked is None:
        return widest
    info, floating = asked(), "complex floating" if kind == "complex" else "real floating"
    return widest if name in info.dtypes(kind=floating) else info.default_dtypes()[floating]


def _widest(kind: str) -> str:
    return "complex128" if kind == "complex" else "float64"


def _zeros(space: Space, shape: tuple[int, ...]) -> Any:
    zeros = namespace_of(space.like).zeros
    if space.device is None:
        return zeros(shape, dtype=space.tangent_dtype)
    return zeros(shape, dtype=space.tangent_dtype, device=space.device)


@final
class StructureSpace:
    """The tangent space of a structure: one space per field."""

    __slots__ = ("fields", "length", "primal_type")

    def __init__(self, x: Any) -> None:
        self.primal_type = primal_class(type(x))
        self.fields = {key: space(value) for key, value in fields_of(x)}
        structure: Structure[Any] | None = structure_of(self.primal_type)
        by_position = structure is not None and structure.kind == "positions"
        self.length = len(self.fields) if by_position else None

    def __repr__(self) -> str:
        return f"Space({self.primal_type.__qualname__})"


_makers: dict[type, Any] = {}
forgets(lambda: (with_dtype, _kinds, _makers, _array_spaces))


def space(x: Any) -> Any:
    """Return the tangent space of a value; `NoTangent()` for a value that cannot be perturbed."""
    cls = type(x)
    make = _makers.get(cls)
    if make is None:
        make = _maker(cls, x)  # may load a backend, which clears the table
        _makers[cls] = make
    if make is _first_space:  # the most frequent, without another call
        try:
            return _array_spaces[cls, x.dtype, x.shape]
        except (KeyError, TypeError):
            pass
    return make(x)


def _maker(cls: type, x: Any) -> Any:
    if cls is Space or cls is StructureSpace:
        return lambda x: x
    if is_structure_type(cls):
        return StructureSpace
    kind = kind_of(x)
    is_number = type_info(cls).is_plain_number
    # Arrays of one class differ in their spaces. Another thread may just have emptied `with_dtype`.
    if kind != "none" and not is_number and hasattr(x, "dtype"):
        return _array_space if type_info(cls).has_device else _first_space
    # A member of an enumeration is an operand like its number.
    of = Space(x) if is_number and kind != "bool" else NoTangent()
    return lambda x: of  # all numbers of a class have the same space


_array_spaces: dict[Any, Any] = {}
_KEPT = 1024


def _array_space(x: Any) -> Any:
    """Return an array's space, cached by class, dtype, shape and device."""
    device = getattr(x, "device", None)
    try:
        return _array_spaces[type(x), x.dtype, x.shape, device]
    except (KeyError, TypeError):  # not cached, or unhashable classes of a library
        return _first_space(x, device)


def _first_space(x: Any, *device: Any) -> Any:
    of = Space(x)
    found = NoTangent() if of.kind in ("bool", "other") else of
    with contextlib.suppress(TypeError):
        if len(_array_spaces) >= _KEPT:
            _array_spaces.clear()
        _array_spaces[type(x), x.dtype, x.shape, *device] = found
    return found


def project(t: Any, onto: Any, *, batch: int = 0) -> Any:
    """Project a cotangent to the tangent space of its primal.

    Parameters
    ----------
    t : tangent
        It is summed over the axes along which the primal was broadcast; the imaginary part is
        dropped if the primal is real; dtype and device become the primal's.
    onto : array, number, structure or Space
        The primal, or its space.
    batch : int
        The number of leading batch axes of ``t``, which stay.

    Raises
    ------
    ProjectionError
        If ``t`` has a shape that broadcasting cannot explain, or the wrong structure.

    Examples
    --------
    >>> import numpy as np
    >>> project(np.ones((2, 3)), onto=np.zeros((3,)))
    array([2., 2., 2.])
    """
    if isinstance(t, AbstractTangent):
        return _project_tangent(t, onto, batch)
    onto = onto if type(onto) is Space else space(onto)
    if type(onto) is not Space:
        return onto if is_zero(onto) else _project_tangent(t, onto, batch)
    shape = getattr(t, "shape", ())
    if shape[batch:] != onto.shape:
        have = getattr(getattr(t, "dtype", None), "itemsize", 0)
        if have <= (8 if onto.dtype is None else getattr(onto.dtype, "itemsize", 0)):
            t = _convert(t, onto, batch)  # a narrower sum would lose digits, and overflow
        t = unbroadcast(t, onto.shape, batch)
    return _convert(t, onto, batch)


def widened(t: Any) -> Any:
    """Convert an array for Python's numbers to float64 or complex128; return a number unchanged.

    So is an array whose library lacks that dtype. Whether the dtype is enabled is not checked: a
    library may silently convert to a narrower one.
    """
    if getattr(t, "dtype", None) is None:
        return t
    wide = getattr(type_info(type(t)).namespace, _widest(kind_of(t)), None)
    return t if wide is None or t.dtype == wide else astype(t, dtype=wide)


def spread(t: Any, onto: Any, *, batch: int = 0) -> Any:
    """Convert a tangent to the tangent space of the result: broadcast it, and set its dtype.

    The first ``batch`` axes are batch axes, and stay. ``onto`` is the result, or its space. The
    tangent of a structure may be a plain container, as the tuple of several outputs.
    """
    if (
        type(onto) is Space
        and getattr(t, "dtype", None) is onto.dtype is not None
        and t.shape[batch:] == onto.shape
        and onto.kind != "int"
        and onto.device is None
        and type(t) in taken
    ):
        return t  # most fit already
    y, onto = onto, space(onto)
    if type(onto) is StructureSpace and not isinstance(t, AbstractZero):
        t = mirrored(t, onto) if y is onto else canonicalize(y, t)
        if isinstance(t, Tangent):
            fields = onto.fields if y is onto else dict(fields_of(y))
            return t.map_with(lambda key, part: spread(part, fields[key], batch=batch))
    if isinstance(t, AbstractTangent):
        return t
    if type(onto) is not Space:
        return known_space(y)
    ours, theirs = type_info(onto.like), type_info(type(t))
    if None not in (ours.home, theirs.namespace) and theirs.home is None:
        # Of what stood beside an array of a library other than NumPy, as a number in x - s.
        t = full_like(_zeros(onto, ()), shape=(), fill=1) * t
    shape = getattr(t, "shape", ())
    if shape[batch:] != onto.shape:
        if hasattr(t, "dtype"):
            if batch and len(shape) - batch < onto.ndim:
                shape = (*shape[:batch], *(1,) * (onto.ndim + batch - len(shape)), *shape[batch:])
                t = reshape(t, shape=shape)
            try:
                t = broadcast_to(t, shape=(*shape[:batch], *onto.shape))
            except (ValueError, RuntimeError) as error:  # libraries differ in what they raise
                raise ProjectionError(
                    f"{describe(t)} is not a tangent of {onto!r}: it has another shape"
                ) from error
        else:  # no library broadcasts a Python number, or a tracer of one
            if kind_of(t) in ("none", "other"):
                refuse_tangent(t)
            t = full_like(_zeros(onto, ()), shape=onto.shape, fill=1) * t
    return _convert(t, onto, batch)


def spread_given(y_dot: Any, y: Any, tangents: tuple[Any, ...], *, batch: int = 0) -> Any:
    """`spread` of a user's rule; raise for a complex tangent of a real result of real ones."""
    of = space(y)
    if type(of) is Space and all([kind_of(t) == "real" or is_zero(t) for t in tangents]):
        check_real(y_dot, of)
    return spread(y_dot, y, batch=batch)


def check_shape(shape: Any, of: Any, by: Any) -> None:
    """Raise if the shape of a tangent that a push gives is not that of the result, or its space.

    Raises
    ------
    ProjectionError
        If the shapes differ: broadcasting the tangent would give another derivative.
    """
    wanted = getattr(of, "shape", shape)
    if shape != wanted:
        raise ProjectionError(
            f"a push of {by!r} gives a tangent of shape {tuple(shape)} for a result of shape "
            f"{wanted}: give one of shape {wanted}"
        )


def check_real(t: Any, of: Space) -> None:
    """Raise for a complex tangent in a space that is not complex.

    Raises
    ------
    ProjectionError
        If the tangent is complex, and the space is not.
    """
    if of.kind != "complex" and kind_of(t) == "complex":
        raise ProjectionError(
            f"{describe(t)} is not a tangent of {of!r}, whose numbers are real: its imaginary part "
            f"would be lost; give its real part"
        )


def mirrored(t: Any, of: StructureSpace) -> Any:
    """Convert a plain container of a primal's shape to a `Tangent`; return a tangent unchanged."""
    if isinstance(t, AbstractTangent):
        return t
    if not is_structure_type(type(t)):
        raise ProjectionError(
            f"{describe(t)} is not a tangent of {of.primal_type.__qualname__}; write "
            f"Tangent[{of.primal_type.__qualname__}](...), or a plain container like it"
        )
    items = dict(fields_of(t))
    if (
        isinstance(t, (tuple, list))
        and issubclass(of.primal_type, tuple)
        and len(items) == len(of.fields)
    ):
        items = dict(zip(of.fields, items.values(), strict=True))  # a tuple for a namedtuple
    check_keys(of.primal_type, items, of.fields)
    if gone := [k for k, part in of.fields.items() if k not in items and not is_zero(part)]:
        raise ProjectionError(f"{describe(t)} has no {gone[0]!r}; write ZeroTangent() for zero")
    return Tangent.of(of.primal_type, items, of.length)


def fit(x_bar: Any, onto: Any, *, batch: int = 0) -> Any:
    """Project as `project` does, but return a cotangent at once if it fits already, as most do."""
    return (
        x_bar
        if type(onto) is Space
        and getattr(x_bar, "dtype", None) is onto.dtype is not None
        and x_bar.shape[batch:] == onto.shape
        and onto.kind != "int"
        and type(x_bar) in taken
        else project(x_bar, onto, batch=batch)
    )


def known_space(y: Any) -> Any:
    """Return the tangent space of a value; raise for an array of a dtype without derivatives."""
    of = space(y)
    return refuse_numbers(y) if is_zero(of) and kind_of(y) == "other" else of


def refuse_numbers(x: Any) -> NoReturn:
    """Raise for a computation with an array of a dtype without derivatives."""
    write = "give an array of a floating type, as np.asarray(x, float)"
    dtype = getattr(x, "dtype", None)
    if getattr(dtype, "kind", "") == "O" and not isinstance(x, Tracer) and find_tracers([*x.flat]):
        write = "they are traced, so leave out np.asarray(x), or write np.stack([y, z]) for a list"
    raise NotDifferentiableError(
        f"{describe(x)} is computed with, and no derivative is known in its elements: {write}"
    )


def _convert(t: Any, onto: Space, batch: int = 0) -> Any:
    dtype = getattr(t, "dtype", None)
    if dtype is onto.dtype and dtype is not None and onto.kind != "int":
        check_is_tangent(t)
        return _placed(t, onto)
    kind = kind_of(t)
    if kind in ("none", "other"):
        whole = joining[1](t) if joining[0] else t  # a rule may give an array of traced objects
        return refuse_tangent(t) if whole is t else _convert(whole, onto, batch)
    if kind == "complex" and onto.kind != "complex":
        t = real(t)
        dtype = getattr(t, "dtype", None)
    if onto.dtype is None:
        # Several tangents of one Python number are an array.
        return widened(t) if batch else _to_number(widened(t), kind, onto.kind)
    if dtype is None:
        if not isinstance(t, Tracer) and type_info(type(t)).host is None:
            if type_info(onto.like).is_number and onto.kind != "int":
                return onto.like(t)
            return as_scalar(full_like(_zeros(onto, ()), shape=(), fill=t))
        return full_like(_zeros(onto, ()), shape=(), fill=1) * t
    if onto.kind in ("real", "complex"):
        if dtype != onto.dtype:
            if type(dtype).__module__ != type(onto.dtype).__module__ and _is_foreign(t, onto):
                return _convert(t.item(), onto, batch)
            t = astype(t, dtype=onto.dtype)
    elif kind in ("int", "bool"):
        t = astype(t, dtype=onto.tangent_dtype)
    return _placed(t, onto)


def _placed(t: Any, onto: Space) -> Any:
    alike = onto.device is None or getattr(t, "device", onto.device) == onto.device
    return t if alike else to_device(t, device=onto.device)


def _to_number(t: Any, kind: str, wanted: str) -> Any:
    """Make a tangent a number, complex where one is wanted."""
    if type(t) in (int, bool, float):
        return complex(t) if wanted == "complex" else float(t)
    return as_scalar(t) + complex(-0.0) if wanted == "complex" != kind else as_scalar(t)


def _is_foreign(t: Any, onto: Space) -> bool:
    """Return whether a tangent is another library's 0-d number; raise for its other arrays."""
    if isinstance(t, Tracer) or namespace_of(type(t)) is namespace_of(onto.like):
        return False
    if not t.shape:
        return True
    raise ProjectionError(
        f"{describe(t)} is given as tangent of {onto!r}, whose library is another: convert it, or "
        f"compute by functions of that library or of chainrules_py.ops"
    )


def _project_tangent(t: Any, onto: Any, batch: int) -> Any:
    if is_zero(t):
        return t
    if isinstance(t, Thunk):
        return Thunk(lambda: project(unthunk(t), onto, batch=batch))
    onto = space(onto)
    if is_zero(onto):
        return onto
    if isinstance(t, Tangent) and type(onto) is StructureSpace:
        if t.primal_type is not onto.primal_type:
            raise ProjectionError(
                f"a {describe(t)} is not a tangent of {onto.primal_type.__qualname__}; write "
                f"Tangent[type(x)](...), of the operand x itself, whose class may be a subclass"
            )
        check_keys(onto.primal_type, t._entries, onto.fields)
        whole = t.map_with(lambda key, field: project(field, onto.fields[key], batch=batch))
        return whole if batch else own_space(onto.primal_type).project(whole)  # type: ignore[arg-type]  # classes are hashable
    if isinstance(t, Summand):
        return project(t.dense(), onto, batch=batch)
    if isinstance(t, AbstractTangent) and not isinstance(t, Tangent):
        return t
    if type(onto) is StructureSpace:
        return _project_tangent(mirrored(t, onto), onto, batch)
    raise ProjectionError(f"{describe(t)} is not a tangent of {onto!r}")


def zero_tangent(primal: Any) -> Any:
    """Make the dense zero of a primal's tangent space.

    Examples
    --------
    >>> zero_tangent((1.0, "name"))
    Tangent[tuple](0.0, NoTangent())
    """
    of = space(primal)
    if type(of) is StructureSpace:
        zeros = {key: zero_tangent(part) for key, part in of.fields.items()}
        return Tangent.of(of.primal_type, zeros, of.length)
    return of.zeros() if type(of) is Space and of.kind != "none" else NoTangent()
