"""Boundary to users: checks of tangents that they pass, and ownership of values that they get."""

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from chainrules_py.errors import NotDifferentiableError, ProjectionError, TracerError, describe
from chainrules_py.ops.creation import full_like
from chainrules_py.primitives.closures.convert import joining
from chainrules_py.primitives.conversion_advice import refuse_labelled
from chainrules_py.tangents.arithmetic import canonicalize
from chainrules_py.tangents.flatten_tangents import flatten_tangent
from chainrules_py.tangents.primal_results import refuse_objects
from chainrules_py.tangents.space import (
    Space,
    check_real,
    kind_of,
    project,
    space,
    widened,
    zero_tangent,
)
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import (
    ZERO,
    AbstractTangent,
    NotImplementedTangent,
    Summand,
    is_zero,
)
from chainrules_py.values.array_conversion import as_arrays, tables
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import find_tracers, untraced
from chainrules_py.values.object_contents import directly, holds_objects
from chainrules_py.values.pickling_by_name import made
from chainrules_py.values.pytree import LEAF, TreeDef, flatten, map_leaves
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_py.values.type_info import (
    TypeInfo,
    as_scalar,
    check_served,
    is_mutable_destination,
    libraries,
    namespace,
    namespace_of,
    type_info,
)


def check_tangent_of(x: Any, t: Any, what: str = "tangent") -> Any:
    """Check a tangent or cotangent from the user, and convert it to its operand's space.

    Raises
    ------
    ProjectionError
        If it does not belong to x: another shape, structure, or None.
    NotDifferentiableError
        If no derivative is taken in x, and the tangent is not zero.
    """
    if _fits(x, t):
        return t
    t = canonicalize(x, t)
    if isinstance(t, Summand):
        return check_tangent_of(x, t.dense(), what)
    if isinstance(t, Tangent):
        own = dict(fields_of(x)) if is_structure_type(type(x)) else {}
        check = lambda key, part: check_tangent_of(own[key], part, what) if key in own else part
        t = t.map_with(check)
        return project(t, x) if what == "cotangent" else t
    if isinstance(t, AbstractTangent):
        return t
    of = space(x)
    if type(of) is not Space:
        check_served(x, type(x))
        refuse_objects(x)
        if what == "tangent":
            refuse_labelled(x)
            raise ProjectionError(
                f"{describe(x)} cannot be perturbed, and a tangent {describe(t)} was given for it"
            )
        return of
    return project_exactly(t, of, what, beside=what == "tangent")


def check_cotangent(y: Any, y_bar: Any) -> Any:
    """Check a result's cotangent from the user, and convert it to the result's space."""
    return check_tangent_of(y, y_bar, "cotangent")


def _fits(x: Any, t: Any) -> bool:
    """Return whether two real or complex values agree in type, dtype, shape and device."""
    cls = type(x)
    if type(t) is not cls or kind_of(x) not in ("real", "complex"):
        return False
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return True
    if (dtype is not t.dtype and dtype != t.dtype) or x.shape != t.shape:
        return False
    return not type_info(cls).has_device or getattr(x, "device", 0) == getattr(t, "device", 0)


def leaf_tangents(what: str, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> list[Any]:
    """Check the user's tangents of a function's arguments, and list those of the leaves.

    Raises
    ------
    ProjectionError
        If there is not one for each primal, or one does not belong to it.
    """
    if type(primals) is not tuple or type(tangents) is not tuple or len(primals) != len(tangents):
        raise ProjectionError(
            f"{what} takes one tangent for each primal{', in tuples' * (what != 'push')}, and got "
            f"{describe(tangents)} for {describe(primals)}; write {what}"
            f"({'x_dot, ...' if what == 'push' else 'f, (x, ...), (x_dot, ...)'})"
        )
    leaves, treedef = flatten(primals)
    leaves = as_arrays(leaves) if tables else leaves
    ts: list[Any] = []
    for i, child in enumerate(treedef.children):
        x, t = primals[i], tangents[i]
        if child is LEAF and _fits(x, t):
            ts.append(t)
        else:
            given = flatten_tangent(child, canonicalize(x, t))
            ts += map(check_tangent_of, leaves[len(ts) :], given)
    return ts


def project_exactly(t: Any, of: Space, what: str = "tangent", *, beside: bool = True) -> Any:
    """Convert a tangent to the library, dtype and device of a space; its shape has to match.

    With ``beside``, a tangent of another library is not converted if that library accepts arrays of
    the space's library, as Dask accepts NumPy's.

    Raises
    ------
    ProjectionError
        If the shapes differ, or the tangent is complex and the space real, or the converted tangent
        is narrower than the space, or neither library accepts arrays of the other.
    """
    t = joining[1](t) if joining[0] else t
    if kind_of(t) == "other" or isinstance(t, type):
        raise ProjectionError(
            f"{describe(t)} is not a tangent of {of!r}: it holds no numbers of a floating type"
        )
    shape = getattr(t, "shape", ())
    if shape != of.shape:
        raise ProjectionError(
            f"a {what} of shape {shape} was given for {repr(of)[len('Space(') : -1]}: give one of "
            f"shape {of.shape}"
        )
    check_real(t, of)
    if of.dtype is not None and hasattr(t, "dtype"):
        t = _at_home(t, of, beside)
    try:
        # Also a member of an enumeration.
        found = project(float(t) if of.dtype is None and issubclass(type(t), int) else t, of)
    except (OverflowError, TypeError) as error:  # a number is too large, or of another library
        raise ProjectionError(
            f"{describe(t)} is not a tangent of {of!r}: {error}; give a number, or an array like it"
        ) from error
    if of.dtype is None or of.kind == "int":
        found = widened(found)
        return found + 0j if of.kind == "complex" and kind_of(found) == "real" else found
    if getattr(getattr(found, "dtype", of.dtype), "itemsize", 0) < getattr(of.dtype, "itemsize", 0):
        raise ProjectionError(
            f"{describe(found)} is not a tangent of {of!r}, which is wider; give an array like it"
        )
    return found


def _at_home(t: Any, of: Space, beside: bool) -> Any:
    """Convert a tangent to the library of its space, or keep it if ``beside`` allows that."""
    theirs, ours = type_info(type(t)), type_info(of.like)
    traced = theirs.namespace is None and theirs.host is not None  # by another engine
    if traced or theirs.namespace is ours.namespace:
        return t
    if _reads(ours, theirs):
        if not isinstance(t, Tracer):
            return namespace_of(of.like).asarray(t)
        return full_like(of.with_shape(()).zeros(), shape=(), fill=1) * t
    if (beside or theirs.is_hidden) and _reads(theirs, ours):
        return t
    whose, mine = (f"{c.__module__}.".partition(".")[0] for c in (theirs.dispatch_type, of.like))
    raise ProjectionError(
        f"{describe(t)} of {whose} is not a tangent of {of!r} of {mine}; give an array like it"
    )


def _reads(info: TypeInfo, other: TypeInfo) -> bool:
    """Return whether a library accepts another's arrays, and returns its own."""
    if info.base is None or other.namespace is None:
        return False
    reads = libraries[info.base].reads
    return any([type_info(cls).namespace is other.namespace for cls in reads])


def leaf_cotangents(treedef: TreeDef, y: Any, y_bar: Any) -> list[Any]:
    """Check the user's cotangent of a result, and list those of the result's leaves.

    Raises
    ------
    ProjectionError
        If it does not belong to the result. The cotangent of a gradient has the gradient's form.
    """
    if treedef is LEAF and _fits(y, y_bar):
        return [y_bar]
    if not _holds_tangents(treedef):
        return flatten_tangent(treedef, check_cotangent(y, y_bar))
    y_bar = unthunk(y_bar)
    like = treedef.like
    if not is_zero(y_bar) and isinstance(like, Tangent) and type(y_bar) is not type(like):
        raise ProjectionError(
            f"{describe(y_bar)} is not a cotangent of {describe(y)}, which has its own form"
        )
    pairs = zip(flatten(y)[0], flatten_tangent(treedef, y_bar), strict=True)
    return [t if is_zero(t) else check_cotangent(x, t) for x, t in pairs]


def _holds_tangents(treedef: TreeDef) -> bool:
    return isinstance(treedef.like, Tangent) or any(map(_holds_tangents, treedef.children))


def deliver(t: Any) -> Any:
    """Return a tangent in the form that users get, with all thunks computed.

    Raises
    ------
    NotDifferentiableError
        If it contains a `NotImplementedTangent`, with its reason.

    Examples
    --------
    >>> from chainrules_py.extend import Thunk
    >>> deliver(Tangent[tuple](Thunk(lambda: 2.0), 3.0))
    Tangent[tuple](2.0, 3.0)
    """
    t = unthunk(t)
    if issubclass(type(t), NotImplementedTangent):
        raise NotDifferentiableError(t.said)
    if not issubclass(type(t), Tangent):
        return t
    entries = {}
    for key, value in t._entries.items():
        try:
            entries[key] = deliver(value)
        except NotDifferentiableError as error:
            error.add_note(f"in entry {key!r} of a {type(t).__name__}")
            raise
    unchanged = all(entries[key] is value for key, value in t._entries.items())
    return t if unchanged else t._of(entries, t._length)


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Return an array that a user may keep and write to; copy it only if that is needed."""
    cls = type(x)
    if issubclass(cls, Tracer):
        return x.owned()
    info = type_info(cls)
    if info.library.own is not None:
        return info.library.own(x, theirs)
    if isinstance(x, Tangent):
        flat = tuple(flatten(theirs)[0])
        return map_fields(lambda field: own(field, flat), x)
    if info.is_array:
        copy = namespace(x).asarray(x, copy=True)
        return copy if type(copy) is cls else x  # a copy of another class would be another value
    return x


def ignore_derivatives(x: Any) -> Any:
    """Make a value constant, or return a function whose result is constant.

    Parameters
    ----------
    x : array, number, structure or callable
        For a callable, the result is a function with the same arguments whose result is constant;
        `ignore_derivatives` can be used as a decorator.

    Returns
    -------
    same as x
        A copy without tracers of any level, so that no derivative flows through it. A value that
        another engine traces, as in an exported function, is made constant by that engine.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> grad(lambda x: x * ignore_derivatives(x))(3.0)
    3.0
    """
    if callable(x) and not is_structure_type(type(x)) and not isinstance(x, Tracer):

        def constant(*operands: Any, **options: Any) -> Any:
            return ignore_derivatives(x(*operands, **options))

        return made(constant, x, ignore_derivatives)
    x = joining[1](x) if joining[0] else x
    for tracer in find_tracers(x):
        while isinstance(tracer, Tracer):
            tracer = tracer.ignored()
    return map_leaves(_constant, untraced(x))


def _constant(leaf: Any) -> Any:
    """Return a constant leaf with its own memory; raise if tracers hide inside it."""
    info = type_info(type(leaf))
    known = info.is_number or (info.is_array and not holds_objects(leaf))
    if not known and _hides(leaf):
        raise TracerError(
            f"{describe(leaf)} holds a value that is being differentiated, which cannot be taken "
            f"out of it; make that value constant, or what a function gives: ignore_derivatives(f)"
        )
    return own(leaf, (leaf,))


def _hides(x: Any, depth: int = 3) -> bool:
    """Return whether a value is a tracer or an iterator, or holds one within some levels."""
    further = depth > 0 and type(x) is not ModuleType
    found = isinstance(x, Tracer) or hasattr(type(x), "__next__")
    return found or (further and any([_hides(y, depth - 1) for y in directly(x)]))


def own_all(
    xs: Iterable[Any],
    ts: Sequence[Any],
    theirs: tuple[Any, ...],
    *,
    views: bool = False,
    dense: bool = True,
) -> list[Any]:
    """Give each leaf's tangent memory of its own, so that users may keep and write to it.

    With ``dense``, zero tangents become arrays of zeros, except of leaves that cannot be perturbed.
    With ``views``, writable tangents are known to be unshared and are not copied, even if they are
    views.
    """
    found: list[Any] = []
    many = len(ts) > 8  # comparing all pairs would take longer
    owners: Any = (
        {id(y if (of := type_info(type(y)).memory) is None else of.owner(y)) for y in theirs}
        if many
        else None
    )
    kind: Any = None
    dtype = zeros = made = kind
    for x, t in zip(xs, ts, strict=True):
        cls = type(t)
        if dense and t is ZERO:  # a program may have thousands of them
            if type(x) is not kind or (zeros and x.dtype is not dtype):
                kind, dtype = type(x), getattr(x, "dtype", None)
                zeros, made = _zeros_like(x)
            found.append(zeros(x.shape, dtype=made) if zeros else zero_tangent(x))
            continue
        info = type_info(cls)
        if info.library.own is not None:
            if many and info.memory is not None:
                owner = id(info.memory.owner(t))
                others: tuple[Any, ...] = (t,) if owner in owners else ()
                owners.add(owner)  # a copy has memory that nobody else has
            else:
                others = (*theirs, *found)
            if not (views and is_mutable_destination(t)):
                t = info.library.own(t, others)
            if not t.ndim and type_info(type(x)).is_number:
                t = as_scalar(t)
        elif not info.is_number:  # numbers are immutable
            t = deliver(t)
            if not is_zero(t):
                t = own(t, (*theirs, *found))
            elif dense or kind_of(x) not in ("real", "complex", "int"):
                t = zero_tangent(x)
        found.append(t)
    return found


def _zeros_like(x: Any) -> tuple[Callable[..., Any] | None, Any]:
    """Return a function that makes zeros, and a dtype, if class and dtype determine the rest."""
    of, info = space(x), type_info(type(x))
    plain = info.is_array and info.host is None and not issubclass(type(x), Tracer)
    if not plain or type(of) is not Space or of.device is not None:
        return None, None
    return namespace_of(of.like).zeros, of.tangent_dtype
