"""Compiled functions: programs for each kind of arguments, recorded when they are first seen."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Generic, ParamSpec, TypeVar, final, overload

from chainrules_compile import refusals
from chainrules_compile.background import TOLERATED, WORTH, Trial
from chainrules_compile.blame import blame
from chainrules_compile.calls import name_of
from chainrules_compile.collecting import collecting_later
from chainrules_compile.entry import checked_static
from chainrules_compile.errors import MISS, RecordingError, Traced, Unfit, refused, warn
from chainrules_compile.explaining import explained
from chainrules_compile.halves import GivesFunctions, Halves
from chainrules_compile.host import listen
from chainrules_compile.kept import FOLDER, Kept
from chainrules_compile.making import CompiledProgram, Making, Setting
from chainrules_compile.noted import Noted
from chainrules_compile.passes import passes_of
from chainrules_compile.reasons import none_fits
from chainrules_compile.results import close, moved_results, same, tried
from chainrules_compile.save import module_of, unchanged, write_module, written
from chainrules_compile.scans import once_imported, way_of, with_scans
from chainrules_compile.writers import writer_of
from chainrules_py import RuleError, debugging
from chainrules_py.extend import Tracer, flatten, lock_of_a_table, made_again, on_change

P = ParamSpec("P")
R = TypeVar("R")

MOST = 32
"""How many programs a function has at most; what none of them fits runs as it is."""


@final
class Compiled(Generic[P, R]):
    """Function with a program for each kind of arguments that it was called with.

    Attributes
    ----------
    programs : tuple of CompiledProgram
        Those recorded so far, the newest first.
    as_it_is : bool
        Whether the function runs as it is.
    beside : callable
        What is called beside a program, and in place of one: the function.
    """

    def __init__(
        self,
        f: Callable[P, R],
        static: Iterable[int | str],
        target: str,
        exact: bool,
        keep: bool,
        background: bool,
        threads: int,
    ) -> None:
        functools.update_wrapper(self, f)
        self.__name__ = name_of(f)
        self._f: Any = f
        self.beside: Any = f
        self._target = target
        self._exact = exact
        write = writer_of(target)
        if exact and not getattr(write, "keeps_bits", True):
            msg = (
                f"programs for {target!r} round otherwise than NumPy; write "
                f"compile({self.__name__}, target={target!r}, exact=False)"
            )
            raise RuleError(msg)
        if threads > 1 and not getattr(write, "threads", False):
            msg = (
                f"programs for {target!r} run on one thread of their own; leave threads={threads} "
                f"out, or write compile({self.__name__}, target='c', threads={threads})"
            )
            raise RuleError(msg)
        passes = passes_of(target, exact, getattr(write, "passes", None))
        self._setting = Setting(
            self.__name__, frozenset(static), exact, target, passes, write, keep,
            background and target != "numpy" and not hasattr(write, "arrays"), threads,
        )  # fmt: skip
        self._lock = threading.RLock()
        self._runs: tuple[Callable[..., Any], ...] = ()
        self.as_it_is, self._why = False, refusals.NOT_CALLED
        self._rolling = way_of(getattr(write, "loops", False), exact)
        self._unkept, self._age = 0, 0
        self._changed: set[str] = set()
        self._told: set[str] = set()
        self.programs: tuple[CompiledProgram, ...] = ()
        self._halves: Halves | None = None
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
            return self.beside(*args, **keywords)  # type: ignore[no-any-return]
        for run in self._runs:
            try:
                y = run(*args, **keywords) if keywords else run(*args)
            except Exception:
                continue
            if y is not MISS:
                if debugging.checks is not None:
                    self._debug(y, args, keywords)
                return y  # type: ignore[no-any-return]
        return self._record(args, keywords)  # type: ignore[no-any-return]

    def _debug(self, y: Any, args: Any, keywords: Any) -> None:
        """Compare what a program gave with what its function gives."""
        expected = self.beside(*args, **keywords)
        same = self._alike(y, expected, args, keywords)
        debugging.checks.compiled(self.__name__, y, expected, same)  # type: ignore[union-attr]

    def _record(self, args: Any, keywords: Any) -> Any:
        f = self.beside
        if any([isinstance(x, (Noted, Tracer)) for x in flatten((args, keywords))[0]]):
            return f(*args, **keywords)
        if self._halves is not None:
            y = self._halves(args, keywords)
            self.programs = (*self._halves.values.programs, *self._halves.given.programs)
            return y
        if len(self.programs) + self._unkept >= MOST:
            self._warn(none_fits(self.programs, self._unkept, self._why))
            return f(*args, **keywords)
        with collecting_later():
            return self._recorded(args, keywords)

    def _recorded(self, args: Any, keywords: Any) -> Any:
        f, age, kept = self.beside, self._age, None
        try:
            if self._setting.keep:
                y, kept = self._found(args, keywords)
                if y is not MISS:
                    return y
            with self._lock:
                made = self._made(args, keywords, kept)
        except Traced:
            return f(*args, **keywords)
        except Unfit as said:
            return self._as_before(said, args, keywords)
        except GivesFunctions:
            self._halves = Halves(self._f, self._setting.static, self._like, self._stay)
            return self._record(args, keywords)
        except Exception as error:
            why = refusals.refusal(self.__name__, error, lambda: f(*args, **keywords))
            if isinstance(why, Unfit):
                return self._as_before(why, args, keywords)
            self._why = f"has no program: {why}"
            raise why from why.__cause__
        y, raised = tried(made.run, args, keywords, made.recorded.functions)
        expected = f(*args, **keywords)
        if changed := made.settle():
            return self._changing(changed, expected)
        if y is MISS and refusals.may_fit_others(raised, self._target):
            self._unkept += 1
            self._why = f"ran as it is, and is no program yet: {refusals.OF_OTHER_NUMBERS}"
            return expected
        if y is MISS or not self._alike(y, expected, args, keywords):
            if age == self._age:  # no rule was stated anew meanwhile
                self._stay(refusals.another_result(self._exact, raised))
            return expected
        if made.instead:
            self._warn(f"is {made.instead}")
        self._add(made, age)
        made.keep()
        if kept is not None and kept.stale:  # told now: who makes warnings errors has it anew, too
            self._warn("was kept on disk as a program that gives another result; it is made anew")
        return y

    def _alike(self, y: Any, expected: Any, args: Any, keywords: Any) -> bool:
        moved = functools.partial(moved_results, self._f, args, keywords)
        return same(y, expected) if self._exact else close(y, expected, moved)

    def _like(self, f: Callable[..., Any], static: Iterable[int | str]) -> Compiled[..., Any]:
        """Compile another function like this one."""
        s = self._setting
        return Compiled(f, static, s.target, s.exact, s.keep, s.background, s.threads)

    def _as_before(self, said: Unfit, args: Any, keywords: Any) -> Any:
        """Call the function as it is: it is no program, once or for good."""
        self._unkept += not said.tell
        if said.once:
            self._why = f"ran as it is, and is no program yet: {said}"
            if said.tell:
                self._warn(f"runs as it is in this call: {said}")
        else:
            self._stay(f"is no program, and runs as it is: {said}")
        return self.beside(*args, **keywords)

    def _changing(self, changed: list[str], y: Any) -> Any:
        """Return the result of a call that has changed something; if it does so again, warn."""
        again = self._changed & {*changed}
        self._changed |= {*changed}
        self._unkept += 1
        names = ", ".join(sorted(again or changed))
        if again:
            self._stay(f"is no program, and runs as it is: each call changes {names}")
        else:
            self._why = f"changed {names}, and ran as it is; the next call is recorded"
        return y

    def _stay(self, why: str) -> None:
        """Warn that the function runs as it is from now on, and why."""
        self.as_it_is, self._why = True, why
        self._warn(why)

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            warn(f"{self.__name__} {text}")

    def _made(self, args: Any, keywords: Any, kept: Kept | None) -> CompiledProgram:
        found: list[BaseException] = []
        token = refused.set(found)
        try:
            make = once_imported(lambda: self._making(args, keywords).recorded(kept), found)
            made, self._rolling = with_scans(make, self._rolling, found)
            return made
        except Exception as error:
            blame(error, found)
            raise
        finally:
            refused.reset(token)

    def _making(self, args: Any, keywords: Any) -> Making:
        return Making(self._setting, self._f, args, keywords)

    def _found(self, args: Any, keywords: Any) -> tuple[Any, Kept | None]:
        """Return the result of a program from the disk, or ``MISS``; and where another is kept."""
        making = self._making(args, keywords)
        kept = making.kept()
        texts = [] if kept is None else kept.texts()
        if kept is None or not texts:
            FOLDER.misses += kept is not None
            return MISS, kept
        expected = self.beside(*args, **keywords)  # and rules come to be known that load late
        changed = making.state.changed()
        if changed:
            return self._changing(changed, expected), None
        for path, text in texts:
            made = self._making(args, keywords).restored(kept, text)
            y = MISS
            with contextlib.suppress(Exception):
                y = y if made is None else made.run(*args, **keywords)
            if made is None or y is MISS:
                continue
            if self._alike(y, expected, args, keywords):
                FOLDER.hits += 1
                self._add(made, self._age)
                return y, None
            with contextlib.suppress(OSError):
                path.unlink()
            kept.stale = True
        FOLDER.misses += 1
        return MISS, kept

    def _add(self, made: CompiledProgram, age: int) -> None:
        serving = made.serving
        if serving is not None:
            made.run = serving
            serving.gives_way = functools.partial(_given_way, weakref.ref(self), made)
        with self._lock:
            if age == self._age and len(self.programs) < MOST:  # a recursion has made more
                self.programs = (made, *self.programs)
                self._runs = (made.run, *self._runs)
        if serving is not None:
            serving.begin()

    def _give_way(
        self, made: CompiledProgram, other: Any, args: Any, keywords: Any, y: Any
    ) -> bool:
        """Put a program in the place of the one that served, if it gives the same."""
        target, found, took = self._target, other, 0.0
        if isinstance(other, CompiledProgram):
            if other.instead:
                self._warn(f"is {other.instead}")
                return True
            begun = time.perf_counter()
            try:
                found = other.run(*args, **keywords)
            except Exception as error:
                found = error
            took = time.perf_counter() - begun
            if found is MISS:
                return False
        if isinstance(found, Exception) or not self._alike(found, y, args, keywords):
            how = f"raised {found!r}" if isinstance(found, Exception) else "gave another result"
            self._warn(f"stays a program for NumPy: what was written for {target!r} {how}")
            return True
        served = made.serving
        assert served is not None
        if served.took > WORTH and took > TOLERATED * served.took:
            settle = functools.partial(self._settle, made, other)
            trial = Trial(served.run, other.run, settle)
            self._replace(made, made, trial)
            made.run = trial
        else:
            self._replace(made, other, other.run)
        return True

    def _settle(self, made: CompiledProgram, other: CompiledProgram, _: Any, wins: bool) -> None:
        """Have the program serve that took less time, of two that gave the same."""
        assert made.serving is not None
        run = other.run if wins else made.serving.run
        self._replace(made, other if wins else made, run)
        made.run = run

    def _replace(self, made: CompiledProgram, by: CompiledProgram, new: Any) -> None:
        """Put a program, and what runs, in the place of one."""
        with self._lock:
            self.programs = tuple([by if each is made else each for each in self.programs])
            self._runs = tuple([new if run is made.run else run for run in self._runs])

    def wait(self) -> None:
        """Wait until the programs that are made in the background are made.

        The next call of each compares it with the one that served, and then it serves.

        Examples
        --------
        >>> import numpy as np
        >>> from chainrules_compile import compile
        >>> f = compile(lambda x: x * x, target="c")
        >>> f(np.ones(3))
        array([1., 1., 1.])
        >>> f.wait()
        """
        for program in self.programs:
            if program.serving is not None:
                program.serving.wait()

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
        why = [f"{self.__name__} {self._why}"] if self.as_it_is or not found else []
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
        self.wait()
        program = unchanged(self.programs, self.__name__) if self.programs else self._newest()
        if program.scope.save is not None:
            write = functools.partial(program.scope.save, self.__name__)
            return written(path, write, f"a program for {self._target}")
        source = program.source if program.standby is None else program.standby.made()[1]
        text = module_of(self.__name__, source, program.scope, self._f)
        return written(path, lambda place: write_module(place, text))

    def _newest(self) -> CompiledProgram:
        if not self.programs:
            msg = f"{self.__name__} {self._why}"
            raise RecordingError(msg)
        return self.programs[0]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        names = ("static", "target", "exact", "keep", "background", "threads")
        settings = {name: getattr(self._setting, name) for name in names}
        return made_again(self, compile_, (self._f,), settings)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__} with {len(self.programs)} programs for {self._target}>"


def _given_way(to: weakref.ref[Compiled[Any, Any]], made: CompiledProgram, *given: Any) -> bool:
    compiled = to()
    return compiled is None or compiled._give_way(made, *given)


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
    exact: bool = True,
    keep: bool = False,
    background: bool = True,
    threads: int = 1,
) -> Compiled[P, R]: ...
@overload
def compile_(
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    exact: bool = True,
    keep: bool = False,
    background: bool = True,
    threads: int = 1,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile_(
    f: Any = None,
    /,
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    exact: bool = True,
    keep: bool = False,
    background: bool = True,
    threads: int = 1,
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
    exact : bool
        Whether results have the bits that the function gives without it. Otherwise whole powers
        are products, a quotient by a number is a product, numbers that are multiplied meet, sums
        of products and products of matrices with vectors are BLAS's, and what is solved with a
        factor of Cholesky's is solved as a triangle: some units in the last place of what is
        added up.
    keep : bool
        Whether programs for NumPy are kept on disk, for other processes: in the folder
        ``chainrules_compile`` of the user's caches, or in the one that the variable
        ``CHAINRULES_COMPILE_CACHE`` names.
    background : bool
        Whether a program for NumPy serves until the one for another target is made, in a thread of
        its own, and has given the same in one call. Otherwise the first call takes that time.
    threads : int
        How many threads a program may run on, where the target has any: results are the same.

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
    options: Any = {"exact": exact, "keep": keep, "background": background, "threads": threads}
    if f is None:
        return functools.partial(compile_, static=static, target=target, **options)
    listen()
    static = checked_static(f, static)
    if type(threads) is not int or threads < 1:
        msg = f"a program runs on {threads!r} threads; give a whole number from 1 on"
        raise RuleError(msg)
    return Compiled(f, static, target, **options)
