"""Compiled functions: programs for each kind of arguments, recorded when they are first seen."""

from __future__ import annotations

import functools
import gc
import linecache
import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, final, overload

import numpy as np

from chainrules_compile.calls import name_of
from chainrules_compile.captures import Captures
from chainrules_compile.entry import Entry, Scope, result_text
from chainrules_compile.errors import MISS, RecordingError, RecordingWarning
from chainrules_compile.host import listen
from chainrules_compile.loops import nested
from chainrules_compile.noted import Noted
from chainrules_compile.notes import recordable
from chainrules_compile.passes import Pass, passes_of
from chainrules_compile.passes.questions import with_one_question
from chainrules_compile.recorder import Recorder
from chainrules_compile.save import module_of
from chainrules_compile.writers import writer_of
from chainrules_py.extend import Tracer, flatten, made_again
from chainrules_py.program import Program

P = ParamSpec("P")
R = TypeVar("R")

MOST = 32
"""How many programs a function has at most; what none of them fits runs as it is."""


@final
class Standby:
    """Program that asks more than another, written when it is called first."""

    __slots__ = ("_lock", "_made", "_passes", "_program", "_written")

    def __init__(
        self,
        program: Program,
        passes: tuple[Pass, ...],
        written: Callable[[Program], tuple[Any, str, Program]],
    ) -> None:
        self._program = program
        self._passes = passes
        self._written = written
        self._made: tuple[Any, str, Program] | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the program."""
        return self.made()[0](*args, **keywords)

    def made(self) -> tuple[Any, str, Program]:
        """Return what runs, its source, and the program as it was written."""
        with self._lock:
            if self._made is None:
                program = self._program
                for step in self._passes:
                    program = step(program)
                self._made = self._written(program)
            return self._made


@final
class CompiledProgram:
    """Program of one kind of arguments.

    Attributes
    ----------
    run : callable
        Takes the arguments; gives the result, or ``MISS``.
    source : str
        What it was made of.
    recorded, program : Program
        The calls as they were noted, and as they were written.
    steps : list of (str, int)
        How many calls there were after each pass.
    facts : list of (str, str)
        What was assumed of the arguments.
    standby : Standby or None
        The program that asks whether each quotient is finite.
    settle : callable
        To be called when the function was called beside the program: what that changes is its own.
    """

    __slots__ = (
        *("facts", "program", "recorded", "run", "scope", "settle", "source", "standby", "steps"),
    )

    def __init__(
        self,
        run: Callable[..., Any],
        source: str,
        recorded: Program,
        program: Program,
        steps: list[tuple[str, int]],
        facts: list[tuple[str, str]],
        scope: Scope,
        settle: Callable[[], None],
        standby: Standby | None,
    ) -> None:
        self.run = run
        self.source = source
        self.recorded = recorded
        self.program = program
        self.steps = steps
        self.facts = facts
        self.scope = scope
        self.settle = settle
        self.standby = standby

    def __repr__(self) -> str:
        facts = ", ".join([f"{name}: {fact}" for name, fact in self.facts])
        return f"<program of {len(self.program)} calls: {facts}>"


@final
class Compiled(Generic[P, R]):
    """Function with a program for each kind of arguments that it was called with.

    Attributes
    ----------
    programs : tuple of CompiledProgram
        Those recorded so far, the newest first.
    """

    def __init__(
        self, f: Callable[P, R], static: Iterable[int | str], target: str, exact: bool
    ) -> None:
        functools.update_wrapper(self, f)
        self.__name__ = name_of(f)
        self._f = f
        self._static = frozenset(static)
        self._write = writer_of(target)
        self._target = target
        self._exact = exact
        self._passes = passes_of(target, exact)
        self._lock = threading.RLock()
        self._runs: tuple[Callable[..., Any], ...] = ()
        self._as_it_is = False
        self.programs: tuple[CompiledProgram, ...] = ()

    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R:
        """Run the program that fits the arguments; record one where there is none yet."""
        y: Any
        if self._as_it_is:
            return self._f(*args, **keywords)
        for run in self._runs:
            try:
                y = run(*args, **keywords)
            except TypeError:
                if fits(run, args, keywords):
                    raise
                continue
            if y is not MISS:
                found: R = y
                return found
        return self._record(args, keywords)  # type: ignore[no-any-return]

    def _record(self, args: Any, keywords: Any) -> Any:
        f: Any = self._f
        if any([isinstance(x, (Noted, Tracer)) for x in flatten((args, keywords))[0]]):
            return f(*args, **keywords)
        if len(self.programs) >= MOST:
            msg = (
                f"{self.__name__} has {MOST} programs, and none fits this call, which runs as it "
                f"is; the last was recorded for {self.programs[0]!r}"
            )
            warnings.warn(msg, RecordingWarning, stacklevel=3)
            return f(*args, **keywords)
        with self._lock:
            made = self._made(args, keywords)
        y = made.run(*args, **keywords)
        if y is MISS:
            msg = (
                f"{self.__name__} computes otherwise when it is called again with the same "
                f"arguments: it draws random numbers, or something that it reads has changed; pass "
                f"these as arguments"
            )
            raise RecordingError(msg)
        expected = f(*args, **keywords)
        made.settle()
        if not (same if self._exact else close)(y, expected):
            msg = (
                f"{self.__name__} gives another result than the program that was recorded of it, "
                f"so it runs as it is: it computes otherwise each time"
            )
            self._as_it_is = True
            warnings.warn(msg, RecordingWarning, stacklevel=3)
            return expected
        with self._lock:
            self.programs = (made, *self.programs)
            self._runs = (made.run, *self._runs)
        return y

    def _made(self, args: Any, keywords: Any) -> CompiledProgram:
        collecting = gc.isenabled()
        gc.disable()  # it would look through all calls noted so far, again and again
        try:
            return self._make(args, keywords)
        finally:
            if collecting:
                gc.enable()

    def _make(self, args: Any, keywords: Any) -> CompiledProgram:
        f, scope = self._f, Scope()
        name = self.__name__ if self.__name__.isidentifier() else "program"
        scope[name] = None  # nothing else is called so
        given = [x for x in flatten((args, keywords))[0] if not recordable(type(x))]
        captures = Captures((f, *given))
        recorder = Recorder(captures.arrays)
        entry = Entry(f, args, keywords, self._static, recorder, scope)
        with captures.watching():
            y = f(*entry.args, **entry.keywords)
        recorder.check()
        captures.hold(recorder.words)
        leaves, tree = flatten(y)
        for leaf in leaves:
            if callable(leaf) and not isinstance(leaf, Noted) and not captures.has(leaf):
                refuse_function()
        outputs = tuple([recorder.operand(x) for x in leaves])
        recorded = program = recorder.program(self.__name__, outputs)
        steps = [("recorded", len(program))]
        names = entry.names
        for value, array in recorder.captured.items():
            names[value] = scope.name(array, value.name)
        head: list[str] = []
        parameters = ", ".join(entry.signature)

        def written(program: Program) -> tuple[Any, str, Program]:
            for each in entry.parameters:
                scope.setdefault(each, None)  # so that no function is called like it
            body = self._write(program, names, scope)
            found = entry.lines
            head[:] = head or [*found, *captures.lines(scope)]
            lines = [*head, *body.lines, f"return {result_text(tree, body.outputs, scope)}"]
            source = f"def {name}({parameters}):\n" + "".join([f"    {line}\n" for line in lines])
            filename = f"<compiled {name} {id(scope):x} {len(source)}>"
            made: dict[str, Any] = {}
            exec(compile(source, filename, "exec"), scope, made)  # noqa: S102
            linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
            return made[name], source, body.program or program

        standby, rest = None, dict(self._passes)
        for title, step in self._passes.items():
            del rest[title]
            before, program = program, step(program)
            steps.append((title, len(program)))
            if step is with_one_question and program is not before:
                standby = Standby(before, tuple(rest.values()), written)
                scope.again = f"{scope.name(standby, 'asking_each')}({entry.forwarded})"
        run, source, rolled = written(program)
        if rolled is not program:
            steps.append(("rolled", sum([len(part) for part in nested(rolled)])))
        return CompiledProgram(
            run, source, recorded, rolled, steps, entry.facts, scope, captures.settle, standby
        )

    # ------------------------------------------------------------------------ what people look at

    @property
    def source(self) -> str:
        """The source of the newest program."""
        return self._newest().source

    def explain(self) -> str:
        """Return, for each program, what it is for, and what each pass left of its calls."""
        texts = []
        for program in self.programs:
            facts = ", ".join([f"{name}: {fact}" for name, fact in program.facts])
            steps = "\n".join([f"  {name:12s} {n:6d} calls" for name, n in program.steps])
            texts.append(f"{self.__name__}({facts})\n{steps}")
        return "\n\n".join(texts)

    def save(self, path: Any) -> None:
        """Write the newest program to a file, as a module that needs NumPy alone.

        Captured arrays are written down as they were when it was recorded.

        Raises
        ------
        RecordingError
            If the program uses what cannot be written down.
        """
        program = self._newest()
        source = program.source if program.standby is None else program.standby.made()[1]
        text = module_of(self.__name__, source, program.scope)
        Path(path).write_text(text, encoding="utf-8")

    def _newest(self) -> CompiledProgram:
        if not self.programs:
            msg = f"{self.__name__} was not called yet, so there is no program; call it first"
            raise RecordingError(msg)
        return self.programs[0]

    def __reduce__(self) -> Any:
        settings = {"static": self._static, "target": self._target, "exact": self._exact}
        return made_again(self, compile_, (self._f,), settings)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__} with {len(self.programs)} programs for {self._target}>"


def fits(run: Callable[..., Any], args: Any, keywords: Any) -> bool:
    """Tell whether a program takes so many arguments, of these names."""
    code = run.__code__
    positional = code.co_argcount
    n = positional + code.co_kwonlyargcount
    return len(args) == positional and set(keywords) == set(code.co_varnames[positional:n])


def same(y: Any, expected: Any) -> bool:
    """Tell whether a program gave what the function gives."""
    (xs, tree), (wanted, of) = flatten(y), flatten(expected)
    if tree != of:
        return False
    for x, want in zip(xs, wanted, strict=True):
        if not isinstance(want, np.ndarray | np.generic | float | int | complex):
            continue
        x, want = np.asarray(x), np.asarray(want)
        if x.dtype != want.dtype or not np.array_equal(x, want, equal_nan=x.dtype.kind in "fc"):
            return False
    return True


def close(y: Any, expected: Any) -> bool:
    """Tell whether a program gave what the function gives, but for its rounding."""
    (xs, tree), (wanted, of) = flatten(y), flatten(expected)
    if tree != of:
        return False
    for x, want in zip(xs, wanted, strict=True):
        if not isinstance(want, np.ndarray | np.generic | float | int | complex):
            continue
        x, want = np.asarray(x), np.asarray(want)
        if x.dtype != want.dtype or x.shape != want.shape:
            return False
        if x.dtype.kind in "fc":
            step = float(np.finfo(x.dtype).eps) ** 0.5
            scale = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
            if not np.allclose(x, want, rtol=step, atol=step * scale, equal_nan=True):
                return False
        elif not np.array_equal(x, want):
            return False
    return True


def refuse_function() -> NoReturn:
    """Raise for a function in a result, which was made of what was noted."""
    msg = (
        "the result of a compiled function holds a function, as the pullback of vjp is, which "
        "would be another at the next call; compile what calls it: "
        "compile(lambda x, y_bar: vjp(f, x)[1](y_bar))"
    )
    raise RecordingError(msg)


@overload
def compile_(
    f: Callable[P, R],
    /,
    *,
    static: Iterable[int | str] = (),
    target: str = "numpy",
    exact: bool = True,
) -> Compiled[P, R]: ...
@overload
def compile_(
    *, static: Iterable[int | str] = (), target: str = "numpy", exact: bool = True
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile_(
    f: Any = None,
    /,
    *,
    static: Iterable[int | str] = (),
    target: str = "numpy",
    exact: bool = True,
) -> Any:
    """Compile a function: each kind of arguments gets a program, a straight line of NumPy calls.

    Parameters
    ----------
    f : callable
        What is compiled: a function, or ``value_and_grad(f)``, ``hvp(f, ...)`` and their like, in
        any nesting. Without it a decorator is returned.
    static : iterable of int or str
        Arguments, by place or name, that are the same in each run of a program: another value is
        another program. So are all that are no arrays and no floating numbers.
    target : str
        What the program is written for.
    exact : bool
        Whether results have the bits that the function gives without it. Otherwise whole powers
        are products, a quotient by a number is a product, numbers that are multiplied meet, sums
        of products and products of matrices with vectors are BLAS's, and what is solved with a
        factor of Cholesky's is solved as a triangle: some units in the last place of what is
        added up.

    Returns
    -------
    Compiled
        A function that gives what f gives. Its ``source`` is to be read.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_compile import compile
    >>> from chainrules_tape import grad
    >>> slope = compile(grad(lambda x: np.sum(np.sin(x) * x)))
    >>> slope(np.array([0.0, 1.0]))
    array([0.        , 1.38177329])
    >>> print(slope.source)  # doctest: +SKIP
    """
    if f is None:
        return functools.partial(compile_, static=static, target=target, exact=exact)
    listen()
    return Compiled(f, static, target, exact)
