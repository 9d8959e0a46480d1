"""Whatever the tests of a suite differentiate, compiled as well: ``CHAINRULES_COMPILED=1 pytest``.

After a test has passed, each call of `grad` and its like in it is made again: twice without
`compile`, to see that it says the same each time, and three times with. The answers are equal to
rounding, or a `RecordingError` says why there are none; what raises, raises the same. At the end
the counts are printed.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import threading
import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingError, RecordingWarning
from chainrules_compile.result_checks import close, moved_results
from chainrules_py.extend import Tracer, flatten, unflatten
from tests.engines.compile.checked import compile_checked

__name__ = "chainrules_shadow"  # a library's, so that no test's function is said to reach into it
MOST = int(os.environ.get("CHAINRULES_CALLS", "20"))
"""So many calls of one test are made again."""


def _copied(args: Any) -> Any:
    leaves, tree = flatten(args)
    return unflatten(tree, [x.copy() if isinstance(x, np.ndarray) else x for x in leaves])


def same(a: Any, b: Any) -> bool:
    """Tell whether two answers have the same structure, classes and bits."""
    (xs, tree), (ys, of) = flatten(a), flatten(b)
    return tree == of and all(map(_same, xs, ys))


def alike(f: Any, args: Any, keywords: Any, found: Any, wanted: Any) -> bool:
    """Tell whether a program's answer is its function's to rounding: of all terms that cancel."""
    moved = functools.partial(moved_results, f, args, keywords)
    return same(found, wanted) or close(found, wanted, moved, given=(args, keywords))


def _same(x: Any, y: Any) -> bool:
    if not isinstance(x, (np.ndarray, np.generic, float, complex, int)):
        return type(x) is type(y)
    if type(x) is not type(y) or np.shape(x) != np.shape(y):
        return False
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype:
        return False
    if x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    parts = [(x.real, y.real), (x.imag, y.imag)] if x.dtype.kind == "c" else [(x, y)]
    return all(map(_equal, *zip(*parts, strict=True)))


def _equal(x: Any, y: Any) -> bool:
    """Tell whether numbers are equal, with the signs of zeros; a NaN has none that is promised."""
    signs = (np.signbit(x) == np.signbit(y)) | np.isnan(x)
    return bool(signs.all()) and np.array_equal(x, y, equal_nan=True)


def ask(g: Any, args: Any, keywords: Any = {}) -> str:  # noqa: B006 (nobody writes to it)
    """Call a function compiled, three times, and return what is said of the answers."""
    said = []
    for _ in range(2):
        try:
            said.append(g(*(given := _copied((args, keywords)))[0], **given[1]))
        except (Exception, pytest.fail.Exception) as error:
            return _raises_alike(g, args, keywords, error)
    if not same(*said):
        return "another each time"
    compiled = compile_checked(g)
    for turn in range(3):
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("error", RecordingWarning)
            try:
                given = _copied((args, keywords))
                found = compiled(*given[0], **given[1])
            except RecordingError as error:
                if os.environ.get("CHAINRULES_COMPILED") == "trace":
                    traceback.print_exc()
                return f"refused: {error}"
            except RecordingWarning as said_so:
                kind = "wrong" if "another result" in str(said_so) else "refused"
                return f"{kind}: {said_so}"
            except pytest.fail.Exception:
                return "asserts"  # the test's own function
            except Exception as error:
                if os.environ.get("CHAINRULES_COMPILED") == "trace":
                    traceback.print_exc()
                if _fails(g, args, keywords, error):
                    return "another each time"
                where = traceback.extract_tb(error.__traceback__)[-1].filename
                if type(error) is AssertionError and "test_" in where:
                    return "asserts"  # the test's own function
                return f"wrong: turn {turn} raises {type(error).__name__}: {error}"
        if not alike(g, args, keywords, found, said[0]):
            return f"wrong: turn {turn}: {found} for {said[0]}\n{compiled.source}"
    return "equal" if len(compiled.programs) == 1 else "equal, in programs"


def _fails(g: Any, args: Any, keywords: Any, error: Exception) -> bool:
    """Tell whether a call has come to raise an error without `compile` as well."""
    try:
        g(*(given := _copied((args, keywords)))[0], **given[1])
    except type(error):
        return True
    return False


def _raises_alike(g: Any, args: Any, keywords: Any, wanted: BaseException) -> str:
    """Call a function compiled that raises, and return what is said of its error."""
    given = _copied((args, keywords))
    try:
        compile_checked(g)(*given[0], **given[1])
    except (type(wanted), RecordingError):
        return f"raises {type(wanted).__name__}"
    except BaseException as error:
        return f"wrong: raises {error!r} for {wanted!r}"
    return f"wrong: gives a result and does not raise {wanted!r}"


class Shadow:
    """Plugin of pytest: what a test differentiates is noted, and asked again when it is over."""

    def __init__(self) -> None:
        self.said: collections.Counter[str] = collections.Counter()
        self.calls: list[tuple[Any, Any, Any]] = []
        self._inside = threading.local()
        self._keeps = True
        for name in ("grad", "value_and_grad", "hessian", "jacobian"):
            setattr(ct, name, self._transforming(getattr(ct, name)))
        for name in ("jvp", "hvp"):
            setattr(ct, name, self._calling(getattr(ct, name)))
        for name in ("vjp", "linearize"):
            setattr(ct, name, self._giving(getattr(ct, name), name == "vjp"))

    def _noted(self, g: Any, args: Any, keywords: Any, asked: Any = None) -> Any:
        """Call a function, and note the call, or one of another function in its place."""
        if getattr(self._inside, "depth", 0):
            return g(*args, **keywords)
        if len(self.calls) >= MOST:
            self.said[f"beyond {MOST} calls of one test"] += 1
            return g(*args, **keywords)
        leaves = flatten((args, keywords))[0]
        plain = not any([isinstance(x, Tracer) or hasattr(x, "recorder") for x in leaves])
        given = _copied((args, keywords)) if plain else None
        self._inside.depth = 1
        try:
            y = g(*args, **keywords)
        finally:
            self._inside.depth = 0
        if given is not None and self._keeps:
            self.calls.append((asked or g, *given))
        return y

    def _transforming(self, transform: Any) -> Any:
        @functools.wraps(transform)
        def transformed(*given: Any, **options: Any) -> Any:
            g = transform(*given, **options)
            if not given:  # a decorator
                return lambda f: self._wrapped(g(f))
            return self._wrapped(g)

        return transformed

    def _wrapped(self, g: Any) -> Any:
        @functools.wraps(g)
        def noted(*args: Any, **keywords: Any) -> Any:
            return self._noted(g, args, keywords)

        vars(noted)["func"] = getattr(g, "func", g)  # as a derivative of ours has
        return noted

    def _calling(self, door: Any) -> Any:
        @functools.wraps(door)
        def called(f: Any, xs: Any, ts: Any, *rest: Any, **options: Any) -> Any:
            g = lambda xs, ts: door(f, xs, ts, *rest, **options)
            return self._noted(g, (xs, ts), {})

        return called

    def _giving(self, door: Any, pulls: bool) -> Any:
        """Note `vjp` or `linearize`; what is asked is its value, and what its function gives."""

        @functools.wraps(door)
        def called(f: Any, *xs: Any, **options: Any) -> Any:
            def asked(*xs: Any) -> Any:
                y, function, *aux = door(f, *xs, **options)
                return y, function(y) if pulls else function(*xs), *aux

            return self._noted(lambda *xs: door(f, *xs, **options), xs, {}, asked)

        return called

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Any:
        """Ask again what the test has asked, if it has passed."""
        self.calls.clear()
        self._keeps = "nothing_is_kept" not in pyfuncitem.name  # which asks what is alive
        outcome = yield
        if outcome.excinfo is not None:
            return
        calls, self._inside.depth = [*self.calls], 1
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for call in calls:
                    said = ask(*call)
                    self.said[said.partition(":")[0]] += 1
                    if said.startswith("refused"):
                        self.said[said[:110]] += 1
                    if said.startswith("wrong"):
                        raise AssertionError(said)
        except BaseException as error:
            outcome.force_exception(error)
        finally:
            self._inside.depth = 0

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many were equal."""
        terminalreporter.section("compiled")
        for what, n in self.said.most_common():
            terminalreporter.write_line(f"{n:6} {what}")
