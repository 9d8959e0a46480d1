"""Checks of functions and rules where a program uses them: they run again, and are compared.

No code or object is inspected, except for the names that a rule's functions captured, which appear
in messages. So the checks are slow, and report only what happened.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import threading
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final

import numpy as np

from chainrules_py import debug_hooks
from chainrules_py.errors import ChainRulesError, MutationError, NanError, describe
from chainrules_py.ops.manipulation import copy as copy_array
from chainrules_py.primitives.closures.convert import closed_and_generators
from chainrules_py.primitives.method_table import invalidate
from chainrules_py.primitives.plugins import default_engine
from chainrules_py.registry.bind.bind import annotate
from chainrules_py.registry.table import name_of
from chainrules_py.tangents.arithmetic import scale
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.testing.cases.backends import to_numpy
from chainrules_py.testing.cases.coordinates import random_tangent
from chainrules_py.testing.structure_checks import check_rebuilt
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.locks_and_modes import Mode
from chainrules_py.values.object_contents import cells
from chainrules_py.values.pytree import flatten, map_leaves
from chainrules_py.values.random_generators import is_generator, states
from chainrules_py.values.type_info import type_info


class DebugError(ChainRulesError, AssertionError):
    """A function or rule depends on more than its operands: it gave another value when rerun.

    Raised only inside `debug`. A write to an argument raises `MutationError` there.
    """


@contextlib.contextmanager
def debug(*, nans: bool = True) -> Iterator[None]:
    """Check functions and rules where they are used, by running them more than once.

    Every function that is differentiated inside must give the same value when it runs again, with
    and without tracing. Every user-defined rule must give the value of the function, and must not
    write to its arguments or saved values; its push and pull must give the same result twice, and
    at the time of the pull the same as at the call. A compiled program must give the result of its
    function. Arrays that a derivative depends on are compared in every element.

    Parameters
    ----------
    nans : bool
        Whether it is an error if a call without NaN in its arguments gives a NaN.

    Raises
    ------
    DebugError
        By the checked call; the message names the function or rule, the difference and the remedy.
    MutationError
        For a write to an argument or a saved value of a rule, or to an array of a gradient.
    NanError
        For a NaN.

    Notes
    -----
    The checks hold in the block, in its thread or task. Functions run more often than otherwise, so
    that what they print is printed again. Random numbers are drawn again from the same states, for
    NumPy's global generators, and those that a function captured, has as an argument or finds in
    its module. ``CHAINRULES_DEBUG=1`` in the environment turns the checks on for the whole program.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> with debug():
    ...     grad(lambda x: np.sum(x * x))(np.ones(3))
    array([2., 2., 2.])
    """
    trap = getattr(default_engine(), "debug_nans", None) if nans else None
    start()
    try:
        with _on.set(), _trap.set(nans), trap() if trap else contextlib.nullcontext():
            yield
    finally:
        _stop()


_on, _trap = Mode("debug"), Mode("nans")
_lock = threading.Lock()
_blocks = 0


def start(*, everywhere: bool = False) -> None:
    """Bind rules with their checks from now on, which run in blocks, or everywhere."""
    global _blocks
    with _lock:
        _blocks += 1
        if _blocks == 1:
            debug_hooks.checks = Running(everywhere)
            invalidate()  # engines cache bound rules


def _stop() -> None:
    global _blocks
    with _lock:
        _blocks -= 1
        if _blocks == 0:
            debug_hooks.checks = None
            invalidate()


@final
class Running:
    """The checks of `debug`, and of the conduct of a rule in `check_rule`.

    Parameters
    ----------
    everywhere : bool
        Whether they run outside of blocks, in all threads.
    nans : bool
        Whether a NaN is an error there.
    ours : bool
        Whether the library's own rules are checked as well.
    """

    def __init__(self, everywhere: bool = False, *, nans: bool = True, ours: bool = False) -> None:
        self.everywhere, self.nans, self.ours = everywhere, nans, ours
        self._here = threading.local()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Yield whether to check a call: it is in a block, and not part of another check."""
        if not (self.everywhere or _on.get()):
            yield False
            return
        first = not getattr(self._here, "on", False)
        self._here.on = True
        try:
            yield first
        finally:
            self._here.on = not first

    # ------------------------------------------------------------------------------- functions

    def function(self, f: Callable[..., Any], primals: tuple[Any, ...]) -> Callable[[Any], None]:
        """Return a check that raises if a function gives another value than while it is traced."""
        with self._alone() as first:
            if not first or not is_plain(primals):
                return lambda y: None
        given, draws = copied(primals), generators([f], flatten(primals)[0])
        return lambda y: self._check_function(f, given, draws, y)

    def _check_function(self, f: Any, primals: tuple[Any, ...], draws: Any, y: Any) -> None:
        with self._alone(), _quietly():
            with draws():
                again = f(*copied(primals))
            if (problem := different(y, again)) is None:
                return
            with draws():
                third = f(*copied(primals))
        name = name_of(f)
        if different(again, third) is None:
            msg = (
                f"{name} gives another value while it is differentiated: {problem}; it asks for "
                f"the class or identity of its arguments, or keeps an earlier result: compute the "
                f"value from the arguments alone"
            )
        else:
            msg = (
                f"{name} gives another value when it runs again: {problem}; it draws random "
                f"numbers or changes what it reads: pass the generator or the state as an "
                f"argument, and return the new state"
            )
        raise DebugError(msg)

    def rebuilt(self, x: Any, new: Any, values: Sequence[Any]) -> None:
        """Raise if a registered structure was rebuilt around other values than the given ones."""
        if self.everywhere or _on.get():
            check_rebuilt(x, new, values)

    def compiled(self, name: str, y: Any, expected: Any, same: bool) -> None:
        """Raise if a compiled program gave another result than its function."""
        if not same and (self.everywhere or _on.get()):
            problem = different(y, expected) or "it differs in its last digits"
            raise DebugError(
                f"the compiled {name} gives another result than {name} itself: {problem}; what it "
                f"looks up outside of its arguments has changed: pass that as an argument"
            )

    # ----------------------------------------------------------------------------------- rules

    def bound(self, bound: Any, mode: str, primal: Callable[..., Any]) -> Any:
        """Return a bound rule that is checked at each call, if it is user-defined."""
        if bound.statement.source.is_ours and not self.ours:
            return bound
        new = copy.copy(bound)
        new.maps = new.pull_into = None
        new.run = functools.partial(self._run, bound, mode, primal)
        return new

    def _run(
        self, bound: Any, mode: str, primal: Any, given: Any, /, *xs: Any, **options: Any
    ) -> Any:
        """Run a rule with its checks; where operands are traced, these run at their values."""
        checked = self._run_forward if mode == "forward" else self._run_record
        with self._alone() as first:
            if not first:
                return bound.run(given, *xs, **options)
            rule, ts = Named(bound.statement), given if mode == "forward" else ()
            if is_plain((ts, xs, options)):
                return checked(rule, bound, mode, primal, given, xs, options)
            found = bound.run(given, *xs, **options)
            if (plain := plain_value((ts, xs, options))) is None:
                return found
            with rule.draws():
                there = checked(rule, bound, mode, primal, plain[0] or given, *plain[1:])
            return found if mode == "forward" else self._checked_beside(bound, mode, found, there)

    def _checked_beside(self, bound: Any, mode: str, found: Any, there: Any) -> Any:
        """Return the record of traced operands; its halves also run the checks at their values."""
        (y, record), (_, plain), n = found, there, 1 + (mode == "both")
        halves = [
            annotate(functools.partial(_run_both, *pair, plain[2:]), bound, batched=pair[0].batched)
            for pair in zip(record[:n], plain[:n], strict=True)
        ]
        return y, (*halves, *record[n:])

    def _run_forward(
        self, rule: Named, bound: Any, _: str, primal: Any, ts: Any, xs: Any, options: Any
    ) -> Any:
        watched = Watch(operand=(xs, options), tangent=ts)
        y, y_dot = bound.run(ts, *xs, **options)
        watched.check(rule, "the push")
        kept = copied((y, y_dot))
        self._check_value(rule, primal, xs, options, y)
        with rule.draws(), _quietly():
            bound.run(copied(tuple([scale(t, -0.5) for t in ts])), *xs, **options)
        rule.check_own("the push", kept, (y, y_dot))
        with rule.draws():
            again = bound.run(copied(ts), *xs, **options)
        rule.check_same("the push", kept, again)
        self._check_nan(rule, "", y_dot, (y, *xs, *ts))
        return y, y_dot

    def _run_record(
        self, rule: Named, bound: Any, mode: str, primal: Any, links: Any, xs: Any, options: Any
    ) -> Any:
        watched = Watch(operand=(xs, options))
        y, record = bound.run(links, *xs, **options)
        watched.check(rule, "the rule")
        self._check_value(rule, primal, xs, options, y)
        with rule.draws(), _quietly():
            other = bound.run(links, *xs, **options)[1]  # a separate call, to compare with
        both = ("push", "pull")
        names = both if mode == "both" else both[1:] if mode == "reverse" else both[:1]
        n, saved = len(names), record[2:]
        given = {"operand": (xs, options), "result": y}
        wanted = [x for x, w in zip(xs, bound.wanted, strict=True) if w]
        halves = []
        for k, (name, half) in enumerate(zip(names, record[:n], strict=True)):
            of = y if name == "pull" else tuple(wanted)
            watched = Watch(**given, **{"saved value": saved})
            probe = _Probe(other[k], of, other[2:], name == "push")
            watched.check(rule, f"the {name}")
            checked = functools.partial(self._run_half, rule, name, half, probe, given)
            halves.append(annotate(checked, bound, batched=half.batched))
        return y, (*halves, *record[n:])

    def _check_value(self, rule: Named, primal: Any, xs: Any, options: Any, y: Any) -> None:
        with _quietly(), rule.draws():
            plain = primal(*copied(xs), **copied(options))
        if (problem := different(y, plain)) is not None:
            msg = (
                f"the value of {rule} is not that of {rule.primal}: {problem}; if the function "
                f"draws random numbers or counts its calls, pass the generator or state as an "
                f"operand"
            )
            raise _named(DebugError(msg), "wrong value")
        self._check_nan(rule, "", y, xs)

    def _check_nan(self, rule: Named, what: str, y: Any, given: Any) -> None:
        if ((self.everywhere and self.nans) or _trap.get()) and _has_nan(y) and not _has_nan(given):
            raise NanError(
                f"{what}{rule} gave NaN for operands without one: look at what it divides by, and "
                f"at the ends of what it is defined for"
            )

    def _run_half(
        self,
        rule: Named,
        name: str,
        half: Any,
        probe: _Probe,
        call: dict[str, Any],
        seed: Any,
        *saved: Any,
    ) -> Any:
        with self._alone() as first:
            if not first or not is_plain(seed):
                return half(seed, *saved)
            what = "cotangent" if name == "pull" else "tangent"
            given = copied(seed)
            watched = Watch(**{what: given, **call, "saved value": saved})
            earlier = half(given, *saved)
            watched.check(rule, f"the {name}")
            kept = copied(earlier)
            found = half(seed, *saved)
            rule.check_same(f"the {name}", kept, found)
            other = probe.run(half, saved)  # overwrites scratch arrays, of the call or of all calls
            rule.check_own(f"the {name}", kept, earlier)
            probe.check(rule, name, other)
            self._check_nan(rule, f"the {name} of ", found, (seed, *saved))
            return found


class _Probe:
    """A half of a separate call, and its result for a random seed, at the call and later.

    A half that rejects that seed is not compared.
    """

    def __init__(self, half: Any, of: Any, saved: tuple[Any, ...], many: bool) -> None:
        self.half, self.saved, self.found = half, saved, None
        try:
            drawn = random_tangent(of, 0)
            self.seed = tuple([t for _, t in drawn.fields()]) if many else drawn
            with _quietly():
                self.found = copied(half(copied(self.seed), *saved))
        except Exception:
            return
        statement = half.statement
        self.captured = [
            (f"{name} of {name_of(f)}", copied(value), value)
            for f in (*statement.recipe.functions, *_functions((half, *saved)))
            for name, value in named(f)
        ]

    def run(self, half: Any, saved: tuple[Any, ...]) -> Any:
        """Run a half of the same call for that seed; None if it rejects the seed."""
        if self.found is None:
            return None
        with _quietly():
            return copied(half(copied(self.seed), *saved))

    def check(self, rule: Named, name: str, other: Any) -> None:
        """Raise if the half now gives another result, or if that of the checked call did."""
        now = other, self.run(self.half, self.saved)
        problem = None if self.found is None else different(now, (self.found, self.found))
        if problem is not None:
            changed = [text for text, was, y in self.captured if different(y, was) is not None]
            why = f"{' and '.join(changed)} changed" if changed else (
                "it reads a global, an attribute, a kept result or random numbers, which changed"
            )  # fmt: skip
            msg = (
                f"the {name} of {rule} gives something else than at the call: {problem}; {why} "
                f"meanwhile: pass it as an operand, or save a copy of the value in the rule"
            )
            raise _named(DebugError(msg), "state between calls")


@final
class Named:
    """A statement that is about to run, formatted for messages.

    Attributes
    ----------
    draws : callable
        Returns a block in which the global and the captured generators draw the same again.
    """

    def __init__(self, statement: Any) -> None:
        self.statement = statement
        self.primal = statement.primal.__name__
        self.draws = generators([*statement.recipe.functions, statement.primal])

    def __str__(self) -> str:
        return f"{self.primal} ({self.statement.source})"

    def check_same(self, what: str, kept: Any, again: Any) -> None:
        """Raise if a half gave another result when it ran again."""
        if (problem := different(again, kept)) is not None:
            msg = (
                f"{what} of {self} gives something else when it runs again: {problem}; it writes "
                f"to what it reads, or draws random numbers: compute a new value (t * 2.0 in place "
                f"of t *= 2.0), and draw in the function itself"
            )
            doing = "pulling back" if what == "the pull" else "pushing"
            raise _named(DebugError(msg), f"{doing} twice gives two answers")

    def check_own(self, what: str, kept: Any, earlier: Any) -> None:
        """Raise if a half wrote to the result of an earlier call."""
        if (problem := different(earlier, kept)) is not None:
            msg = (
                f"{what} of {self} writes to what an earlier call of it gave: {problem}; make its "
                f"result anew at each call (np.empty_like), or return a copy of the scratch array"
            )
            of = "cotangent" if what == "the pull" else "tangent"
            raise _named(MutationError(msg), f"aliased {of}")


@final
class Watch:
    """Arrays by their role in a rule, with the fingerprints of all of their elements."""

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.before = {what: prints(x) for what, x in given.items()}

    def check(self, rule: Named, who: str) -> None:
        """Raise if an array was written to."""
        for what, x in self.given.items():
            now = prints(x)
            for (leaf, was), (other, mark) in itertools.zip_longest(
                self.before[what], now, fillvalue=(None, None)
            ):
                if leaf is not other or was != mark:
                    msg = (
                        f"{who} of {rule} wrote to its {what} {describe(leaf)}, which others read "
                        f"as well; compute a new array (x * 2.0 in place of x *= 2.0), or write to "
                        f"a copy"
                    )
                    raise _named(MutationError(msg), f"{what} mutated")


def _named(error: Exception, pattern: str) -> Exception:
    """Attach to an error the name of the mistake, which the report of `check_rule` shows."""
    error.pattern = pattern  # type: ignore[attr-defined]
    return error


# --------------------------------------------------------------------------------------- values


def is_plain(x: Any) -> bool:
    """Return whether values can be copied and compared: none of them wraps another value."""
    leaves = [unthunk(leaf) if isinstance(leaf, Thunk) else leaf for leaf in flatten(x)[0]]
    traced = any([issubclass(type(y), Tracer) or hasattr(y, "__dispatch_type__") for y in leaves])
    return not traced and not any([type_info(type(y)).is_hidden for y in leaves])


def plain_value(x: Any) -> Any:
    """Return a value without tracers; None where these stand for several values, or hide others."""
    plain = untraced(x)
    shapes = [[getattr(y, "shape", ()) for y in flatten(z)[0]] for z in (x, plain)]
    return plain if is_plain(plain) and shapes[0] == shapes[1] else None


def _run_both(half: Any, other: Any, kept: Any, seed: Any, *saved: Any) -> Any:
    """Run a half for a seed, and another one, which is checked, for the value of the seed."""
    if (plain := plain_value(seed)) is not None:
        other(plain, *kept)
    return half(seed, *saved)


def prints(x: Any) -> list[tuple[Any, Any]]:
    """List the arrays in a value, each with the fingerprint of all of its elements."""
    found = []
    for leaf in flatten(x)[0]:
        memory = type_info(type(leaf)).memory
        if memory is not None and not isinstance(leaf, Tracer):
            found.append((leaf, memory.fingerprint(leaf, True)))
    return found


def copied(x: Any) -> Any:
    """Return a copy of a value, in which every array is copied."""
    return map_leaves(_copied, x)


def _copied(leaf: Any) -> Any:
    if isinstance(leaf, Thunk):
        return copied(unthunk(leaf))
    memory = type_info(type(leaf)).memory
    return leaf if memory is None or isinstance(leaf, Tracer) else copy_array(leaf)


def different(y: Any, want: Any) -> str | None:
    """Describe how a value differs from another beyond rounding; None if it does not."""
    mine, theirs = (flatten(copied(x))[0] for x in (y, want))
    if len(mine) != len(theirs):
        return f"{describe(y)}, not {describe(want)}"
    for a, b in zip(mine, theirs, strict=True):
        if {kind_of(a), kind_of(b)} <= {"real", "complex", "int", "bool"}:
            found = _apart(np.asarray(to_numpy(a)), np.asarray(to_numpy(b)))
            if found is not None:
                return found
    return None


def _apart(a: Any, b: Any) -> str | None:
    """Describe where arrays differ, and their entries there; None if they do not."""
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"{describe(a)}, not {describe(b)}"
    if a.size == 0 or a.tobytes() == b.tobytes():
        return None
    eps = max([np.finfo(x.dtype).eps for x in (a, b) if x.dtype.kind in "fc"], default=0.0)
    largest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
    is_near = np.isclose(a, b, rtol=1e4 * eps, atol=1e4 * eps * largest, equal_nan=True)
    if np.all(is_near):
        return None
    at = tuple(map(int, np.unravel_index(np.argmin(is_near), a.shape)))
    place = f" at {[*at]}" if at else ""
    return f"{a[at]:.9g}{place}, not {b[at]:.9g}"


def _has_nan(x: Any) -> bool:
    leaves = [leaf for leaf in flatten(copied(x))[0] if kind_of(leaf) in ("real", "complex")]
    return any([bool(np.any(np.isnan(to_numpy(leaf)))) for leaf in leaves])


def _functions(xs: tuple[Any, ...]) -> list[Any]:
    """List the functions among values, and those of linear maps among them."""
    found = []
    for x in flatten(xs)[0]:
        parts = (x.push, x.pull) if type(x).__name__ == "LinearMap" else (x,)
        found += [y for y in parts if isinstance(y, (types.FunctionType, functools.partial))]
    return found


def generators(
    functions: Sequence[Any], given: Iterable[Any] = ()
) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Return a block in which random draws from here on are repeated.

    It restores the states of NumPy's shared generators, of those that functions captured, of those
    in the globals of their modules, and of given ones. A function that is run again for its
    derivative, maybe much later, must draw the same numbers.
    """
    every = (*functions, *_functions(tuple([y for f in functions for _, y in named(f)])))
    held = [*given, *[y for f in every for y in closed_and_generators(f)[1]]]
    among = [y for y in held if is_generator(type(y))], True
    before = states(*among)

    @contextlib.contextmanager
    def again() -> Iterator[None]:
        now = states(*among)
        try:
            for put in before:
                put()
            yield
        finally:
            for put in now:
                put()

    return again


def named(f: Any) -> list[tuple[str, Any]]:
    """List the variables that a function captured, and its defaults, by name."""
    if isinstance(f, functools.partial):
        given = [(f"argument {i}", y) for i, y in enumerate(f.args)]
        return [*named(f.func), *given, *f.keywords.items()]
    if type(f) is not types.FunctionType:
        return []
    defaults = [(f"default {i}", y) for i, y in enumerate(f.__defaults__ or ())]
    keywords = [*(f.__kwdefaults__ or {}).items()]
    return [*cells(f).items(), *defaults, *keywords]


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Suppress the warnings of a repeated run."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
