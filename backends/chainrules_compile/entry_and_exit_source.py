"""Source of the entry and exit of a program: unpacks and checks arguments, builds results."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from chainrules_compile.errors import MISS, RecordingError, Unfit
from chainrules_compile.guards import MOST_BYTES, PLAIN, equal
from chainrules_compile.parameter_names import gathered, parameters_of
from chainrules_compile.recorded_calls import Notes
from chainrules_compile.recorded_values import holds_noted
from chainrules_compile.recording_refusals import has_own, recordable
from chainrules_compile.scope import SMALL, Form, Scope, identifier, name_of_dtype
from chainrules_py import RuleError
from chainrules_py.extend import (
    LEAF,
    TreeDef,
    build,
    describe,
    equal_to_rounding,
    flatten,
    structure_of,
    type_info,
    unflatten,
)
from chainrules_py.program import Value

form_of = operator.attrgetter("__class__", "shape", "dtype", "flags.c_contiguous")
_MANY = 4
"""Minimum length of a list of arrays or integers that is checked in one expression."""


class Entry:
    """Arguments of one form: their number, their structure, and the assumptions about each.

    Attributes
    ----------
    parameters : list of str
        The names of the arguments.
    given : dict
        Static arguments by their names, without small arrays.
    contents : list of tuple
        Of each array that the function may write to: its name, itself, and its bytes.
    static : dict
        The texts of arguments that are static without being named in ``static=``.
    inputs : dict
        For each argument the inputs of the program that it contains.
    names : dict
        The names of the inputs of the program.
    lines : list of str
        The statements that unpack the arguments, or return `MISS` for arguments of another form.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        static: frozenset[int | str],
        opaque: frozenset[str],
        recorder: Notes,
        scope: Scope,
    ) -> None:
        self.parameters = parameters_of(f, len(args), tuple(keywords))
        self.facts: list[tuple[str, str]] = []
        self._scope = scope
        self._recorder, self._opaque = recorder, opaque
        self._heads: list[str] = []
        self._checks: list[str] = []
        self._last: list[str] = []  # checks that call functions of the arguments
        self._forms: dict[str, tuple[str, Form]] = {}
        self._same: dict[str, list[str]] = {}
        self.names: dict[Value, str] = {}
        for name in self.parameters:
            scope[name] = None  # so that no constant takes the name
        self._places = len(args)
        self.given: dict[str, Any] = {}
        self.contents: list[tuple[str, np.ndarray, bytes]] = []
        self.static: dict[str, str] = {}
        self.inputs: dict[str, list[Value]] = {}
        self._copies: dict[int, tuple[Any, str]] = {}
        self._paths: dict[int, list[str]] = {}  # of a container that occurs several times, in order
        self._gathered = ""
        self._named = dict(zip(keywords, self.parameters[len(args) :], strict=True))
        self._keys = tuple(keywords)
        if taken := gathered(f, self._named):
            self._gathered = self._unused("keywords")
            self._checks.append(
                f"{self._scope.named(tuple)}({self._gathered}) != {scope.name(taken, 'keys')}"
            )
            for key in taken:
                self._before(self._named.pop(key), f"{self._gathered}[{key!r}]")
        entered, known = [], [*self.parameters[: len(args)], *keywords]
        given = zip(self.parameters, known, (*args, *keywords.values()), strict=True)
        for place, (name, called, x) in enumerate(given):
            self._argument = called
            fixed = called in static or (place in static and place < len(args))
            entered.append(self._static(x, name, True) if fixed else self._enter(x, name))
        self.args = tuple(entered[: len(args)])
        self.keywords = dict(zip(keywords, entered[len(args) :], strict=True))
        self._copies.clear()  # which would stay alive
        self._entered = flatten((self.args, self.keywords))

    def written(self) -> list[str]:
        """Return ``["an argument"]`` if the function changed a container among its arguments."""
        leaves, tree = flatten((self.args, self.keywords))
        before, as_it_was = self._entered
        return (
            [] if tree == as_it_was and all(map(operator.is_, leaves, before)) else ["an argument"]
        )

    def forget(self) -> None:
        """Drop the values that were passed to the function."""
        self.args, self.keywords, self._entered = (), {}, ([], LEAF)

    @property
    def signature(self) -> list[str]:
        """The parameters of the program, as source."""
        positional, named = self.parameters[: self._places], self._named.values()
        rest = [f"**{self._gathered}"] if self._gathered else []
        by_name = ["*", *named, *rest] if named else rest
        return [*positional, *(["/"] if positional else []), *by_name]

    @property
    def lines(self) -> list[str]:
        """The statements at the beginning of the program."""
        return [*self._heads, *self._test(self._at_once(), "\n        or ")]

    def _test(self, checks: list[str], separator: str) -> list[str]:
        """Return the statement that returns `MISS` if a check is true; none without checks."""
        if not checks:
            return []
        miss, joined = self._scope.name(MISS, "MISS"), separator.join(checks)
        condition = joined if "\n" not in joined else f"(\n        {joined}\n    )"
        return [f"if {condition}:\n        return {miss}"]

    def _is_not(self, name: str, cls: type) -> str:
        """Return a test that a value has another class."""
        return f"{self._scope.named(type)}({name}) is not {self._scope.named(cls)}"

    def _unused(self, name: str) -> str:
        name = self._scope.unused(identifier(name))
        self._scope[name] = None
        return name

    def _enter(self, x: Any, path: str) -> Any:
        leaves, tree = flatten(x)
        if tree is LEAF:
            return self._leaf(x, path)
        entered = iter(self._fields(tree, x, path))
        arrays = [  # which NumPy can make writeable again, the owner of the memory first
            y
            for kind in (type(None), np.ndarray)
            for y in leaves
            if type(y) is np.ndarray and type(y.base) is kind and y.flags.writeable
        ]
        try:
            for y in arrays:  # a constructor that runs again must not write into the caller's array
                y.flags.writeable = False
            return self._copy(tree, x, iter([next(entered) for _ in leaves]))
        finally:
            for y in arrays:
                y.flags.writeable = True

    def _copy(self, tree: TreeDef, x: Any, leaves: Iterator[Any]) -> Any:
        """Return a container with other leaves; the same copy for the same container."""
        if tree.structure is None:
            return next(leaves)
        fields = dict(tree.structure.items(x))
        pairs = zip(tree.children, fields.values(), strict=True)
        made = build(tree, [self._copy(child, field, leaves) for child, field in pairs])
        copied, path = getattr(made, "__dict__", {}), (self._paths.get(id(x)) or [""]).pop(0)
        of_fields = tree.structure.kind == "fields" and not tree.structure.hollow
        anew = []
        held = getattr(x, "__dict__", {}).items() if path else ()
        for key, value in [pair for pair in held if pair[0] not in fields]:
            is_field = any([value is field for field in fields.values()])
            # A cached property that is a field is computed again.
            if copied.get(key, MISS if is_field else value) is value:
                name = self._unused(f"{path}_{key}")
                self._before(name, f"{path}.__dict__.get({key!r})")
                self._static(value, name)
            elif isinstance(value, types.MethodType) and value.__self__ is x:
                cls, f = map(self._scope.name, (type(value), value.__func__), ("MethodType", key))
                self._checks.append(f"{path}.__dict__.get({key!r}) != {cls}({f}, {path})")
            elif of_fields or (holds_noted(copied.get(key)) and not is_field):
                anew.append(key)
        if anew:  # the program computes them from the fields, and objects may hold other values
            self._last.append(
                f"not {self._scope.name(as_constructed, 'as_constructed')}({path}, {anew!r})"
            )
        first, its_path = self._copies.setdefault(id(x), (made, path))
        if path and its_path not in ("", path):  # its fields are those of one object, not of two
            self._checks.append(f"{path} is not {its_path}")
        return first

    def _fields(self, tree: TreeDef, x: Any, path: str) -> list[Any]:
        cls = type(x)
        self._paths.setdefault(id(x), []).append(path)
        self.given[f"type({path})"] = cls
        self._checks.append(self._is_not(path, cls))
        if cls in (list, tuple):
            self._checks.append(f"{self._scope.named(len)}({path}) != {len(x)}")
            if len(x) > 1 and all([type(y) is float for y in x]):
                return self._floats(x, path)
            if len(x) >= _MANY and of_one_form(x):
                return self._arrays(x, path)
            if len(x) >= _MANY and all([type(y) is int for y in x]):
                return self._whole_numbers(x, path)
        elif isinstance(x, dict):
            self._checks.append(
                f"{self._scope.named(tuple)}({path}) != {self._scope.name(tuple(x), 'keys')}"
            )
        assert tree.structure is not None
        kind, items = tree.structure.kind, tree.structure.items
        found = []
        if not isinstance(x, (list, tuple, dict)) and kind != "fields":
            # Not all entries may be there: a tangent leaves out what is zero.
            self._checks.append(
                f"[key for key, _ in {self._scope.name(items, 'fields_of', ('fields', cls))}"
                f"({path})] != {self._scope.name([key for key, _ in items(x)], 'keys')}"
            )
        for i, ((key, field), child) in enumerate(zip(items(x), tree.children, strict=True)):
            if cls in (list, tuple) or kind == "namedtuple":
                where = f"{path}[{i}]"
            elif cls is dict:
                plain = type(key) in (str, int)
                where = f"{path}[{repr(key) if plain else self._scope.name(key, 'key')}]"
            elif kind == "fields":
                where = f"{path}.{key}"
            else:
                where = f"{self._scope.name(items, 'fields_of', ('fields', cls))}({path})[{i}][1]"
            name = self._unused(f"{path}_{key}")
            self._before(name, where)
            if child.num_leaves == 1 and child is LEAF:
                found.append(self._leaf(field, name))
            else:
                found += self._fields(child, field, name)
        return found

    def _floats(self, x: Any, path: str) -> list[Any]:
        """Unpack and check a list of floats at once."""
        text = self._others_than(float, x, path)
        self._checks.append(text)
        self._forms[text] = path, Form(float, (len(x),), None)
        names = [self._unused(f"{path}_{i}") for i in range(len(x))]
        self._before(", ".join(names), path)
        return [self._input(y, name) for y, name in zip(x, names, strict=True)]

    def _arrays(self, x: Any, path: str) -> list[Any]:
        """Unpack and check a list of arrays of one form at once."""
        names = [self._unused(f"{path}_{i}") for i in range(len(x))]
        self._before(", ".join(names), path)
        n = len(self._checks)
        found = [self._leaf(y, name) for y, name in zip(x, names, strict=True)]
        dtype = self._scope.name(x[0].dtype, x[0].dtype.name, ("dtype", x[0].dtype))
        of, each = self._scope.name(form_of, "form"), self._scope.named(map)
        form = f"({self._scope.named(np.ndarray)}, {x[0].shape}, {dtype}, True)"
        self._same[f"[*{each}({of}, {path})].count({form}) != {len(x)}"] = self._checks[n:]
        return found

    def _whole_numbers(self, x: Any, path: str) -> list[Any]:
        """Check a list of integers, which are static, at once."""
        self._checks += [
            self._others_than(int, x, path),
            f"{path} != {self._scope.name(x[:], f'known_{path}', (type(x), *x))}",
        ]
        self.facts.append((path, _shown(x)))
        self.static[path] = _shown(x)
        return [*x]

    def _others_than(self, cls: type, x: Any, path: str) -> str:
        """Return a test that a list contains a value of another class."""
        each = f"{self._scope.named(map)}({self._scope.named(type)}, {path})"
        return f"[*{each}].count({self._scope.named(cls)}) != {len(x)}"

    def _before(self, name: str, where: str) -> None:
        """Assign a field to a name, after the checks so far."""
        now = [check for check in self._checks if check not in self._forms]
        self._checks = [check for check in self._checks if check in self._forms]
        self._heads += [*self._test(now, " or "), f"{name} = {where}"]

    def _leaf(self, x: Any, name: str) -> Any:
        cls = type(x)
        if hasattr(cls, "__next__"):
            raise RecordingError(
                f"{name} is a {cls.__name__}, of which a program would see what was left when it "
                f"was recorded; pass a list of what it gives, or an array"
            )
        if isinstance(x, (np.ndarray, np.void)) and (
            x.dtype.names is not None
            or (x.dtype.hasobject and not all([isinstance(y, str | bytes | None) for y in x.flat]))
        ):
            raise Unfit(
                f"{name} is a structured array, whose fields no program computes with; pass each"
                if x.dtype.names is not None
                else f"{name} is an array of objects, of which no program knows the classes; pass "
                f"a list, as list({name})",
                once=True,
                tell=True,
            )
        if (
            not recordable(cls)
            or issubclass(cls, np.bool_ | np.integer | np.character)
            or has_own(x)
        ):
            if name not in self._opaque or isinstance(x, PLAIN):
                return self._static(x, name)
            self._checks.append(self._is_not(name, cls))
            self.facts.append((name, f"any {cls.__qualname__}"))
            noted = self._recorder.opaque(x, name)
            self.names[noted.current] = name
            return noted
        if type_info(cls).is_array and not isinstance(x, np.ndarray):
            raise Unfit(
                f"{name} is an array of {cls.__module__.partition('.')[0]}, and programs compute "
                f"with NumPy's; where that is meant, call or export the function itself",
                once=True,
                tell=True,
            )
        if type_info(cls).is_array:
            if type_info(cls).library.namespace is None:
                raise Unfit(
                    f"{name} is a {cls.__name__}, a class of arrays of which no library says how "
                    f"it computes; where its plain numbers are meant, pass np.asarray({name})",
                    once=True,
                    tell=True,
                )
            self._array(x, name)
        else:
            self._checks.append(self._is_not(name, cls))
        return self._input(x, name)

    def _array(self, x: Any, name: str) -> None:
        """Add checks of the class and form of an array."""
        dtype = self._scope.name(x.dtype, name_of_dtype(x.dtype), ("dtype", x.dtype))
        texts = [
            self._is_not(name, type(x)),
            f"{name}.shape != {x.shape} or {name}.dtype != {dtype}",
        ]
        strides = None if x.flags.c_contiguous else x.strides
        if strides is not None:
            texts.append(f"{name}.strides != {strides}")
        elif x.ndim:
            texts.append(f"not {name}.flags.c_contiguous")
        text = "\n        or ".join(texts)
        self._checks.append(text)
        if type(x) is np.ndarray:
            self._forms[text] = name, Form(x.dtype, x.shape, strides)
            if x.nbytes <= MOST_BYTES and x.flags.writeable and not x.dtype.hasobject:
                self.contents.append((name, x, x.tobytes()))

    def _at_once(self) -> list[str]:
        """Return the final checks; the writer may combine those of arrays into one."""
        make, forms = self._scope.fits, self._forms
        arrays = [forms[check] for check in self._checks if check in forms]
        if make is None or not arrays:
            of = {text: line for line, texts in self._same.items() for text in texts}
            return [*dict.fromkeys([of.get(check, check) for check in self._checks]), *self._last]
        fits = self._scope.name(make([form for _, form in arrays]), "fits")
        others = [check for check in self._checks if check not in forms]
        return [*others, f"not {fits}({', '.join([name for name, _ in arrays])})", *self._last]

    def _input(self, x: Any, name: str) -> Any:
        plain_one = type(x) is np.ndarray
        fact = _picture(Form(x.dtype, x.shape, None)) if plain_one else describe(x)
        self.facts.append((name, fact))
        noted = self._recorder.input(x, name)
        self.names[noted.current] = name
        self.inputs.setdefault(self._argument, []).append(noted.current)
        return noted

    def _static(self, x: Any, name: str, named: bool = False) -> Any:
        cls = type(x)
        if x is None or x is True or x is False or x is ...:
            self._checks.append(f"{name} is not {x!r}")
        elif cls in (int, str):
            self._checks.append(f"{self._is_not(name, cls)} or {name} != {x!r}")
        elif cls is np.ndarray and x.size <= SMALL and not x.dtype.hasobject:
            self._array(x, name)
            self._checks.append(f"{name}.tobytes() != {x.tobytes()!r}")
        else:
            self.given[name] = x
            arrays = cls is np.ndarray or (cls is tuple and {*map(type, x)} == {np.ndarray})
            own, same = self._scope.name(x, f"static_{name}"), alike if arrays else equal
            told = self._scope.named(same)
            self._checks.append(f"{name} is not {own} and not {told}({name}, {own})")
        self.facts.append((name, _shown(x)))
        if not named:
            self.static[name] = _shown(x)
        return x


def as_constructed(x: Any, keys: list[str]) -> bool:
    """Return whether attributes have the values that the constructor computes from the fields."""
    structure: Any = structure_of(type(x))
    if structure.kind == "fields":
        made = copy.copy(x)
        (getattr(made, "__attrs_post_init__", None) or made.__post_init__)()
    else:
        made = structure.rebuild(x, [y for _, y in structure.items(x)])
    (ys, tree), (known, of) = [flatten([vars(z).get(key) for key in keys]) for z in (made, x)]
    return tree == of and all(map(_reproduced, ys, known))


def _reproduced(y: Any, known: Any) -> bool:
    """Return whether values are equal; numbers to rounding, as a tape compares them."""
    same = form_of(np.asarray(y))[1:3] == form_of(np.asarray(known))[1:3]
    is_number = isinstance(known, (np.ndarray, np.inexact, float, complex))
    with np.errstate(invalid="ignore"):  # of infinities
        return (equal_to_rounding if same and is_number else equal)(y, known)


def alike(x: Any, y: Any) -> bool:
    """Return whether two arrays, or tuples of them, have one form and the same elements."""
    if type(x) is tuple is type(y):
        return len(x) == len(y) and all(map(alike, x, y))
    return type(x) is type(y) and form_of(x) == form_of(y) and np.array_equal(x, y)


def _shown(x: Any) -> str:
    """Return a `repr`, shortened in the middle."""
    text = repr(x)
    return text if len(text) <= 40 else f"{text[:18]}...{text[-19:]}"


def of_one_form(xs: Sequence[Any]) -> bool:
    """Return whether all values are plain C-ordered arrays with the same shape and dtype."""
    plain = all([type(x) is np.ndarray for x in xs])
    return plain and len(forms := {*map(form_of, xs)}) == 1 and forms.pop()[-1]


def checked_static(f: Any, static: Any) -> tuple[int | str, ...]:
    """Check ``static=`` against the parameters of a function; return it as a tuple.

    Raises
    ------
    RuleError
        If `f` is not callable, or `static` contains neither indices nor names.
    TypeError
        If `f` has no such parameter.
    """
    if not callable(f):
        raise RuleError(
            f"{describe(f)} cannot be called, so there is nothing to compile; give a function"
        )
    listed = not isinstance(static, (int, str, bytes)) and isinstance(static, Iterable)
    found: tuple[Any, ...] = tuple(cast("Any", static)) if listed else (static,)
    for name in found:
        if isinstance(name, bool) or not isinstance(name, (int, str)):
            raise RuleError(
                f"static= names arguments by place or name, and {describe(name)} is neither; write "
                f"static=1, static='n', or a tuple of such"
            )
    try:
        parameters = inspect.signature(f).parameters if found else {}
    except (TypeError, ValueError):
        return found
    kinds = [p.kind for p in parameters.values()]
    for name in found:
        known = (
            name in parameters or inspect.Parameter.VAR_KEYWORD in kinds
            if isinstance(name, str)
            else name >= 0 and (name < len(kinds) or inspect.Parameter.VAR_POSITIONAL in kinds)
        )
        if not known:
            raise TypeError(
                f"static= names {name!r}, and the arguments are {', '.join(parameters)}"
            )
    return found


_picture = functools.lru_cache(maxsize=1024)(describe)
"""Return the description of an array form, cached: a dtype's name takes NumPy 5 us."""


def is_named(tree: TreeDef) -> bool:
    """Return whether a result is a named tuple without further attributes."""
    return (
        tree.structure is not None
        and tree.structure.kind == "namedtuple"
        and not getattr(tree.like, "__dict__", None)
    )


def result_text(tree: TreeDef, rest: Iterator[str], scope: Scope) -> str:
    """Return the expression of a result, or of a part of it; its leaves are next in `rest`."""
    if tree is LEAF:
        return next(rest)
    plain = tree.cls is dict and all([type(key) in (str, int) for key in tree.keys])
    named = is_named(tree)
    if not (named or plain or tree.cls in (tuple, list)):
        return _whole(tree, rest, scope)
    children = [result_text(child, rest, scope) for child in tree.children]
    if named:
        return f"{scope.named(tree.cls)}._make(({', '.join([*children, ''])}))"
    if tree.cls is tuple:
        return f"({', '.join(children)}{',' * (len(children) == 1)})"
    if tree.cls is list:
        return f"[{', '.join(children)}]"
    pairs = zip(tree.keys, children, strict=True)
    return f"{{{', '.join([f'{key!r}: {child}' for key, child in pairs])}}}"


def _whole(tree: TreeDef, rest: Iterator[str], scope: Scope) -> str:
    if tree.structure is None:
        return scope.name(tree.like, "kept")
    make, name = map(scope.name, (unflatten, tree), ("unflatten", tree.cls.__name__.lower()))
    return f"{make}({name}, [{', '.join([next(rest) for _ in range(tree.num_leaves)])}])"
