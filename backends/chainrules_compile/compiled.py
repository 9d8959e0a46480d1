"""Compiled functions: programs for each kind of arguments, recorded when they are first seen."""

from __future__ import annotations

import functools
import gc
import linecache
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, final, overload

from chainrules_compile.calls import name_of
from chainrules_compile.captures import Captures
from chainrules_compile.entry import Entry, Scope, check_static, result_text
from chainrules_compile.errors import MISS, RecordingError, RecordingWarning, Unfit, refused
from chainrules_compile.host import listen
from chainrules_compile.loops import nested
from chainrules_compile.noted import Noted
from chainrules_compile.outside import Known, State, refuse_living
from chainrules_compile.passes import Pass, passes_of
from chainrules_compile.passes.questions import with_one_question
from chainrules_compile.recorder import Recorder
from chainrules_compile.results import check_results, close, raise_first, same
from chainrules_compile.save import module_of
from chainrules_compile.writers import writer_of
from chainrules_py.extend import (
    Tracer,
    flatten,
    in_own_context,
    lock_of_a_table,
    made_again,
    on_change,
)
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
        To be called when the function was called beside the program; tells what that has changed.
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
        settle: Callable[[], list[str]],
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
        self._unkept = 0
        self._changed: set[str] = set()
        self._told: set[str] = set()
        self.programs: tuple[CompiledProgram, ...] = ()
        self._age = 0
        with _adding:
            _compiled.add(self)

    def forget(self) -> None:
        """Let the programs go: rules that they were recorded by may be others now."""
        self._age += 1  # without the lock: who holds it may be waiting for the table of rules
        self._runs, self.programs = (), ()

    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R:
        """Run the program that fits the arguments; record one where there is none yet."""
        y: Any
        if self._as_it_is:
            return self._f(*args, **keywords)
        for run in self._runs:
            try:
                y = run(*args, **keywords)
            except Exception:
                continue
            if y is not MISS:
                found: R = y
                return found
        return self._record(args, keywords)  # type: ignore[no-any-return]

    def _record(self, args: Any, keywords: Any) -> Any:
        f: Any = self._f
        if any([isinstance(x, (Noted, Tracer)) for x in flatten((args, keywords))[0]]):
            return f(*args, **keywords)
        if len(self.programs) + self._unkept >= MOST:
            last = f"the last was recorded for {self.programs[0]!r}" if self.programs else ""
            self._warn(f"has {MOST} programs, and none fits this call, which runs as it is; {last}")
            return f(*args, **keywords)
        age = self._age
        try:
            with self._lock:
                made = self._made(args, keywords)
        except Unfit as said:
            return self._as_before(said, args, keywords)
        except RecordingError:
            raise
        except Exception as error:
            expected = f(*args, **keywords)  # which raises it as well, most often
            msg = (
                f"{self.__name__} raises {type(error).__name__}: {error}, where it is recorded, "
                f"and gives a result without compile; leave what does so outside, or make it a "
                f"primitive"
            )
            raise RecordingError(msg) from error
        y, raised = MISS, None
        try:
            y = made.run(*args, **keywords)
        except Exception as error:
            raised = error
        expected = f(*args, **keywords)
        changed = made.settle()
        if changed:
            return self._changing(changed, expected)
        if y is MISS or not (same if self._exact else close)(y, expected):
            msg = (
                f"gives another result than the program that was recorded of it, so it runs as it "
                f"is: it computes otherwise each time, or looks at the class of an argument"
                f"{'' if raised is None else f' (the program raised {raised!r})'}"
            )
            self._as_it_is = True
            self._warn(msg)
            return expected
        with self._lock:
            if age == self._age:
                self.programs = (made, *self.programs)
                self._runs = (made.run, *self._runs)
        return y

    def _as_before(self, said: Unfit, args: Any, keywords: Any) -> Any:
        """Call the function as it is: it is no program, once or for good."""
        self._unkept += 1
        if not said.once:
            self._as_it_is = True
            self._warn(f"is no program, and runs as it is: {said}")
        f: Any = self._f
        return f(*args, **keywords)

    def _changing(self, changed: list[str], y: Any) -> Any:
        """Return the result of a call that has changed something; if it does so again, warn."""
        again = self._changed & {*changed}
        self._changed |= {*changed}
        self._unkept += 1
        if again:
            self._as_it_is = True
            self._warn(
                f"is no program, and runs as it is: each call changes {', '.join(sorted(again))}"
            )
        return y

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            warnings.warn(f"{self.__name__} {text}", RecordingWarning, stacklevel=4)

    def _made(self, args: Any, keywords: Any) -> CompiledProgram:
        collecting = gc.isenabled()
        gc.disable()  # it would look through all calls noted so far, again and again
        found: list[BaseException] = []
        token = refused.set(found)
        try:
            return self._make(args, keywords)
        finally:
            refused.reset(token)
            if collecting:
                gc.enable()

    def _make(self, args: Any, keywords: Any) -> CompiledProgram:
        f: Any = self._f
        scope = Scope()
        scope.exact = self._exact
        name = self.__name__ if self.__name__.isidentifier() else "program"
        scope[name] = None  # nothing else is called so
        recorder, known = Recorder(), Known()
        entry = Entry(f, args, keywords, self._static, recorder, scope)
        captures = Captures((f, *entry.given))
        recorder.outside = captures.arrays
        state = captures.state()
        iterator = captures.iterator()
        if iterator is not None:
            msg = (
                f"it looks up a {type(iterator).__qualname__}, which gives something else each time"
            )
            raise Unfit(msg)
        try:
            with captures.watching():
                y = f(*entry.args, **entry.keywords)
            entry.check()
        finally:
            state.put_back()
        raise_first(recorder)
        recorder.check()
        known.hold(captures.hold(recorder.words))
        leaves, tree = flatten(y)
        del y
        check_results(leaves, captures)
        outputs = tuple([recorder.operand(x) for x in leaves])
        del leaves
        entry.forget()
        refuse_living(recorder.alive)
        recorded = program = recorder.program(self.__name__, outputs)
        steps = [("recorded", len(program))]
        names = entry.names
        for value, array in recorder.captured.items():
            names[value] = scope.name(array, value.name)
        apart = recorder.apart(names, scope)
        head = [*apart, *known.lines(scope), *captures.lines(scope)]
        settle = functools.partial(settled, captures, captures.state())
        parameters = ", ".join(entry.signature)

        def written(program: Program) -> tuple[Any, str, Program]:
            body = self._write(program, names, scope)
            lines = [
                *entry.lines,
                *head,
                *body.lines,
                f"return {result_text(tree, body.outputs, scope)}",
            ]
            source = f"def {name}({parameters}):\n" + "".join([f"    {line}\n" for line in lines])
            filename = f"<compiled {name} {id(scope):x} {len(source)}>"
            made: dict[str, Any] = {}
            exec(compile(source, filename, "exec"), scope, made)  # noqa: S102
            linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
            run = made[name]
            if body.in_own_context:
                run = functools.partial(in_own_context, run)
            return run, source, body.program or program

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
            run, source, recorded, rolled, steps, entry.facts, scope, settle, standby
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

        Captured arrays are written down as they were when it was recorded. A program for the
        target ``"c"`` is written to a folder, as C.

        Raises
        ------
        RecordingError
            If the program uses what cannot be written down.
        """
        program = self._newest()
        if program.scope.save is not None:
            if Path(path).suffix == ".py":
                msg = (
                    f"a program for {self._target} is saved as a folder, not as {path}; name one, "
                    f"or compile it for the target 'numpy', and save that"
                )
                raise RecordingError(msg)
            program.scope.save(self.__name__, Path(path))
            return
        source = program.source if program.standby is None else program.standby.made()[1]
        text = module_of(self.__name__, source, program.scope)
        Path(path).write_text(text, encoding="utf-8")

    def _newest(self) -> CompiledProgram:
        if not self.programs:
            msg = f"{self.__name__} was not called yet, so there is no program; call it first"
            raise RecordingError(msg)
        return self.programs[0]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        settings = {"static": self._static, "target": self._target, "exact": self._exact}
        return made_again(self, compile_, (self._f,), settings)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__} with {len(self.programs)} programs for {self._target}>"


_compiled: weakref.WeakSet[Compiled[Any, Any]] = weakref.WeakSet()
_adding = lock_of_a_table()


def _forget_all() -> None:
    with _adding:
        found = tuple(_compiled)
    for each in found:
        each.forget()


on_change.append(_forget_all)


def settled(captures: Captures, before: State) -> list[str]:
    """Return what a call of the function has changed outside."""
    captures.settle()
    changed: list[str] = before.changed()
    return changed


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
    check_static(f, static := tuple(static))
    return Compiled(f, static, target, exact)
