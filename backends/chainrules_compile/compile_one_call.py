"""Recording of one call of a function, and construction of its program."""

from __future__ import annotations

import gc
import linecache
import types
import zlib
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.entry_and_exit_source import Entry, result_text
from chainrules_compile.errors import MISS, Unfit, Written
from chainrules_compile.guards import Guards
from chainrules_compile.passes import Pass
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.recorded_values import plain
from chainrules_compile.recorder import Recorder
from chainrules_compile.recording_refusals import defects
from chainrules_compile.result_checks import check_results, raise_first
from chainrules_compile.scope import Scope
from chainrules_compile.writers.interface import Writer
from chainrules_py.extend import TreeDef, flatten, joined, map_leaves
from chainrules_py.program import Program


class Setting(NamedTuple):
    """Settings of a compiled function.

    Attributes
    ----------
    name : str
        The name of its programs.
    static : frozenset
        The static arguments.
    target : str
        The target of its programs.
    passes : dict
        The passes.
    write : Writer
        The writer of its programs.
    threads : int
        How many threads a program may run on.
    opaque : frozenset
        The names of objects among the arguments that only primitives take: they are not inspected.
    """

    name: str
    static: frozenset[int | str]
    target: str
    passes: dict[str, Pass]
    write: Writer
    threads: int
    opaque: frozenset[str] = frozenset()


@final
class CompiledProgram:
    """Program for one kind of arguments.

    Attributes
    ----------
    run : callable
        Takes the arguments; returns the result, or ``MISS``.
    source : str
        The source of the program.
    steps : list of (str, int)
        The number of calls after each pass.
    facts : list of (str, str)
        The assumptions about the arguments.
    static : dict
        The texts of arguments that are static without being named in ``static=``.
    guards : Guards
        The values that the function looks up.
    calls : tuple of Program
        The calls as recorded, and as written.
    objects : frozenset
        The names of static objects that may be opaque in another program.
    instead : str
        Why it was written for NumPy and not for the target; empty if it is for the target.
    recurs : bool
        Whether it was run again soon after another program was recorded.
    """

    __slots__ = (
        "calls", "facts", "guards", "instead", "objects", "recurs", "run", "scope", "source",
        "static", "steps",
    )  # fmt: skip

    def __init__(
        self,
        run: Callable[..., Any],
        source: str,
        steps: list[tuple[str, int]],
        facts: list[tuple[str, str]],
        scope: Scope,
        guards: Guards,
        calls: tuple[Program, Program],
    ) -> None:
        self.run, self.source = run, source
        self.steps, self.facts = steps, facts
        self.scope, self.guards, self.calls = scope, guards, calls
        self.instead, self.recurs = "", False
        self.static: dict[str, str] = {}
        self.objects: frozenset[str] = frozenset()

    @property
    def signature(self) -> list[tuple[str, str]]:
        """The assumptions about arguments that are not static, or are named in ``static=``."""
        return [(name, fact) for name, fact in self.facts if name not in self.static]

    @property
    def recorded(self) -> Program:
        """The calls as recorded."""
        return self.calls[0]

    @property
    def program(self) -> Program:
        """The calls as written."""
        return self.calls[1]

    def __repr__(self) -> str:
        facts = ", ".join([f"{name}: {fact}" for name, fact in self.facts])
        return f"<program of {self.steps[-1][1]} calls: {facts}>"


@final
class Plain:
    """Result of the original function for one call, computed at most once.

    It is computed before the function is recorded. A function with side effects is detected by this
    call, so it is not recorded, and the side effects happen once.

    Attributes
    ----------
    seconds : float
        How long the function took.
    """

    __slots__ = ("_result", "args", "f", "keywords", "seconds")

    def __init__(self, f: Callable[..., Any], args: Any, keywords: dict[str, Any]) -> None:
        self.f, self.args, self.keywords = f, args, keywords
        self._result: Any = MISS
        self.seconds = 0.0

    def result(self) -> Any:
        """Call the function unless it was called, and return the result."""
        if self._result is MISS:
            started = perf_counter()
            self._result = self.f(*self.args, **self.keywords)
            self.seconds = perf_counter() - started
        return self._result


@final
class Making:
    """Construction of the program for one call.

    Raises
    ------
    Unfit
        If the function cannot be compiled.
    """

    def __init__(self, setting: Setting, plain: Plain) -> None:
        self.setting, self.plain = setting, plain
        f, args, keywords = plain.f, plain.args, plain.keywords
        self.scope = scope = Scope()
        scope.threads = setting.threads
        self.name = setting.name if setting.name.isidentifier() else "program"
        scope[self.name] = None  # reserves the name
        self.recorder = Recorder()
        self.entry = Entry(f, args, keywords, setting.static, setting.opaque, self.recorder, scope)
        self.recorder.arguments = self.entry.inputs
        self._guard()

    def _guard(self) -> None:
        """Note what the function looks up, as it is now."""
        self.guards = Guards(self.plain.f, self.entry.given)
        self.recorder.outside = self.guards.arrays

    def recorded(self) -> CompiledProgram:
        """Record the function, and write its program."""
        recorder, entry, scope = self.recorder, self.entry, self.scope
        self.plain.result()
        touched = [name for name, x, before in entry.contents if x.tobytes() != before]
        if written := self.guards.written():
            raise Written(written)
        self._guard()  # again: what the call computed once, as a cached property, is there now
        self.guards.contents += [(name, x, x.tobytes()) for name, x, _ in entry.contents]
        self.guards.check()
        self.guards.stir()
        try:
            y = map_leaves(joined, self.plain.f(*entry.args, **entry.keywords))
        finally:
            recorder.is_over = True
            written = self.guards.written() or entry.written() or touched
            self.guards.put_back()
        if written:
            raise Written(written)
        raise_first(recorder)
        recorder.check()
        # A tree keeps a registered structure whole, and with it what the function computed.
        leaves, tree = flatten(y)[0], flatten(plain(y))[1]
        check_results(leaves, self.guards)
        outputs = tuple([recorder.operand(x) for x in leaves])
        del y, leaves
        entry.forget()
        if recorder.alive():
            gc.collect()  # frees reference cycles
        if recorder.alive():
            raise Unfit(
                "a value that is computed lives on after the call, as one that is appended to a "
                "list, or kept as an attribute; return it"
            )
        noted = recorder.program(self.setting.name, outputs)
        taken = {id(x) for call in noted for x in call.operands}
        objects = [x for x, name in entry.names.items() if name in self.setting.opaque]
        if any([id(x) not in taken for x in objects]):
            raise Unfit("an object that no call takes may be compared with others, by `is` or ==")
        for value, array in recorder.captured.items():
            entry.names[value] = scope.name(array, value.name)
        lines = [*recorder.apart(entry.names, scope), self.guards.line(scope)]
        with defects():
            return self._written(noted, lines, tree)

    def _written(
        self,
        noted: Program,
        lines: list[str],
        tree: TreeDef,
    ) -> CompiledProgram:
        """Apply the passes to the recorded calls, and write the result."""
        scope, entry = self.scope, self.entry
        program, steps = noted, [("recorded", len(noted))]
        clean = None
        for title, step in self.setting.passes.items():
            if program is not clean or step is not without_dead_code:
                program = step(program)
            clean = program if step is without_dead_code else clean
            steps.append((title, len(program)))
        body = self.setting.write(program, entry.names, scope)
        source = self._source(
            [
                *(*entry.lines, *lines, *body.lines),
                f"return {result_text(tree, iter(body.outputs), scope)}",
            ]
        )
        run = self._run(compile(source, self._file(source), "exec"), source)
        if self.recorder.quiet:
            run = np.errstate(all="ignore")(run)
        calls = noted, body.program or program
        made = CompiledProgram(run, source, steps, entry.facts, scope, self.guards, calls)
        made.instead, made.static = body.instead, entry.static
        made.objects = frozenset([name for name in entry.given if name in entry.static])
        return made

    def _source(self, lines: list[str]) -> str:
        parameters = ", ".join(self.entry.signature)
        return f"def {self.name}({parameters}):\n" + "".join([f"    {line}\n" for line in lines])

    def _file(self, source: str) -> str:
        return f"<compiled {self.name} {zlib.crc32(source.encode()):08x} {len(source)}>"

    def _run(self, code: types.CodeType, source: str) -> Any:
        made: dict[str, Any] = {}
        exec(code, self.scope.data, made)  # noqa: S102
        file = self._file(source)
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        return made[self.name]
