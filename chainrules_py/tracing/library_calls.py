"""Calls on tracers: how they can be made, and what traces them for which operand types.

A *call site* is one way of calling one primitive: `multiply` by the ``*`` operator, or by
``np.multiply``. For each combination of operand types it has a *step*, which traces such a call. A
library function with keywords, or with its own row, has one per names of keywords as well.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from chainrules_py.errors import NoRuleError, NotDifferentiableError
from chainrules_py.ops.engine_operations import shaping, with_memory
from chainrules_py.primitives.aliases.alias import Alias, Row, aliases
from chainrules_py.primitives.conversion_advice import Line, advised, advised_at, lost, told
from chainrules_py.primitives.method_table import Cache
from chainrules_py.primitives.plugins import BACKENDS, announced, not_loaded, see, see_libraries
from chainrules_py.primitives.primitive import Primitive, is_static
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.registry.call_normalization import scalar_at_home
from chainrules_py.registry.explain import public_name
from chainrules_py.registry.table import name_of
from chainrules_py.tangents.space import kind_of
from chainrules_py.tracing.foreign_arrays import beside, is_stranger, of_one_library
from chainrules_py.tracing.object_arrays import guarded, joined, may_hold
from chainrules_py.values.array_conversion import as_array, is_asked, is_read, is_table
from chainrules_py.values.caller_frames import caller
from chainrules_py.values.dispatch_types import Tracer, number_home
from chainrules_py.values.find_tracers import call_plain, find_tracers, untraced
from chainrules_py.values.memory import share_memory, undecided, viewers, writers
from chainrules_py.values.pytree import flatten, unflatten
from chainrules_py.values.type_info import type_info


def fresh(x: Any) -> Any:
    """Return a tracer after reading it again, if it is a view that was written to elsewhere."""
    read_again = getattr(type(x), "_read_again", None)
    if read_again is not None:
        read_again(x)
    return x


steps = Cache()
"""The function that traces a call, ``(*operands, **keywords)``: by library function, names of
keywords and operand types; by an operator's `Site` and operand types; a subscript by the class."""


Step: TypeAlias = Callable[..., Any]


class Site:
    """One way of calling one primitive.

    Attributes
    ----------
    primitive : Primitive
        The called primitive.
    primal : callable or None
        The function that the user called, if it is not the primitive: it computes the value.
    general : callable
        Traces a call on any operands (`Primitive.trace`).
    """

    __slots__ = ("general", "primal", "primitive")

    def __init__(
        self, primitive: Primitive[..., Any], primal: Callable[..., Any] | None = None
    ) -> None:
        self.primitive, self.primal = primitive, primal
        self.general = partial(primitive.trace, primal)

    def step(self, *operands: Any, key: Any = None) -> Callable[..., Any]:
        """Return and cache the function that traces calls on these types without options."""
        operands = tuple(map(fresh, operands))
        table = steps.open()
        classes = tuple(map(type, operands))
        tracers: list[Any] = [x for x in operands if isinstance(x, Tracer)]
        step = None
        if any(map(is_table, classes)):
            step = lambda *xs: self.general(*map(as_array, xs))
        elif self.primal is not None and any(map(is_read, classes)):
            step = lambda *xs: self.general(*joined(_with_arrays(xs, self.primal)))
        elif (
            self.primal is not None
            and number_home(self.primal)
            and all([type_info(cls).is_python_number for cls in classes])
        ):
            if len({getattr(type(t), "engine", None) for t in tracers}) == 1:
                home = number_home(self.primal)
                scalars = {kind: type(scalar_at_home(kind(1), home)) for kind in (float, complex)}
                step = type(tracers[0]).make_lifted(self, classes, scalars)
            step = step or self.lifted
        elif (between := beside(self.primal, classes, self.general)) is not None:
            step = between
        elif tracers and len(classes) == len(self.primitive.operands):
            step = type(tracers[0]).__step__(self.primitive, self.primal, classes)
            step = step and self.primitive.with_options(step)
        if step is None:
            step = self.general
        step = table[self if key is None else key, *classes] = guarded(step, self.primal, classes)
        return step

    def lifted(self, *operands: Any) -> Any:
        """Trace a library function on Python numbers, converted to the library's scalars."""
        home = number_home(self.primal)
        return self.general(*[scalar_at_home(x, home) for x in operands])


SEQUENCES = (list, tuple)


def _with_arrays(operands: Sequence[Any], primal: Any) -> tuple[Any, ...]:
    """Convert operands that are read as arrays to the library of a tracer or of the function."""
    tracers = [type_info(type(x)).dispatch_type for x in operands if isinstance(x, Tracer)]
    homes = [
        *[type_info(cls).home for cls in tracers],
        number_home(primal),
        *map(number_home, tracers),
    ]
    home = next((home for home in homes if home is not None), None)
    if home is None:
        return tuple(operands)
    return tuple([home.asarray(x) if is_read(type(x)) else x for x in operands])


_MEMBERS = (
    types.MethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,  # such as complex.real
    property,
)


def _site(f: Any, operation: Any, operands: tuple[Any, ...]) -> Site:
    # An outer level's tracer lacks the methods and properties of an array class: use the operation.
    # In Python they are functions of a class, as Array.copy, or private ones of a module, as _copy.
    name = f.__qualname__ if isinstance(f, types.FunctionType) else ""
    member = issubclass(type(f), _MEMBERS) or name[:1] == "_" or "." in name
    # NumPy would return its own array for another library's.
    read = number_home(f) is not None and any(map(is_stranger, map(type, operands)))
    return Site(operation, None if member or read else f)


def find_step(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Step:
    """Return the function that traces calls like this one of a library function; cache it."""
    classes, bare = tuple(map(type, operands)), hasattr(f, "nin") and not keywords
    (see_libraries if f in aliases else see)(f, classes)
    strange = any(map(is_stranger, classes))  # loads the packages for their libraries
    table, row = steps.open(), aliases.get(f)
    operation = getattr(row, "operation", None)
    if bare:
        if any(map(is_asked, classes)):
            return lambda *_: NotImplemented
        if isinstance(operation, Primitive) and not strange:
            return _site(f, operation, operands).step(*operands, key=f)
    home = None if getattr(operation, "reads_types", False) else number_home(f)
    plan = _find_own(f, row, _find_plan(f, row, home, operands, keywords))
    plan = of_one_library(f, operands, keywords, call_native, plan)
    table[f, *keywords, *classes] = plan
    return plan


def call_native(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a library function on tracers as operations."""
    try:
        step = steps.table[f, *keywords, *map(type, operands)]
    except KeyError:
        step = find_step(f, operands, keywords)
    return step(*operands, **keywords)


def _call_slowly(f: Any, row: Alias | None, home: Any, /, *operands: Any, **keywords: Any) -> Any:
    """Call a library function on tracers as operations, without a plan."""
    scalars = operands if home is None else _at_home(operands, home)
    if row is None:
        return _call_unknown(f, scalars, keywords)
    if scalars is not operands and row.operation in shaping:
        scalars = (with_memory(scalars[0]), *scalars[1:])
    elif scalars is not operands and any([type(x) in SEQUENCES for x in scalars]):
        return call_native(f, scalars, keywords)  # which reads lists beside the library's scalars
    call = row.call(scalars, keywords)
    xs, other = call.operands.values(), call.operation is not row.operation or call.after
    if other or getattr(row.operation, "options", True) or any([type(x) in SEQUENCES for x in xs]):
        return call()
    return _site(f, row.operation, operands).general(*xs)


def _find_own(f: Any, row: Alias | None, plan: Step) -> Step:
    """Make a plan return no views, if the function returns none though its operations may."""
    if f in undecided:
        return lambda *xs, **keywords: _asked(f, plan(*xs, **keywords), xs, keywords)
    if row is None or isinstance(row.operation, Primitive) or f in viewers:
        return plan
    return lambda *xs, **keywords: _unshared(
        plan(*xs, **keywords), xs, () if keywords.get("order") in ("C", "F") else xs
    )


def _unshared(result: Any, operands: tuple[Any, ...], composed: tuple[Any, ...] = ()) -> Any:
    """Return the result of a function whose arrays share no memory, whatever computed them.

    Nothing has to be copied for this: only the note that the result is a view is removed. What is
    composed of operations may be laid out in memory otherwise than what the library computes.
    """
    for x in find_tracers(result):
        forget: Any = getattr(x, "forget_view", None)
        if forget is not None and not any([x is y for y in operands]):
            forget(composed)
    return result


def _asked(f: Any, result: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the result of a function, marked as a view where the library returns a view."""
    if not undecided[f](operands, keywords):
        return _unshared(result, operands)
    leaves, layout = flatten((operands, keywords))
    plain = [untraced(leaf) if issubclass(type(leaf), Tracer) else leaf for leaf in leaves]
    xs, options = unflatten(layout, plain)
    given = [y for y in zip(leaves, plain, strict=True) if hasattr(y[0], "view_unclearly")]
    truth, (found, tree) = flatten(call_plain(f, xs, options))[0], flatten(result)

    def marked(x: Any, theirs: list[Any]) -> Any:
        for y, known in given:
            if len(theirs) == 1 and theirs[0] is known:  # the same array: astype(copy=False)
                return y
        owners = [y for y, known in given if any([share_memory(a, known) for a in theirs])]
        same = any([x is y for y, _ in given])
        if not owners:
            return x.copy() if same else _unshared(x, operands)
        if not same and hasattr(x, "view_unclearly"):
            x.view_unclearly(owners[0], f)
        return x

    each = [[a] for a in truth] if len(truth) == len(found) else [truth] * len(found)
    return unflatten(tree, list(map(marked, found, each)))


def _find_plan(
    f: Any, row: Any, home: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Return the plan of a library function on one engine's tracers, or the general one."""
    slow: Any = partial(_call_slowly, f, row, home)
    may = f not in writers and any(map(may_hold, map(type, (*operands, *keywords.values()))))
    if may:
        slow = _joining(slow, f)
    if any([is_table(type(x)) for x in operands]):
        return lambda *xs, **keywords: call_native(f, tuple(map(as_array, xs)), keywords)
    if row is not None and not isinstance(row.operation, Primitive):
        _refuse_foreign(f, operands)
    rows = None if row is None else row.rows(len(operands), tuple(keywords))
    if row is None or rows is None or (home is not None and any(_to_convert(operands))):
        return slow
    operation = row.operation
    if not isinstance(operation, Primitive):
        composite = _composing(row, rows)
        return slow if composite is None else _joining(composite, f) if may else composite
    if operation.variadic is not None:
        return _plan_of_sequence(row, rows) or slow
    named = {name: how for name, *how in rows}
    if not {*operation.operands} <= named.keys() <= {*operation.operands, *operation.options}:
        return slow
    taken = [named.pop(name) for name in operation.operands]
    if any([convert or type(place) is not int for place, _, convert in taken]):
        return slow
    places, stated = tuple([place for place, *_ in taken]), [(n, *how) for n, how in named.items()]
    xs = [operands[p] for p in places]
    classes = tuple(map(type, xs))
    if any(map(is_read, classes)):

        def of_arrays(*operands: Any, **keywords: Any) -> Any:
            made = dict(zip(places, _with_arrays([operands[p] for p in places], f), strict=True))
            return call_native(f, tuple([made.get(i, x) for i, x in enumerate(operands)]), keywords)

        return of_arrays
    tracers: list[Any] = [cls for cls in classes if issubclass(cls, Tracer)]
    primal = None if operation.options else _site(f, operation, operands).primal
    record = tracers[0].__step__(operation, primal, classes) if tracers else None
    if record is None:
        return slow
    defaults = operation.options
    if places == (*range(len(operands)),) and not stated:
        return partial(record, **defaults) if defaults else record
    return _renaming(operation, record, places, stated)


def _renaming(operation: Any, record: Any, places: Any, stated: Any) -> Any:
    """Return a plan that selects operands and options from a call."""
    defaults = operation.options
    alone = places == (0,)
    known: dict[Any, dict[str, Any]] = {}  # options, by the arguments they come from

    def plan(*operands: Any, **keywords: Any) -> Any:
        key: Any = None
        if alone:
            given = (*operands[1:], *keywords.values()) if keywords else operands[1:]
            kinds = (*map(type, given),)
            if _FLAT.issuperset(kinds):
                key = given, kinds  # with the types, as True equals 1 in a dict
            elif tuple in kinds:
                key = _key_of_tuples(given, kinds)
            found = known.get(key)
            if found is not None:
                return record(*operands[:1], **found)
        options = _options_of(stated, operands, keywords, defaults.copy())
        xs = operands[:1] if alone else tuple([operands[p] for p in places])
        if not is_static(*options.values()):
            return operation(*xs, **options)
        if key is not None:
            if len(known) >= _MOST:
                known.clear()
            known[key] = options
        return record(*xs, **options)

    return plan


def _composing(row: Alias, rows: list[Row]) -> Any:
    """Return a plan that calls a composite, or None if the call needs more than that."""
    operation, parameters = row.operation, parameters_of(row.operation)
    several = parameters.variadic or len({name for name, *_ in rows}) != len(rows)
    if row.hands_on or row.gather is not None or several:
        return None
    pairs = zip(parameters.positional, rows, strict=False)
    ahead = [*[a == b and type(place) is int for a, (b, place, *_) in pairs], False].index(False)
    first, rest = rows[:ahead], rows[ahead:]  # the rest are passed by name
    if not rest and not any(convert for *_, convert in first):
        return operation

    def plan(*operands: Any, **keywords: Any) -> Any:
        options = _options_of(rest, operands, keywords, {})
        xs = [
            x if convert is None or x is default else convert(x)
            for x, (_, _, default, convert) in zip(operands, first, strict=False)
        ]
        return operation(*xs, **options)

    return plan


def _options_of(
    stated: Any, operands: tuple[Any, ...], keywords: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Add the options of a call to those in ``options``."""
    for name, place, default, convert in stated:
        kind = type(place)
        if kind is int:
            value = operands[place]
        elif kind is str:
            value = keywords[place]
        else:
            value = _gathered(operands[place])
        if value is not default:
            options[name] = value if convert is None else convert(value)
    return options


_FLAT = {int, bool, type(None), str}
_MOST = 256
"""The number of option sets that a plan caches."""


def _key_of_tuples(given: tuple[Any, ...], kinds: tuple[type, ...]) -> Any:
    """Return a cache key for options that are numbers, names and tuples of them, or None."""
    among = tuple([type(x) for value in given if type(value) is tuple for x in value])
    flat = _FLAT.issuperset(among) and _FLAT.issuperset(
        [kind for kind in kinds if kind is not tuple]
    )
    return (given, kinds, among) if flat else None


def _gathered(rest: tuple[Any, ...]) -> Any:
    """Return values that are passed as several arguments, or as one sequence."""
    whole = len(rest) == 1 and (
        isinstance(rest[0], (type(None), tuple, list, range)) or getattr(rest[0], "ndim", 0) > 0
    )
    return rest[0] if whole else rest


def _joining(plan: Step, f: Any) -> Step:
    """Return a plan that first joins arrays of traced objects among the arguments."""

    def join(*operands: Any, **keywords: Any) -> Any:
        xs, given = joined(operands), joined((*keywords.values(),))
        if xs is operands and all(map(operator.is_, given, keywords.values())):
            return plan(*operands, **keywords)
        return call_native(f, xs, dict(zip(keywords, given, strict=True)))

    return join


def _plan_of_sequence(row: Alias, rows: list[Row]) -> Any:
    """Return the plan of an operation whose arrays come as one sequence, or None."""
    operation: Any = row.operation
    arrays = [how for name, *how in rows if name == operation.variadic]
    stated = [each for each in rows if each[0] in operation.options]
    if operation.operands or row.gather or len(arrays) != 1 or len(stated) != len(rows) - 1:
        return None
    ((place, _, arrays_of),) = arrays
    if arrays_of is None:
        return None
    joiners: dict[frozenset[type], Any] = {}  # by the types of the operands, in any order

    def plan(*operands: Any, **keywords: Any) -> Any:
        xs = operands[place] if type(place) is int else keywords[place]
        options = _options_of(stated, operands, keywords, {})
        if type(xs) in SEQUENCES:
            kinds = frozenset(map(type, xs))
            try:
                record = joiners[kinds]
            except KeyError:
                record = joiners[kinds] = _find_joiner(operation, kinds)
            made = None if record is None else record(*xs, **options)
            if made is not None:
                return made
        return operation(*joined(arrays_of(xs)), **options)

    return plan


def _find_joiner(operation: Any, kinds: frozenset[Any]) -> Callable[..., Any] | None:
    """Return what joins tracers of one class, also beside plain arrays, or None."""
    cls: Any = next((cls for cls in kinds if issubclass(cls, Tracer)), None)
    make: Any = getattr(cls, "make_join", None)
    return make(operation) if make is not None and kinds <= {cls, cls.payload_type} else None


def _refuse_foreign(f: Any, operands: tuple[Any, ...]) -> None:
    """Raise for arrays of a class with its own arithmetic: a composite would mix the two."""
    for x in operands:
        cls = type_info(type(x)).dispatch_type
        if type_info(cls).is_foreign:
            instead = type_info(cls).refusal or (
                f"convert it before, or register_array_type({cls.__qualname__}, "
                f"Library(namespace)) if its rules should count"
            )
            raise NoRuleError(
                f"no rule for {name_of(f)} with a {cls.__qualname__}, which computes otherwise "
                f"than {type_info(cls).base!r}; {instead}"
            )


_INSTEAD = {
    "at": "call it place by place, as in for i, y in zip(places, values): x[i] = np.{}(x[i], y)",
    "at of one": "call it place by place, as in for i in places: x[i] = np.{}(x[i])",
    "accumulate": "use np.stack(list(itertools.accumulate(x, np.{})))",
    "reduceat": "reduce the parts, as in np.stack([np.{}.reduce(x[i:j]) for i, j in places])",
}


def call_method(
    ufunc: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a ufunc's method by its own row; raise if it has none."""
    native = getattr(ufunc, method)
    if native not in aliases:
        see(ufunc, [type_info(type(x)).dispatch_type for x in operands])
    if native in aliases:
        return call_native(native, operands, keywords)
    key = "at of one" if method == "at" and ufunc.nin == 1 else method
    instead = _INSTEAD.get(key, "use functools.reduce(np.{}, x)").format(ufunc.__name__)
    text = f"np.{ufunc.__name__}.{method} of a traced value has no derivative here: {instead}"
    raise lost(operands, text, Line(caller()))


def _at_home(operands: tuple[Any, ...], home: Any) -> tuple[Any, ...]:
    """Convert traced Python numbers to the library's scalars, if no operand has a precision."""
    traced = _to_convert(operands)
    if not any(traced):
        return operands
    return tuple(
        [scalar_at_home(x, home) if t else x for x, t in zip(operands, traced, strict=True)]
    )


def _to_convert(operands: tuple[Any, ...]) -> list[bool]:
    """Return which operands `_at_home` converts."""
    infos = [(type_info(type(x)), x) for x in operands]
    sized = [
        info.is_array or (hasattr(x, "dtype") and kind_of(x) in ("real", "complex"))
        for info, x in infos
    ]
    own = not any(sized)
    return [own and info.is_python_number and isinstance(x, Tracer) for info, x in infos]


def to_import(f: Any, called: str, options: str = "") -> str | None:
    """Return what to write for a function of an engine that differentiates it itself, or None."""
    engine = dict(announced(BACKENDS)).get(public_name(f).partition(".")[0])
    of = f"functools.partial({called}{options})" if options else called
    made = f"{called.rpartition('.')[2]} = {engine}.import_rule({of})"
    return (
        f"write {made}, which has its own derivative"
        if hasattr(sys.modules.get(engine or ""), "import_rule")
        else None
    )


def _call_unknown(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    name, line = public_name(f), Line(caller())
    if (known := advised(f, line) or advised_at(line)) is not None:
        text = told(f"{name} takes plain values", line, known)
        raise lost((operands, keywords), text, line, NotDifferentiableError)
    called = str(line.called) if (line.called or "").replace(".", "").isidentifier() else name
    short = called.rpartition(".")[2]
    plain = [(k, line.option(k)) for k, x in keywords.items() if not find_tracers(x)]
    write = to_import(f, called, "".join([f", {k}={text}" for k, text in plain if text])) or (
        f"write {short} = primitive({called}), and its derivative in @rule({short})"
        if short.isidentifier()
        else "write vectorize(f)(x), of its function f in Python, after "
        "'from chainrules_numpy.composites.mapping import vectorize'"
    )
    fact = [f"{name} has no derivative that is known", *not_loaded({name.partition(".")[0]})]
    text = told("; ".join(fact), line, write)
    raise lost((operands, keywords), text, line, NotDifferentiableError)
