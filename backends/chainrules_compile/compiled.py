"""Compiled functions, with one program for each kind of arguments."""

from __future__ import annotations

import functools
import inspect
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, Generic, Never, ParamSpec, TypeVar, cast, final, overload

import numpy as np
from numpy.linalg import LinAlgError

from chainrules_compile import recording_refusals
from chainrules_compile.compile_one_call import CompiledProgram, Making, Plain, Setting
from chainrules_compile.entry_and_exit_source import checked_static
from chainrules_compile.error_origin import blame, is_not_finite, place
from chainrules_compile.errors import (
    MISS,
    RecordingError,
    RecordingWarning,
    Traced,
    Unfit,
    Written,
    refused,
)
from chainrules_compile.explain_program import explained
from chainrules_compile.garbage_collection import collecting_later
from chainrules_compile.guards import is_in_use
from chainrules_compile.internal_functions import name_of
from chainrules_compile.passes import passes_of
from chainrules_compile.primitive_calls import listen
from chainrules_compile.recompilation_reasons import none_fits, why_in_a_row
from chainrules_compile.result_checks import close, coarsest, moved_results
from chainrules_compile.save import module_of, unchanged, write_module, written
from chainrules_compile.scan_primitive import with_scans
from chainrules_compile.writers import writer_of
from chainrules_py import RuleError, debug_hooks
from chainrules_py.extend import (
    Lock,
    flatten,
    made_again,
    map_leaves,
    on_change,
    warn_program,
    where_defined,
)

P = ParamSpec("P")
R = TypeVar("R")

MOST = 32
"""Maximum number of programs of a function."""
WORTH = 2
"""A recording is worth its time after calls that would take as many times that time uncompiled.

Even if a program saves nothing, the function then takes at most 1.5 times what it takes uncompiled.
"""


def is_traced(x: Any) -> bool:
    """Return whether a structure holds what is being differentiated, or recorded."""
    return any(map(is_in_use, flatten(x)[0]))


def alike(y: Any, plain: Plain, programs: Iterable[CompiledProgram]) -> bool:
    """Return whether the result of one of the programs equals that of the function to rounding."""
    given = plain.args, plain.keywords
    moved = functools.partial(moved_results, plain.f, *given)
    rounding = max([coarsest(made.recorded) for made in programs])
    return close(y, plain.result(), moved, rounding, given)


@final
class Compiled(Generic[P, R]):
    """Function with a program for each kind of arguments that it has been called with.

    Attributes
    ----------
    programs : tuple of CompiledProgram
        The programs recorded so far, newest first.
    as_it_is : bool
        Whether all calls run the original function.
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
        self._called = (  # for messages
            f"<lambda> ({where_defined(f)})"
            if getattr(f, "__name__", "") == "<lambda>"
            else self.__name__
        )
        self._f, self._target = cast(Any, f), target
        write = writer_of(target)
        if threads > 1 and not getattr(write, "threads", False):
            raise RuleError(
                f"programs for {target!r} run on one thread of their own; leave threads={threads} "
                f"out, or write compile({self.__name__}, target='c', threads={threads})"
            )
        self._setting = Setting(
            self.__name__, frozenset(static), target, passes_of(target), write, threads
        )
        self._lock = Lock()
        self._runs: tuple[Callable[..., Any], ...] = ()
        self.as_it_is = False
        self._why = "was not called yet with plain arguments, so there is no program; call it first"
        self._rolling = "loose" if getattr(write, "loops", False) else "never"
        self._unkept, self._age = 0, 0
        self._strict = strict
        self._row: tuple[CompiledProgram, ...] = ()  # newest first, recorded while `_owed`
        self._owed = 0.0  # number of calls after which the recordings are worth their time
        self._full = False  # whether only the present programs are run
        self._static: dict[str, str] = {}  # arguments that became static, and the refusals
        self._changed: set[str] = set()
        self._looks = False  # whether objects among the arguments must be inspected
        self._told: set[str] = set()
        self.programs: tuple[CompiledProgram, ...] = ()
        with _adding:
            _compiled.add(self)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function; `inspect.getfullargspec` reads only this attribute."""
        try:
            return inspect.signature(self._f)
        except ValueError as error:  # raised for builtins
            raise AttributeError(*error.args) from None

    __copied_as__ = staticmethod(operator.attrgetter("_f"))  # no program fits other values

    def forget(self) -> None:
        """Drop the programs: the rules that they were recorded with may have changed."""
        self._age += 1  # without the lock, whose owner may be waiting for the table of rules
        self._runs, self.programs, self._row = (), (), ()
        self._owed, self._full = 0.0, False

    def __call__(self, /, *args: P.args, **keywords: P.kwargs) -> R:
        """Run the program that fits the arguments; record one if none does."""
        if self.as_it_is:
            return self._own(self._f(*args, **keywords), args, keywords)  # type: ignore[no-any-return]
        for run in self._runs:
            try:
                y = run(*args, **keywords) if keywords else run(*args)
            except TimeoutError:  # of a signal handler, not of the program
                raise
            except Exception:
                continue
            if y is not MISS:
                if debug_hooks.checks is not None:
                    plain = Plain(self._f, args, keywords)
                    debug_hooks.checks.compiled(
                        self.__name__, y, plain.result(), alike(y, plain, self.programs)
                    )
                return y  # type: ignore[no-any-return]
        return self._record(args, keywords)  # type: ignore[no-any-return]

    def _record(self, args: Any, keywords: Any) -> Any:
        if self._full or is_traced((args, keywords)):
            return self._own(self._f(*args, **keywords), args, keywords)
        if self._unkept + len(self.programs) * (self._owed > 0) >= MOST:
            self._full = True  # the text of the warning takes longer than most functions
            self._warn(none_fits(self.programs, self._unkept, self._why, self._static))
            return self._own(self._f(*args, **keywords), args, keywords)
        with collecting_later():
            return self._own(self._recorded(Plain(self._f, args, keywords)), args, keywords)

    def _own(self, y: Any, args: Any, keywords: Any) -> Any:
        """Copy the arguments and captured arrays in a result, as programs do, once there are any.

        A function that never becomes a program may return what it wrote to: that is no copy.
        """
        if not self.programs:
            return y
        captured = [part.base for made in self.programs for _, part, _ in made.guards.samples]
        given = [x for x in (*flatten((args, keywords))[0], *captured) if type(x) is np.ndarray]
        is_given: Callable[[Any], bool] = lambda x: any(
            type(x) is np.ndarray and np.may_share_memory(x, z) for z in given
        )
        return map_leaves(lambda x: x.copy("K") if is_given(x) else x, y)

    def _recorded(self, plain: Plain) -> Any:
        age, started = self._age, perf_counter()
        if why := why_in_a_row(self._row, self._static):
            self._stay(f"was {why}")
            return plain.result()
        try:
            with self._lock:
                made = self._made(plain)
        except Traced as said:
            self._why = f"ran as it is, and is not a program yet: {said}"
            return plain.result()
        except Written as changes:
            return self._changing(changes.names, plain.result())
        except TimeoutError:
            raise
        except Exception as error:
            return self._as_before(
                recording_refusals.refusal(self.__name__, error, plain.result), plain
            )
        y, raised = MISS, None
        try:
            y = made.run(*plain.args, **plain.keywords)
        except TimeoutError:
            raise
        except Exception as error:
            raised = error
        expected = plain.result()
        if is_traced(expected):  # through an object that an argument holds
            return expected
        # A program that fails may fit other numbers, as where a matrix has no factor.
        if y is MISS and (
            isinstance(raised, LinAlgError) or (raised is None and self._target != "numpy")
        ):
            self._unkept += 1
            self._why = (
                "ran as it is, and is not a program yet: what was written does not fit the numbers "
                "of this call, as where a matrix has no factor"
            )
            return expected
        if y is MISS or not alike(y, plain, [made]):
            if age == self._age:  # no rule was redefined meanwhile
                self._differing(raised)
            return expected
        if made.instead:
            self._warn(f"is {made.instead}")
        self._add(made, age, (perf_counter() - started) / (plain.seconds or 1e-9) - 1)
        return y

    def _as_before(self, said: Unfit | RecordingError, plain: Plain) -> Any:
        """Call the original function; keep doing so if the reason is permanent."""
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
            self._stay(
                f"is not a program, and runs as it is: {said}"
                + place(said) * ("\n" not in str(said))
            )
        return plain.result()

    def _changing(self, changed: list[str], y: Any) -> Any:
        """Return the result of a call that changed something; warn if it changes it again."""
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

    def _differing(self, raised: Exception | None) -> None:
        """Note that a program gave another result than the function.

        In C the last digits differ, which are all that is left where numbers cancel: other numbers
        may leave more, so the function runs uncompiled from the second time on.
        """
        once = recording_refusals.another_result(raised, "runs as it is in this call")
        if self._strict or raised is not None or self._target == "numpy" or once in self._told:
            self._stay(recording_refusals.another_result(raised))
        else:
            self._unkept += 1
            self._why = once
            self._warn(once)

    def _stay(self, why: str) -> None:
        """Warn that the function runs uncompiled from now on, and why; raise if `strict`."""
        self._why = why
        if self._strict:
            raise RecordingError(f"{self._called} {why.replace(', and runs as it is', '')}")
        self.as_it_is = True
        self._warn(why)

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            warn_program(f"{self._called} {text}", RecordingWarning)

    def _made(self, plain: Plain) -> CompiledProgram:
        """Return a program; from the second on, objects that only primitives take are opaque."""
        names = self.programs[0].objects if self.programs else frozenset[str]()
        if names and not self._looks:
            try:
                return self._made_with(names, plain)
            except TimeoutError:
                raise
            except Exception:  # raised again below unless opaque objects caused it
                self._looks = True
        return self._made_with(frozenset(), plain)

    def _made_with(self, opaque: frozenset[str], plain: Plain) -> CompiledProgram:
        """Return a program; small arguments whose concrete value is needed become static."""
        found: list[BaseException] = []
        token = refused.set(found)
        try:
            while True:
                setting = self._setting._replace(
                    static=self._setting.static | self._static.keys(), opaque=opaque
                )
                try:
                    made, self._rolling = with_scans(
                        functools.partial(Making, setting, plain), self._rolling, found
                    )
                except Exception as error:
                    blame(error, found)
                    needed = {
                        name: str(each)
                        for each in (error, *found)
                        for name in getattr(each, "arguments", ())
                        if name not in self._static
                    }
                    stops = self._strict or isinstance(error, TimeoutError)
                    if stops or not needed or is_not_finite(error):
                        raise
                    self._static |= needed
                    found.clear()
                else:
                    made.static |= {k: fact for k, fact in made.facts if k in self._static}
                    return made
        finally:
            refused.reset(token)

    def _add(self, made: CompiledProgram, age: int, took: float) -> None:
        """Add a program, instead of the oldest if there are too many.

        The recording `took` the time of so many calls of the function. From the second program on,
        calls are counted until they were worth that.
        """
        with self._lock:
            if age == self._age:  # no rule was redefined meanwhile
                self._owed += WORTH * took * bool(self.programs)
                self.programs = (made, *self.programs[: MOST - 1])
                self._row = (made, *self._row)
                self._runs = tuple([self._counted(each) for each in self.programs])

    def _counted(self, made: CompiledProgram) -> Callable[..., Any]:
        """Return the program; it counts its calls, until all recordings are worth their time."""

        def run(*args: Any, **keywords: Any) -> Any:
            y = made.run(*args, **keywords)
            if y is not MISS:
                made.recurs |= made is not self.programs[0]
                self._owed -= 1
                if self._owed <= 0:
                    with self._lock:
                        self._row, self._owed = (), 0.0
                        self._runs = tuple([each.run for each in self.programs])
            return y

        return run

    # ------------------------------------------------------------------------ introspection

    @property
    def source(self) -> str:
        """The source of the newest program."""
        return self._newest().source

    def explain(self) -> str:
        """Return, for each program, its arguments, its passes, its guards and its allocations.

        If there is no program, or the function runs uncompiled, the text gives the reason.
        """
        found = [explained(program, self.__name__) for program in self.programs]
        why = [f"{self._called} {self._why}"] if self.as_it_is or not found else []
        return "\n\n".join([*found, *why])

    def save(self, path: Any) -> None:
        """Write the newest program to a file, as a module that needs only NumPy.

        Captured values are written with it: the program must match what the function captures now.
        A program for the target ``"c"`` is written to a folder, as C.

        Raises
        ------
        RecordingError
            If the program uses an object that cannot be saved, if captured values have changed, or
            if the path cannot be written to.
        """
        program = unchanged(self.programs, self.__name__) if self.programs else self._newest()
        if program.scope.save is not None:
            write = functools.partial(program.scope.save, self.__name__)
            return written(path, write, f"a program for {self._target}")
        text = module_of(self.__name__, program.source, program.scope, program.facts)
        return written(path, lambda place: write_module(place, text))

    def _newest(self) -> CompiledProgram:
        if not self.programs:
            raise RecordingError(f"{self._called} {self._why}")
        return self.programs[0]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        named = {name: getattr(self._setting, name) for name in ("static", "target", "threads")}
        return made_again(self, compile, (self._f,), named | {"strict": self._strict})

    def __repr__(self) -> str:
        return f"<compiled {self.__name__} with {len(self.programs)} programs for {self._target}>"


_compiled: weakref.WeakSet[Compiled[Any, Any]] = weakref.WeakSet()
_adding = Lock()


def _forget_all() -> None:
    with _adding:
        found = tuple(_compiled)
    for each in found:
        each.forget()


on_change.append(_forget_all)


@overload
def compile(
    f: Callable[P, R],
    /,
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    threads: int = 1,
    strict: bool = False,
) -> Compiled[P, R]: ...
@overload
def compile(
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    threads: int = 1,
    strict: bool = False,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile(
    f: Any = None,
    /,
    *,
    static: int | str | Iterable[int | str] = (),
    target: str = "numpy",
    threads: int = 1,
    strict: bool = False,
    **misspelled: Never,
) -> Any:
    """Compile a function: each kind of arguments gets a program, a straight line of NumPy calls.

    Parameters
    ----------
    f : callable
        The function to compile, such as ``value_and_grad(f)`` or ``hvp(f, ...)``, in any nesting.
        Without it a decorator is returned.
    static : int, str, or iterable of these
        Arguments, by index or name, that are constant in a program: another value gets another
        program. Arguments that are neither arrays nor floating numbers are always static.
    target : str
        The target that programs are written for, as ``"numpy"`` or ``"c"``.
    threads : int
        How many threads a program may run on, if the target supports threads; results are the same.
    strict : bool
        Whether a function that cannot be compiled raises; otherwise it runs uncompiled, with a
        warning.

    Returns
    -------
    Compiled
        A function that gives what f gives. ``source`` is the source of its newest program.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_compile import compile
    >>> from chainrules_tape import grad
    >>> slope = compile(grad(lambda x: np.sum(np.sin(x) * x)))
    >>> slope(np.array([0.0, 1.0]))
    array([0.        , 1.38177329])
    """
    for name in misspelled:
        import difflib  # only needed for a mistyped name

        meant = difflib.get_close_matches(name, ("static", "target", "threads", "strict"), 1, 0.5)
        write = f"did you mean {meant[0]}?" if meant else "help(compile) lists what it takes"
        raise TypeError(f"compile() got an unexpected keyword argument {name!r}; {write}")
    options: Any = {"threads": threads, "strict": strict}
    if f is None:
        return functools.partial(compile, static=static, target=target, **options)
    listen()
    static = checked_static(f, static)
    if type(threads) is not int or threads < 1:
        raise RuleError(f"a program runs on {threads!r} threads; give a whole number from 1 on")
    return Compiled(f, static, target, **options)
