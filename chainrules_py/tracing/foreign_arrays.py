"""Arrays of other libraries next to differentiated ones, read as NumPy reads them.

NumPy, a library with scalars of its own, dispatches to arrays that define ``__array_ufunc__``. Of
other arrays, its functions read the values, and its operators defer to the other library. This
module does the same: an array that is differentiated in NumPy stays there, or an operation moves
it to the other library, and its derivative moves back.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from chainrules_py.errors import TracerError, describe
from chainrules_py.ops.engine_operations import duplicate
from chainrules_py.primitives.plugins import module_of, see
from chainrules_py.primitives.primitive import primitive
from chainrules_py.registry.constructors import linear_rule
from chainrules_py.values.caches import forgets, is_lasting, on_registration
from chainrules_py.values.dispatch_types import Tracer, called_beside, number_home
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.memory import wrapping
from chainrules_py.values.type_info import libraries, type_info

Call: TypeAlias = Callable[..., Any]


@primitive
def moved(x: Any, /, *, to: Any) -> Any:
    """Convert an array to the library of a namespace, or to a Python number for None."""
    if to is None:
        return x.item()
    try:
        made = to.asarray(x if number_home(type(x)) is None else duplicate(x))
    except RuntimeError as error:
        if "requires grad" not in str(error):
            raise
        raise TracerError(
            f"{describe(x)}, which PyTorch differentiates as well, would become a plain array; "
            f"write f = chainrules_torch.import_rule(f) for the function of PyTorch"
        ) from error
    return made[()] if made.ndim == 0 and number_home(type(made)) is not None else made


linear_rule(
    moved, lambda y_bar, x, *, to: moved(y_bar, to=type_info(x.like).namespace), batched=True
)

suspects: set[type] = {list, tuple}
"""Classes of arrays that NumPy only reads, and of containers that may hold one."""
FEW = len(suspects)


def _suspect() -> None:
    """Add the registered classes of arrays that NumPy only reads to `suspects`."""
    for cls, stated in list(libraries.items()):
        theirs = stated.namespace is not None and number_home(cls) is None
        if theirs and issubclass(cls, stated.kind) and not hasattr(cls, "__array_ufunc__"):
            suspects.add(cls)


on_registration(_suspect)
_suspect()


def _is_stranger(cls: type) -> bool:
    """Return whether NumPy only reads instances: arrays without ``__array_ufunc__``."""
    see(None, (cls,))
    info = type_info(cls)
    found = info.home is not None and not hasattr(info.dispatch_type, "__array_ufunc__")
    if found and is_lasting(cls):
        suspects.add(cls)
    return found


def _home_of(cls: type) -> Any:
    """Return the library with scalars whose arrays or scalars a tracer class traces."""
    return number_home(type_info(cls).dispatch_type) if issubclass(cls, Tracer) else None


is_stranger: Any = functools.cache(_is_stranger)
_home: Any = functools.cache(_home_of)
forgets(lambda: (is_stranger, _home))


def _home_in(x: Any) -> Any:
    """Return the home of a traced value, or of the first one in a list."""
    if type(x) in (list, tuple):
        return next((home for home in map(_home_in, x) if home is not None), None)
    return _home(type(x))


def read_at(home: Any, x: Any) -> Any:
    """Convert another library's array, or those in a list, to arrays of a library.

    An array that another engine differentiates is returned unchanged, for that engine to handle.
    """
    cls = type(x)
    if cls in (list, tuple):
        read = [read_at(home, part) for part in x]
        return cls(read) if any([a is not b for a, b in zip(x, read, strict=True)]) else x
    if home is None or not is_stranger(cls):
        return x
    plain, varies = untraced(x), type_info(type(untraced(x))).varies
    if varies is not None and varies(plain):
        return x
    return moved(x, to=home) if issubclass(cls, Tracer) else home.asarray(x)


def all_read(operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the arguments of a call, converted to the home of its traced values."""
    home = _home_in((*operands, *keywords.values()))
    given = {name: read_at(home, x) for name, x in keywords.items()}
    same = all([given[name] is x for name, x in keywords.items()])
    return read_at(home, operands), keywords if same else given


def read_for(x: Any, value: Any) -> Any:
    """Convert a value that is written into a tracer, or indexes it, to the tracer's library."""
    return read_at(_home(type(x)), value)


def moved_beside(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Move traced arrays among operands to the library of a foreign operand, if there is one."""
    to = next((type_info(type(x)).namespace for x in xs if is_stranger(type(x))), None)
    ours = [_home(type(x)) is not None for x in xs]
    if to is None or not any(ours):
        return xs
    return tuple([_given(x, to) if mine else x for x, mine in zip(xs, ours, strict=True)])


def _given(x: Any, to: Any) -> Any:
    """Move a traced array to another library, and convert a scalar to a Python number."""
    return moved(x, to=to if type_info(type(x)).is_array else None)


def asks_first(x: Any, value: Any) -> bool:
    """Return whether NumPy leaves operators, also in-place ones, to the class of a value."""
    ours, theirs = (type_info(type(y)).dispatch_type for y in (x, value))
    return hasattr(theirs, _ASKS) and is_stranger(type(value)) and number_home(ours) is not None


def leaves_to_array(*xs: Any) -> bool:
    """Return whether operands include a traced array and an array of another library."""
    traced = [_home(type(x)) is not None and type_info(type(x)).is_array for x in xs]
    return any(traced) and any([is_stranger(type(x)) for x in xs])


_ASKS = "__array_priority__"


def of_one_library(
    f: Any, operands: tuple[Any, ...], keywords: Any, again: Callable[..., Any], plan: Call
) -> Call:
    """Return a function that makes calls like this one, which may have foreign arrays.

    Parameters
    ----------
    f : callable
        The called function.
    operands, keywords
        Its arguments: plans are stored by the types of operands and the names of keywords.
    again, plan : callable
        ``again(f, operands, keywords)`` makes the call with converted arguments, and
        ``plan(*operands, **keywords)`` makes it with unchanged ones.
    """
    theirs = [cls for cls in map(type, operands) if is_stranger(cls)]
    asks_back = hasattr(f, "nin") or f in wrapping
    # For NumPy's other functions, lists and keywords were already checked.
    held = keywords and (asks_back or hasattr(f, "__objclass__"))
    if not theirs and not (held and len(suspects) > FEW):
        return plan
    library = module_of(f).partition(".")[0]
    if any([type_info(cls).dispatch_type.__module__.startswith(library) for cls in theirs]):
        return plan

    def call(*operands: Any, **keywords: Any) -> Any:
        xs, given = operands, keywords
        if theirs or not suspects.isdisjoint(map(type, (*operands, *keywords.values()))):
            xs, given = all_read(operands, keywords)
        if xs is operands and given is keywords:
            return plan(*operands, **keywords)
        y = called_beside(_home_in((*operands, *keywords.values())), again, f, xs, given)
        to = _wrapping_in((*operands, *keywords.values())) if asks_back else None
        return y if to is None else moved(y, to=to)

    return call


def _wrapping_in(xs: tuple[Any, ...]) -> Any:
    """Return the namespace of the first foreign operand whose class has ``__array_wrap__``."""
    infos = [type_info(type(x)) for x in xs if is_stranger(type(x))]
    return next((i.namespace for i in infos if hasattr(i.dispatch_type, "__array_wrap__")), None)


def beside(operation: Any, classes: tuple[type, ...], general: Any) -> Any:
    """Return a function that computes an operator between a traced array and a foreign one.

    Return None for other operands. As in NumPy, the class with ``__array_priority__`` takes
    precedence, and otherwise the first operand does.
    """
    if len(classes) != 2 or not any(map(is_stranger, classes)):
        return None
    first = 0 if is_stranger(classes[1]) else 1
    home, cls = _home(classes[first]), classes[1 - first]
    theirs, ours = type_info(cls), type_info(classes[first])
    if home is None:
        return None
    payload, to = theirs.dispatch_type, theirs.namespace
    wraps, asks = hasattr(payload, "__array_wrap__"), hasattr(payload, _ASKS)

    def as_read(*xs: Any) -> Any:
        read = read_at(home, xs)
        return general(*xs) if read is xs else operation(*read)

    def as_theirs(*xs: Any) -> Any:
        given = [_given(x, to) if i == first else x for i, x in enumerate(xs)]
        return general(*xs) if read_at(home, xs) is xs else general(*given)

    if wraps and ours.is_array:
        if operation is operator.truediv and not first:  # as PyTorch divides
            return lambda x, t: x * (1.0 / t)
        return lambda *xs: moved(as_read(*xs), to=to)
    if wraps or asks:
        return as_theirs
    return _refused if first else as_read


def _refused(theirs: Any, x: Any) -> NoReturn:
    raise TracerError(
        f"{describe(theirs)} of {type(theirs).__module__.partition('.')[0]} stands before "
        f"{describe(x)} of NumPy, which is being differentiated, and takes it for an array of its "
        f"own; write np.asarray of it"
    )
