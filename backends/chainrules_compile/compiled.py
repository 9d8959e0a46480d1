"""Compiled functions: programs for each kind of arguments, recorded when they are first seen."""

from __future__ import annotations

import functools
import inspect
import operator
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Generic, ParamSpec, TypeVar, cast, final, overload

from chainrules_compile import refusals
from chainrules_compile.blame import blame, place
from chainrules_compile.building import CompiledProgram, Making, Plain, Setting
from chainrules_compile.calls import name_of
from chainrules_compile.entry import checked_static
from chainrules_compile.errors import (
    MISS,
    RecordingError,
    Traced,
    Unfit,
    Written,
    refused,
    warn,
)
from chainrules_compile.explaining import explained
from chainrules_compile.garbage_collection import collecting_later
from chainrules_compile.host import listen
from chainrules_compile.passes import passes_of
from chainrules_compile.reasons import none_fits, why_in_a_row
from chainrules_compile.recorded_values import Noted
from chainrules_compile.results import close, moved_results
from chainrules_compile.save import module_of, unchanged, write_module, written
from chainrules_compile.scans import with_scans
from chainrules_compile.writers import writer_of
from chainrules_py import RuleError, debugging
from chainrules_py.extend import (
    Tracer,
    flatten,
    lock_of_a_table,
    made_again,
    on_change,
    where_defined,
)

P = ParamSpec("P")
R = TypeVar("R")

MOST = 32
"""How many programs a function has at most; what none of them fits runs as it is."""
IN_A_ROW = 3
"""After so many recordings one after the other, none used again, a function runs as it is."""


def is_traced(x: Any) -> bool:
    """Tell whether a structure holds what is differentiated, or noted for another program."""
    return any([isinstance(leaf, (Noted, Tracer)) for leaf in flatten(x)[0]])


def alike(y: Any, plain: Plain) -> bool:
    """Tell whether a program gave what the function gives, but for its rounding."""
    moved = functools.partial(moved_results, plain.f, plain.args, plain.keywords)
    return close(y, plain.result(), moved)


@final
class Compiled(Generic[P, R]):
    """Function with a program for each kind of arguments that it was called with.

    Attributes
    ----------
    programs : tuple of CompiledProgram
        Those recorded so far, the newest first.
    as_it_is : bool
        Whether the function runs as it is.
    """

    def __init__(
        self,
        f: Callable[P, R],
        static: Iterable[int | str],
        target: str,
        threads: int,
        strict: bool,
    ) -> None:
        functools.update_wrapper(self, f)
        self.__name__ = name_of(f)
        self._called = (  # in messages; a lambda has no name
            f"<lambda> ({where_defined(f)})"
            if getattr(f, "__name__", "") == "<lambda>"
            else self.__name__
        )
        self._f = cast(Any, f)
        self._target = target
        write = writer_of(target)
        if threads > 1 and not getattr(write, "threads", False):
            msg = (
                f"programs for {target!r} run on one thread of their own; leave threads={threads} "
                f"out, or write compile({self.__name__}, target='c', threads={threads})"
            )
            raise RuleError(msg)
        self._setting = Setting(
            self.__name__, frozenset(static), target, passes_of(target), write, threads
        )
        self._lock = threading.RLock()
        self._runs: tuple[Callable[..., Any], ...] = ()
        self.as_it_is, self._why = False, refusals.NOT_CALLED
        self._rolling = "loose" if getattr(write, "loops", False) else "never"
        self._unkept, self._age = 0, 0
        self._strict = strict
        self._unused: tuple[CompiledProgram, ...] = ()  # those recorded since one was used again
        self._static: frozenset[str] = frozenset()  # arguments that turned out to be static
        self._changed: set[str] = set()
        self._looks = False  # into objects among its arguments
        self._told: set[str] = set()
        self.programs: tuple[CompiledProgram, ...] = ()
        with _adding:
            _compiled.add(self)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function, for `inspect.getfullargspec`, which reads this alone."""
        try:
            return inspect.signature(self._f)
        except ValueError as error:  # of what is built in
            raise AttributeError(*error.args) from None

    __copied_as__ = staticmethod(operator.attrgetter("_f"))  # with other values: no program fits

    def forget(self) -> None:
        """Let the programs go: rules that they were recorded by may be others now."""
        self._age += 1  # without the lock: who holds it may be waiting for the table of rules
        self._runs, self.programs = (), ()

    def __call__(self, /, *args: P.args, **keywords: P.kwargs) -> R:
        """Run the program that fits the arguments; record one where there is none yet."""
        if self.as_it_is:
            return self._f(*args, **keywords)  # type: ignore[no-any-return]
        for run in self._runs:
            try:
                y = run(*args, **keywords) if keywords else run(*args)
            except Exception:
                continue
            if y is not MISS:
                if debugging.checks is not None:
                    self._debug(y, Plain(self._f, args, keywords))
                return y  # type: ignore[no-any-return]
        return self._record(args, keywords)  # type: ignore[no-any-return]

    def _debug(self, y: Any, plain: Plain) -> None:
        """Compare what a program gave with what its function gives."""
        expected, same = plain.result(), alike(y, plain)
        debugging.checks.compiled(self.__name__, y, expected, same)  # type: ignore[union-attr]

    def _record(self, args: Any, keywords: Any) -> Any:
        if is_traced((args, keywords)):
            return self._f(*args, **keywords)
        if len(self.programs) + self._unkept >= MOST:
            self._warn(none_fits(self.programs, self._unkept, self._why))
            return self._f(*args, **keywords)
        with collecting_later():
            return self._recorded(Plain(self._f, args, keywords))

    def _recorded(self, plain: Plain) -> Any:
        age = self._age
        if len(self._unused) >= IN_A_ROW and (why := why_in_a_row(self._unused)):
            self._stay(f"was recorded {IN_A_ROW} times in a row, and runs as it is: {why}")
            return plain.result()
        try:
            with self._lock:
                made = self._made(plain)
        except Traced:
            return plain.result()
        except Written as changes:
            return self._changing(changes.names, plain.result())
        except Unfit as unfit:
            return self._as_before(refusals.of_this_call(unfit), plain)
        except Exception as error:
            said = refusals.refusal(self.__name__, error, plain.result)
            return self._as_before(said, plain)
        y, raised = MISS, None
        try:
            y = made.run(*plain.args, **plain.keywords)
        except Exception as error:
            raised = error
        expected = plain.result()
        if is_traced(expected):  # by what an argument holds
            return expected
        if y is MISS and refusals.may_fit_others(raised, self._target):
            self._unkept += 1
            self._why = f"ran as it is, and is not a program yet: {refusals.OF_OTHER_NUMBERS}"
            return expected
        if y is MISS or not alike(y, plain):
            if age == self._age:  # no rule was stated anew meanwhile
                self._stay(refusals.another_result(raised))
            return expected
        if made.instead:
            self._warn(f"is {made.instead}")
        self._add(made, age)
        return y

    def _as_before(self, said: Unfit | RecordingError, plain: Plain) -> Any:
        """Call the function as it is: it is no program, once or for good."""
        if self._strict:
            self._why = f"is not a program: {said}"
            raise RecordingError(f"{self._called} {self._why}") from said.__cause__
        once, tell = getattr(said, "once", False), getattr(said, "tell", True)
        self._unkept += not tell
        if once:
            self._why = f"ran as it is, and is not a program yet: {said}"
            if tell:
                self._warn(f"runs as it is in this call: {said}")
        else:
            self._stay(f"is not a program, and runs as it is: {said}{place(said.__traceback__)}")
        return plain.result()

    def _changing(self, changed: list[str], y: Any) -> Any:
        """Return the result of a call that has changed something; if it does so again, warn."""
        again = self._changed & {*changed}
        self._changed |= {*changed}
        self._unkept += 1
        names = ", ".join(sorted(again or changed))
        if again:
            self._stay(
                f"is not a program, and runs as it is: each call changes {names}; "
                f"do that outside of it, and pass in what it needs"
            )
        else:
            self._why = f"changed {names}, and ran as it is; the next call is recorded"
        return y

    def _stay(self, why: str) -> None:
        """Warn that the function runs as it is from now on, and why; raise if that is an error."""
        self.as_it_is, self._why = True, why
        if self._strict:
            raise RecordingError(f"{self._called} {why}")
        self._warn(why)

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            warn(f"{self._called} {text}")

    def _made(self, plain: Plain) -> CompiledProgram:
        """Return a program; objects that only primitives take are no part of one from two on."""
        names = self.programs[0].objects if self.programs else frozenset[str]()
        if names and not self._looks:
            try:
                return self._made_with(names, plain)
            except Exception:  # which is raised once more, if it was not for that
                self._looks = True
        return self._made_with(frozenset(), plain)

    def _made_with(self, opaque: frozenset[str], plain: Plain) -> CompiledProgram:
        """Return a program; arguments of which it needs the value itself are static, if small."""
        found: list[BaseException] = []
        token = refused.set(found)
        try:
            while True:
                static = self._setting.static | self._static
                setting = self._setting._replace(static=static, opaque=opaque)
                make = functools.partial(Making, setting, plain)
                try:
                    made, self._rolling = with_scans(make, self._rolling, found)
                except Exception as error:
                    blame(error, found)
                    names = (
                        frozenset[str]().union(
                            *[getattr(each, "arguments", ()) for each in (error, *found)]
                        )
                        - self._static
                    )
                    if self._strict or not names:
                        raise
                    self._static |= names
                    found.clear()
                else:
                    return made
        finally:
            refused.reset(token)

    def _add(self, made: CompiledProgram, age: int) -> None:
        """Add a program; when it is used again, those recorded before it are no row any more."""
        run = made.run

        def first(*args: Any, **keywords: Any) -> Any:
            y = run(*args, **keywords)
            if y is not MISS:
                self._unused = ()
                with self._lock:
                    self._runs = tuple([run if each is first else each for each in self._runs])
            return y

        with self._lock:
            if age == self._age and len(self.programs) < MOST:  # a recursion has made more
                self.programs = (made, *self.programs)
                self._unused = (made, *self._unused)
                self._runs = (first, *self._runs)

    # ------------------------------------------------------------------------ what people look at

    @property
    def source(self) -> str:
        """The source of the newest program."""
        return self._newest().source

    def explain(self) -> str:
        """Return, for each program, what it is for, what passes left, what it asks, its bytes.

        Where there is none, or none any more, it is the reason.
        """
        found = [explained(program, self.__name__) for program in self.programs]
        why = [f"{self._called} {self._why}"] if self.as_it_is or not found else []
        return "\n\n".join([*found, *why])

    def save(self, path: Any) -> None:
        """Write the newest program to a file, as a module that needs NumPy alone.

        What it captures is written with it: it is the newest program for what that is now. One for
        the target ``"c"`` is written to a folder, as C.

        Raises
        ------
        RecordingError
            If it uses what cannot be written down, or what was captured has changed since, or if
            nothing can be written there.
        """
        program = unchanged(self.programs, self.__name__) if self.programs else self._newest()
        if program.scope.save is not None:
            write = functools.partial(program.scope.save, self.__name__)
            return written(path, write, f"a program for {self._target}")
        text = module_of(self.__name__, program.source, program.scope)
        return written(path, lambda place: write_module(place, text))

    def _newest(self) -> CompiledProgram:
        if not self.programs:
            msg = f"{self.__name__} {self._why}"
            raise RecordingError(msg)
        return self.programs[0]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        names = ("static", "target", "threads")
        settings = {name: getattr(self._setting, name) for name in names}
        settings["strict"] = self._strict
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


@overload
def compile_(
    f: Callable[P, R],
    /,
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    threads: int = 1,
    strict: bool = False,
) -> Compiled[P, R]: ...
@overload
def compile_(
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    threads: int = 1,
    strict: bool = False,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile_(
    f: Any = None,
    /,
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    threads: int = 1,
    strict: bool = False,
) -> Any:
    """Compile a function: each kind of arguments gets a program, a straight line of NumPy calls.

    Parameters
    ----------
    f : callable
        What is compiled: a function, or ``value_and_grad(f)``, ``hvp(f, ...)`` and their like, in
        any nesting. Without it a decorator is returned.
    static : int, str, or iterable of these
        Arguments, by place or name, that are the same in each run of a program: another value is
        another program. So are all that are no arrays and no floating numbers.
    target : str
        What the program is written for.
    threads : int
        How many threads a program may run on, where the target has any: results are the same.
    strict : bool
        Whether a function that is no program is an error, where it runs as it is otherwise, with a
        warning.

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
    """
    options: Any = {"threads": threads, "strict": strict}
    if f is None:
        return functools.partial(compile_, static=static, target=target, **options)
    listen()
    static = checked_static(f, static)
    if type(threads) is not int or threads < 1:
        msg = f"a program runs on {threads!r} threads; give a whole number from 1 on"
        raise RuleError(msg)
    return Compiled(f, static, target, **options)
