"""What to write instead of a call that converts traced values to plain ones.

Such a call is not traced: a tracer is only requested to give a plain value, and raises. The called
function is read from the line of the program, only for the text of the error.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import inspect
import itertools
import linecache
import re
import sys
import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from chainrules_py.errors import ChainRulesError, NotDifferentiableError, TracerError, describe
from chainrules_py.primitives.plugins import BACKENDS, announced, see_about, see_all, see_roots
from chainrules_py.values.caller_frames import caller, is_of_library, program_frame, root_module
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import find_tracers, untraced
from chainrules_py.values.type_info import type_info

Advice = str | Callable[["Line"], str | None]
_advice: dict[Any, Advice] = {}  # by the code of a function, or by a C function
remedies: list[Callable[[Line, BaseException | None, bool], str | None]] = []
"""``remedy(line, error, last)`` returns what to write for an expression, such as a list.

The error is that of a library, or None if a tracer raises. ``last`` is set if no advice is known.
"""
gives: dict[Any, type] = {}
"""The classes of the results of functions, for advice about their methods."""
notes: dict[int, Any] = {}
"""The differentiations of functions that are under way, by their level, in all threads."""
_LONGEST = 72  # characters of an expression that a message shows
_NAMED = ast.Name, ast.Attribute, ast.Subscript
_CONSTANT = ("ignore_derivatives", "len", "shape", "ndim", "size", "itemsize", "nbytes")
_STORED = r"\s*(?:[-+*/@%&|^]|//|\*\*|<<|>>)?=(?!=)(.*)"


def advise(function: Callable[..., Any], line: Advice) -> None:
    """State what to write instead of a function that takes no tracers.

    Parameters
    ----------
    function : callable
        The library's function or method.
    line : str or callable
        What to write. ``{0}`` and ``{1}`` stand for the arguments as in the program, ``{x}`` for
        the traced one, and ``{all}`` for all of them. A callable takes the `Line` of the program
        and returns this text, or None.

    Examples
    --------
    >>> import numpy as np
    >>> def total(x):
    ...     return np.asarray(x).sum()
    >>> advise(total, "use np.sum({0})")
    """
    called = vars(function).get("__call__", function) if isinstance(function, type) else function
    _advice[code_of(called) or function] = line


def code_of(function: Any) -> types.CodeType | None:
    """Return the code of a function, below its wrappers, or None."""
    return getattr(inspect.unwrap(function), "__code__", None)


# ------------------------------------------------------------------------- the line of the program


class Line:
    """The line of a program on which something was called, for messages.

    Parameters
    ----------
    frame : frame
        The frame of the program, or of a library function that it called.
    at : int, optional
        The position in the code of the frame, if the frame has continued since.
    library : sequence of frame
        The frames of libraries that it called.

    Attributes
    ----------
    at : int
        The position in the code of the program's frame.
    inner : list of frame
        The frames that it called, outermost first.
    library : list of frame
        Those of the library whose frame is the first one.
    """

    def __init__(self, frame: Any, at: int | None = None, library: Sequence[Any] = ()) -> None:
        self.frame, self.at, inner = program_frame(frame, at, _known())
        self.inner = [*inner, *library]
        self.library = [f for f in self.inner if root_module(f) == root_module(self.inner[0])]

    @classmethod
    def of(cls, error: BaseException) -> Line | None:
        """Return the innermost line of the program that an error came through, or None."""
        calls = [(t.tb_frame, t.tb_lasti) for t in tracebacks_of(error)]
        for place in reversed(range(len(calls))):
            if not is_of_library(calls[place][0]):
                return cls(*calls[place], [frame for frame, _ in calls[place + 1 :]])
        return None

    @property
    def place(self) -> tuple[str, int]:
        """The file and the line."""
        return self.frame.f_code.co_filename, self._position[0] or self.frame.f_lineno

    @functools.cached_property
    def _position(self) -> tuple[Any, ...]:
        return next(
            itertools.islice(self.frame.f_code.co_positions(), max(self.at, 0) // 2, None),
            (None,) * 4,
        )

    @functools.cached_property
    def texts(self) -> tuple[str, str]:
        """The expression, and the rest of its line; both empty if the source is unknown."""
        first, last, start, end = self._position
        found = linecache.getlines(self.frame.f_code.co_filename, self.frame.f_globals)
        lines = [line.encode() for line in found[(first or 1) - 1 : last]]
        if None in self._position or not lines:
            return "", ""
        rest = lines[-1][end:].decode(errors="replace")
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return b"".join(lines).decode(errors="replace"), rest

    @functools.cached_property
    def node(self) -> ast.expr | None:
        """The computed expression, or None if the source is unknown."""
        return _parsed(self.texts[0])

    @functools.cached_property
    def stored(self) -> ast.expr | None:
        """The value that is assigned to the expression, or None if it is read."""
        if (found := re.match(_STORED, self.texts[1])) is None:
            return None
        return _parsed(found[1].partition(";")[0]) or ast.Name("...")

    @functools.cached_property
    def augmented(self) -> ast.AugAssign | None:
        """The statement if it is an augmented assignment, such as ``y += x``, or None."""
        with contextlib.suppress(SyntaxError, ValueError):
            (found,) = ast.parse(self.texts[0].strip()).body
            return found if isinstance(found, ast.AugAssign) else None
        return None

    @property
    def written(self) -> str | None:
        """The array that a subscript or ``+=`` writes to, or that a call is given, or None."""
        node: Any = self.augmented.target if self.augmented is not None else self.node
        if isinstance(node, ast.Subscript) and (self.augmented or self.stored) is not None:
            node = node.value
        elif self.augmented is None:
            given: list[Any] = [
                getattr(getattr(node, "func", None), "value", None),
                *getattr(node, "args", ()),
            ]
            node = next((x for x in given if hasattr(self.resolved(x), "__len__")), None)
        return node and ast.unparse(node)

    @property
    def function(self) -> Any:
        """The called function, as far as names lead to it, or None."""
        return self.value_of(self.node.func) if isinstance(self.node, ast.Call) else None

    @property
    def called(self) -> str | None:
        """The name of the called function, or None."""
        return ast.unparse(self.node.func) if isinstance(self.node, ast.Call) else None

    def value_of(self, node: ast.AST | None) -> Any:
        """Return the value of a name or an attribute; for a call, the class of its result."""
        if isinstance(node, ast.Name):
            spaces: Any = self.frame.f_locals, self.frame.f_globals, vars(builtins)
            return next((space[node.id] for space in spaces if node.id in space), None)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = self.value_of(node.func)  # which may have no hash
            return next(
                (cls for f, cls in gives.items() if f is called),
                called if isinstance(called, type) else None,
            )
        if not isinstance(node, ast.Attribute):
            return None
        owner = self.value_of(node.value)
        if isinstance(owner, types.ModuleType):
            return vars(owner).get(node.attr)
        owner = owner if isinstance(owner, type) else type(owner)
        return getattr(owner, node.attr, self.resolved(node))

    def traced(self, node: ast.AST | None = None) -> Iterator[str]:
        """Yield the names of traced values in an expression, or else on the line."""
        node = node or self.node or ast.Pass()
        if isinstance(node, (ast.Name, ast.Attribute)) and find_tracers(self.resolved(node)):
            yield ast.unparse(node)
        name = getattr(part := getattr(node, "func", node), "attr", getattr(part, "id", ""))
        for each in () if name in _CONSTANT else ast.iter_child_nodes(node):
            yield from self.traced(each)

    def over(self) -> Iterator[tuple[str, str, type, bool]]:
        """Yield values on the line whose differentiation is over, by their names.

        Beside the name stand the description, the container, and whether an outer differentiation
        that goes on traces the value.
        """
        for each in ast.walk(self.augmented or self.node or ast.Pass()):
            if isinstance(each, (ast.Name, ast.Attribute, ast.Subscript)):
                held = self.resolved(each)
                x: Any = held[0] if type(held) is list and held else held
                if getattr(type(x), "is_over", None) is not None and x.is_over:
                    of = held if x is not held else self.resolved(getattr(each, "value", each))
                    yield (
                        ast.unparse(each) + "[0]" * (x is not held),
                        picture(x.__payload__),
                        type(of),
                        not getattr(x.__payload__, "is_over", True),
                    )

    @property
    def arguments(self) -> list[str]:
        """The arguments of the call, as in the program."""
        return [*map(ast.unparse, self.node.args if isinstance(self.node, ast.Call) else ())]

    @property
    def argument(self) -> str:
        """The expression of the traced argument, or ``x``."""
        args = self._operands
        args = [arg for arg in args if any(self.traced(arg))] or args * (not any(self.traced()))
        if args and isinstance(args[0], (*_NAMED, ast.Call, ast.BinOp, ast.UnaryOp)):
            found = ast.unparse(args[0])
            return found if len(found) <= _LONGEST // 2 else "x"
        return next(self.traced(), "x")

    @property
    def _operands(self) -> list[ast.expr]:
        """The expressions that were passed to the library, or to Python."""
        node = self.node
        if self.stored is not None:
            return [self.stored]
        if isinstance(node, ast.Call):
            return [*node.args, *[each.value for each in node.keywords]]
        if isinstance(node, ast.Subscript):
            return [node.slice]
        if isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
            parts = [n for n in ast.walk(node) if isinstance(n, ast.FormattedValue)]
            return [part.value for part in parts if part.format_spec is not None]
        # The members of a dict or a set, if it is one.
        return [x for x in getattr(node, "keys", getattr(node, "elts", ())) if x is not None]

    @property
    def picture(self) -> str | None:
        """A description of the only traced operand, if names lead to it, or None."""
        x = self.resolved_operand
        return None if x is None or isinstance(x, (list, tuple, dict)) else picture(untraced(x))

    @property
    def resolved_operand(self) -> Any:
        """The only traced operand, if names lead to it, or None."""
        found = [each for each in self._operands if any(self.traced(each))]
        return self.resolved(found[0]) if len(found) == 1 else None

    def resolved(self, node: ast.AST) -> Any:
        """Return the value of a name, attribute or subscript, or None if it is unknown."""
        if not isinstance(node, (ast.Subscript, ast.Attribute)):
            return self.value_of(node) if isinstance(node, ast.Name) else None
        owner = self.resolved(node.value)
        if isinstance(node, ast.Attribute):
            return getattr(owner, "__dict__", {}).get(node.attr)
        with contextlib.suppress(Exception):
            inside = isinstance(owner, (list, tuple, dict))
            return (owner if inside else untraced(owner))[ast.literal_eval(node.slice)]
        return None

    def named(self, x: Any) -> str:
        """Return the operand that is x as in the program, or else the only one, or ``x``."""
        found: Any = [
            each for each in ast.walk(self.node or ast.Pass()) if self.resolved(each) is x
        ][:1] or self._operands
        return ast.unparse(found[0]) if len(found) == 1 else "x"

    def with_constant(self, made: str = "ignore_derivatives") -> str:
        """Return the expression with constants in place of its traced operands."""
        node, constants = copy.deepcopy(self.node), _Constants(self, made)
        names = ("left", "comparators") * isinstance(node, ast.Compare)
        for name in (*names, "right", "slice", "elts", "keys", "args", "keywords"):
            part = getattr(node, name, None)
            if isinstance(part, list):
                part[:] = [x and constants.visit(x) for x in part]
            elif part is not None:
                setattr(node, name, constants.visit(part))
        text = "" if node is None else ast.unparse(node)
        return (
            text
            if "ignore_derivatives" in text and len(text) <= _LONGEST + 20
            else ast.unparse(_call(made, self.argument))
        )

    def option(self, name: str) -> str | None:
        """Return the expression of an option of the call, or None."""
        return next(
            (ast.unparse(x.value) for x in getattr(self.node, "keywords", ()) if x.arg == name),
            None,
        )

    def without(self, option: str) -> str | None:
        """Return an equivalent of the call without an option, or None if there is none."""
        if (
            self.option(option) is None
            or option in ("axes", "keepdims", "writeable")
            or None not in (self.option("dtype"), self.option("casting"))  # of the operands
            # A call that is given the function, such as rrule(np.sin, x, where=m).
            or any([callable(self.resolved(x)) for x in self._operands[:1]])
        ):
            return None
        call: Any = copy.deepcopy(self.node)
        f = self.function
        if "export(" in str(self.called) or ".engine.export" in type(f).__module__:
            return None  # it takes arrays of another library, which NumPy's functions do not
        cast = "[y.astype({1}) for y in {0}]" if getattr(f, "nout", 1) > 1 else "{}.astype({})"
        out, where = self.option("out"), self.option("where")
        masked = where is not None and (option == "where" or hasattr(f, "nin"))
        names = ("out", "where")[: 1 + masked] if option in ("out", "where") else (option,)
        call.keywords = [each for each in call.keywords if each.arg not in names]
        if masked and "where" in names:
            call.args = [_parsed(f"np.where({where}, {ast.unparse(x)}, 1.0)") for x in call.args]
            of_truth = "False" * bool({"d->?", "dd->?"} & {*getattr(f, "types", ())})
            call = _parsed(f"np.where({where}, {ast.unparse(call)}, {out or of_truth or '0.0'})")
        text = (cast if option == "dtype" else "{}").format(ast.unparse(call), self.option("dtype"))
        if "out" in names and isinstance(_parsed(out or ""), _NAMED):
            return f"{out}[...] = {text}"  # others may see the array
        return text

    def owner(self, name: str = "") -> str | None:
        """Return the expression whose member of this name is read or called, or None.

        A function of this name in a module is no member.
        """
        node = self.node.func if isinstance(self.node, ast.Call) else self.node
        return (
            ast.unparse(node.value)
            if isinstance(node, ast.Attribute)
            and name in ("", node.attr)
            and not (name and isinstance(self.value_of(node.value), types.ModuleType))
            else None
        )

    def __str__(self) -> str:
        text = (self.texts[0] if self.node is None else ast.unparse(self.node)).partition("\n")[0]
        if self.stored is not None:
            text += f" {self.texts[1].partition('=')[0].strip()}= {ast.unparse(self.stored)}"
        shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
        file, line = self.place
        return f"{file}:{line}: {shown}" if text else f"{file}:{line}"


class _Constants(ast.NodeTransformer):
    """Replaces traced operands by constants, also those in displays, slices and iterators."""

    def __init__(self, line: Line, made: str) -> None:
        self.line, self.made = line, made

    def visit(self, node: ast.AST) -> Any:
        if isinstance(
            node, ast.Slice | ast.Tuple | ast.List | ast.Set | ast.Dict | ast.keyword | ast.Starred
        ) or getattr(getattr(node, "func", None), "id", "") in ("map", "zip", "filter"):
            return self.generic_visit(node)
        kept = not any(self.line.traced(node)) or (
            # An array beside the number.
            self.made in ("int(ignore_derivatives({}))", "ignore_derivatives({})")
            and getattr(self.line.resolved(node), "ndim", None)
        )
        return node if kept else _call(self.made, ast.unparse(node))


def _call(made: str, argument: str) -> ast.expr:
    """Return a call of ``made``, in which ``{}`` may mark the argument: ``int({})``."""
    return ast.parse((made if "{" in made else f"{made}({{}})").format(argument), mode="eval").body


def _parsed(text: str) -> ast.expr | None:
    # The second form is for a field of an f-string, which has its own position from Python 3.12 on.
    for form in (f"(\n{text}\n)", f"f'''{text}'''" if text[:1] == "{" else ""):
        with contextlib.suppress(SyntaxError, ValueError):
            return ast.parse(form, mode="eval").body if text else None
    return None


def picture(plain: Any) -> str:
    """Return a description of a traced value, from its plain value, for messages."""
    shown = describe(plain)
    return f"a traced {shown.removesuffix('[]')}{' scalar' if shown.endswith('[]') else ''}"


def told(fact: str, line: Line | None, write: str) -> str:
    """Return the text of an error: what happened, on which line, and what to write there.

    The line is left out if it is a library's, as in a thread that Python runs.
    """
    if line is None or is_of_library(line.frame):
        return f"{fact}\n  {write}"
    if re.search(r"(?<![\w.])np\.", write) and line.value_of(ast.Name("np")) is None:
        write += (" and" if ", after '" in write else ", after") + " 'import numpy as np'"
    return f"{fact}\n  {line}\n  {write}"


def lost(xs: Any, text: str, line: Line, of: type[ChainRulesError] = TracerError) -> Exception:
    """Return the error for values in xs whose derivative would be lost, and note its line.

    If the differentiated function catches the error, the line is reported.
    """
    for x in find_tracers(xs):
        while issubclass(type(x), Tracer):
            if x.level in notes:
                notes[x.level].refused = line.place
            x = x.__payload__
    return of(text)


def refuse_labelled(x: Any) -> None:
    """Raise for labelled arrays such as xarray's: a class with ``dims`` and ``values``.

    Raises
    ------
    NotDifferentiableError
        If its class is not registered.
    """
    cls = type(x)
    if hasattr(cls, "dims") and hasattr(cls, "values") and not type_info(cls).is_array:
        line = Line(caller())
        name = line.named(x)
        of_several = f"{{name: x[name].values for name in x}} for x = {name}, which are its arrays"
        write = of_several if issubclass(cls, Mapping) else f"{name}.values, which is its array"
        fact = f"no derivative is taken in {name}, a {cls.__qualname__}, which has labels"
        raise NotDifferentiableError(told(fact, line, f"give {write}"))


# --------------------------------------------------------------------------------- what to write


def instead_of(line: Line) -> str | None:
    """Return what to write on a line that requires a plain value of a tracer, or None."""
    return remedy(line) or advised_at(line) or remedy(line, last=True)


def remedy(line: Line, error: BaseException | None = None, last: bool = False) -> str | None:
    """Return what an array library suggests for an expression, or None; see `remedies`."""
    see_roots({"numpy"} & sys.modules.keys())  # Python's numbers alone have not loaded it
    return next((write for of in remedies if (write := of(line, error, last)) is not None), None)


def instead_for(error: BaseException, held: bool = False) -> tuple[Line | None, str] | None:
    """Return the line on which a library raised for a traced value, and what to write, or None.

    C code that calls back may continue after a refusal, and fail elsewhere. ``held`` says that it
    had tracers, as an array of objects may hold them. For supported libraries, only stated advice
    is used, as their errors may have any other cause, unless what a number lacks is an array's.
    """
    line = Line.of(error)
    if line is not None and (any(line.traced()) or any(line.traced(line.stored))):
        known = (
            line.library
            and root_module(line.library[0]) in _known()
            and getattr(error, "name", None) not in ("shape", "ndim", "dtype")
        )
        write = remedy(line, error)
        if write is None and not isinstance(error, IndexError):
            write = advised_at(line) or (None if known else remedy(line, error, last=True))
        if write is not None:
            return line, write
    # The program may have given a library's function itself to an engine.
    if not (held or line is None or any(line.traced())):
        return None
    frames = [trace.tb_frame for trace in tracebacks_of(error)]
    for frame in filter(is_of_library, frames):
        # The line that calls a frame of ours may be that of an optimizer, which got plain values.
        theirs = not root_module(frame).startswith("chainrules_")
        if theirs and (write := advised_at(found := Line(frame))):
            return found, write
    outer = Line(frames[-1])
    write = remedy(outer, error, last=True) if line is None else None
    outer.node = None  # its call is not the one that takes plain values
    return None if write is None else (outer, write)


def _known() -> set[str]:
    return {root for root, _ in announced(BACKENDS)}


def advised(function: Any, line: Line) -> str | None:
    """Return the advice for a known function, or None."""
    see_about(str(getattr(function, "__module__", "")))
    return suggestion(_advice_of(function), line)


def _advice_of(function: Any) -> Advice | None:
    known = [
        # An object whose class is written in Python may have no hash.
        *[function] * (isinstance(function, Hashable) and not code_of(type(function).__hash__)),
        *[code_of(each) for each in (function, function.__init__, function.__new__)],
    ]
    return next((_advice[key] for key in known if key in _advice), None)


def advised_at(line: Line) -> str | None:
    """Return the advice for the function that a line calls, or None."""
    roots = _known()
    found = _found_at(line, roots)
    if found is None:
        # Python's numbers alone have loaded none; NumPy's library knows `math`.
        see_roots((roots & sys.modules.keys()) | {"numpy"})
        see_all()
        found = _found_at(line, roots)
    return found


def suggestion(found: Advice | None, line: Line) -> str | None:
    """Return what an advice says for a line, with its arguments, or None."""
    if callable(found):
        found = found(line)
    if found is None:
        return None
    named, every = line.arguments, ", ".join(line.arguments or ["x"])
    write = filled(found, *named, *"xyz"[len(named) :], all=every, x=line.argument)
    parts = _USE.fullmatch(write)
    return f"use {in_place(parts[1])}{parts[2] or ''}" if parts else write


_USE = re.compile(r"use (.+?)((?:, (?:which|whose|and|with) |,? after '| for its ).*)?", re.DOTALL)


def in_place(write: str) -> str:
    """Put an expression in parentheses if an operator beside it would take a part of it.

    Examples
    --------
    >>> in_place("x + 1"), in_place("np.sin(x)")
    ('(x + 1)', 'np.sin(x)')
    """
    closed = _parsed(write) is None or isinstance(_parsed(f"{write}.real"), ast.Attribute)
    return write if closed else f"({write})"


def filled(write: str, *arguments: str, **named: str) -> str:
    """Put arguments into an advice, in parentheses where an operator or a member is beside them.

    Examples
    --------
    >>> filled("use {0} * np.ones({n})", "a + b", n="i + 1")
    'use (a + b) * np.ones(i + 1)'
    """
    values = {**{str(i): text for i, text in enumerate(arguments)}, **named}

    def put(found: re.Match[str]) -> str:
        left, name, right = found.groups(default="")
        if name not in values:  # braces of the program: a set, or an f-string
            return found[0]
        alone = not (left or right) or isinstance(_parsed(values[name]), _CLOSED)
        return left + (values[name] if alone else f"({values[name]})")

    return re.sub(_FIELD, put, write)


# The f-strings of a program have braces of their own.
_FIELD = r"\bf(?:'[^']*'|\"[^\"]*\")|([-+*/@] ?)?\{(\w+)\}(?=( [-+*/@<]|[.\[])?)"
_CLOSED = *_NAMED, ast.Constant, ast.Call


def _found_at(line: Line, roots: set[str]) -> str | None:
    """Return the advice for the function that a program called, or one that it led to, or None.

    A callable that has none for the line leaves it to the functions that its function calls.
    """
    engine = line.library and root_module(line.library[0]).startswith("chainrules_")
    for frame in line.inner if engine else line.library:  # jvp(f, (x,), (t,)) calls f
        known = root_module(frame) in roots
        if known:
            see_roots({root_module(frame)})
            see_about(str(frame.f_globals.get("__name__", "")))
        if write := suggestion(_advice.get(frame.f_code), line):
            return write
    return suggestion(_advice_of(line.function), line)


def tracebacks_of(error: BaseException) -> Iterator[types.TracebackType]:
    """Yield the tracebacks of an error, outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next
