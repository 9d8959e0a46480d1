"""Making of programs: from a call of a function to what runs for others like it."""

from __future__ import annotations

import contextlib
import functools
import linecache
import re
import threading
import types
import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.background import Serving
from chainrules_compile.captures import Captures, stated
from chainrules_compile.entry import Entry, result_text
from chainrules_compile.errors import MISS, RecordingError
from chainrules_compile.kept import Kept, Text, from_text, to_text, words_to_text
from chainrules_compile.labels import labels_of
from chainrules_compile.loops import Loop, nested
from chainrules_compile.outside import Known, modes, refuse_living
from chainrules_compile.passes import ASKING, Pass, passes_of
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.prints import Prints, UnsaidError, versions
from chainrules_compile.recorder import Recorder
from chainrules_compile.refusals import defects
from chainrules_compile.results import check_results, raise_first
from chainrules_compile.scans import check_sums
from chainrules_compile.scope import Scope
from chainrules_compile.state import State
from chainrules_compile.writers.numpy_source import write as write_numpy
from chainrules_compile.writers.writer import Writer
from chainrules_py import Primitive
from chainrules_py.extend import TreeDef, alone, flatten, in_own_context, joined, map_leaves
from chainrules_py.program import Program, Value


class Setting(NamedTuple):
    """How a function is compiled.

    Attributes
    ----------
    name : str
        What its programs are called.
    static : frozenset
        The arguments that are the same in each run of a program.
    exact : bool
        Whether results need the bits that the function gives.
    target : str
        What programs are written for.
    passes : dict
        What they go through.
    write : Writer
        What writes them.
    keep : bool
        Whether programs are kept on disk.
    background : bool
        Whether a program for NumPy serves until that for the target is made.
    threads : int
        How many threads a program may run on.
    """

    name: str
    static: frozenset[int | str]
    exact: bool
    target: str
    passes: dict[str, Pass]
    write: Writer
    keep: bool
    background: bool
    threads: int


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

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
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
class Gone:
    """Stands for the program that asks more, of which nothing was kept: it is recorded anew."""

    __slots__ = ()

    def __call__(self, /, *_: Any, **__: Any) -> Any:
        """Fit nothing."""
        return MISS

    def made(self) -> tuple[Any, str, Program]:
        """Raise: there is no source.

        Raises
        ------
        RecordingError
            With the line to write.
        """
        msg = "the program was kept on disk without the one that asks more; compile with keep=False"
        raise RecordingError(msg)


gone = Gone()


@final
class CompiledProgram:
    """Program of one kind of arguments.

    Attributes
    ----------
    run : callable
        Takes the arguments; gives the result, or ``MISS``.
    source : str
        What it was made of.
    steps : list of (str, int)
        How many calls there were after each pass.
    facts : list of (str, str)
        What was assumed of the arguments.
    settle : callable
        To be called when the function was called beside the program; tells what that has changed.
    standby : Standby or None
        The program that asks whether each quotient is finite.
    calls : tuple of Program, or None
        The calls as they were noted, and as they were written; None of what was kept on disk.
    instead : str
        Why it is for NumPy and not for the target; empty where it is for the target.
    serving : Serving or None
        What runs while the program for the target is made in the background.
    fits : callable
        Takes the arguments; tells whether it is for these.
    keep : callable
        Writes it to disk, where that was asked for.
    """

    __slots__ = (
        *("calls", "facts", "fits", "instead", "keep", "run", "scope", "serving", "settle"),
        *("source", "standby", "steps"),
    )

    def __init__(
        self,
        run: Callable[..., Any],
        source: str,
        steps: list[tuple[str, int]],
        facts: list[tuple[str, str]],
        scope: Scope,
        settle: Callable[[], list[str]],
        standby: Standby | Gone | None,
        calls: tuple[Program, Program] | None,
    ) -> None:
        self.run = run
        self.source = source
        self.steps = steps
        self.facts = facts
        self.scope = scope
        self.settle = settle
        self.standby = standby
        self.calls = calls
        self.instead = ""
        self.serving: Serving | None = None
        self.fits: Callable[..., bool] = _for_none
        self.keep: Callable[[], None] = _nothing

    @property
    def recorded(self) -> Program:
        """The calls as they were noted."""
        return self._known()[0]

    @property
    def program(self) -> Program:
        """The calls as they were written."""
        return self._known()[1]

    def _known(self) -> tuple[Program, Program]:
        if self.calls is None:
            msg = "the calls of a program that was kept on disk are not known; compile anew"
            raise RecordingError(msg)
        return self.calls

    def __repr__(self) -> str:
        facts = ", ".join([f"{name}: {fact}" for name, fact in self.facts])
        return f"<program of {self.steps[-1][1]} calls: {facts}>"


def _nothing() -> None:
    """Keep nothing on disk."""


def _for_none(*_: Any, **__: Any) -> bool:
    """Fit nothing."""
    return False


@final
class Making:
    """Making of the program for one call.

    Attributes
    ----------
    state : State
        What the function can come to, as it was before.

    Raises
    ------
    Unfit
        If the function is no program.
    """

    def __init__(
        self, setting: Setting, f: Callable[..., Any], args: Any, keywords: dict[str, Any]
    ) -> None:
        self.setting = setting
        self.f = f
        self.scope = scope = Scope()
        scope.exact, scope.threads = setting.exact, setting.threads
        scope.arrays = getattr(setting.write, "arrays", np.ndarray)
        self.name = setting.name if setting.name.isidentifier() else "program"
        scope[self.name] = None  # nothing else is called so
        self._lock = threading.RLock()  # of the names, which two writers may ask for at once
        self.recorder, self.known = Recorder(), Known()
        self.entry = Entry(f, args, keywords, setting.static, self.recorder, scope)
        self.captures = Captures((f, *self.entry.given))
        self.captures.check()
        self.entry.asks_identity = self.captures.ask_identity()
        self.recorder.outside = self.captures.arrays
        self.state = self.captures.state()

    # -------------------------------------------------------------------------------- by recording

    def recorded(self, kept: Kept | None = None) -> CompiledProgram:
        """Record the function, and write its program."""
        recorder, captures, entry, scope = self.recorder, self.captures, self.entry, self.scope
        try:
            with captures.watching():
                y = map_leaves(joined, self.f(*entry.args, **entry.keywords))
            entry.check()
        finally:
            self.state.put_back()
        raise_first(recorder)
        recorder.check()
        head = self._head()
        leaves, tree = flatten(y)
        del y
        check_results(leaves, captures)
        outputs = tuple([recorder.operand(x) for x in leaves])
        del leaves
        entry.forget()
        refuse_living(recorder.alive)
        noted = recorder.program(self.setting.name, outputs)
        check_sums(recorder, noted)
        lines, known = head(), {*scope}
        with defects():
            scope.labels, scope.titles = labels_of(self.f, tree, len(outputs)), recorder.titles
            made = self._made(noted, lines, tree)
        if kept is not None:
            with contextlib.suppress(UnsaidError):
                text = self._text(kept, made, known)
                made.keep = functools.partial(kept.keep, text)
        return made

    def _made(self, noted: Program, lines: list[str], tree: TreeDef) -> CompiledProgram:
        """Write the noted calls; in the background, if that is asked for, for the target."""
        written = functools.partial(self._written, noted, lines, tree)
        setting = self.setting
        if not setting.background:
            return written(setting.passes, setting.write)
        made = written(passes_of("numpy", setting.exact), write_numpy)
        made.serving = Serving(
            made.run,
            functools.partial(written, setting.passes, setting.write, made.settle),
        )
        return made

    def _written(
        self,
        noted: Program,
        lines: list[str],
        tree: TreeDef,
        passes: dict[str, Pass],
        write: Writer,
        settle: Callable[[], list[str]] | None = None,
    ) -> CompiledProgram:
        """Take the noted calls through passes, and write what they become."""
        scope, entry, instead = self.scope, self.entry, [""]

        def written(program: Program) -> tuple[Any, str, Program]:
            body = alone(self._lock, write, program, entry.names, scope)
            instead[0] = body.instead
            rest = [*body.lines, f"return {result_text(tree, body.outputs, scope)}"]
            source = self._source([*entry.lines, *lines, *rest])
            run = self._run(compile(source, self._file(source), "exec"), source)
            if body.in_own_context:
                run = functools.partial(in_own_context, run)
            return run, source, body.program or program

        program, steps = noted, [("recorded", len(noted))]
        standby, left, clean = None, dict(passes), None
        for title, step in passes.items():
            del left[title]
            before = program
            if program is not clean or step is not without_dead_code:
                program = step(program)
            clean = program if step is without_dead_code else clean
            steps.append((title, len(program)))
            if step in ASKING and program is not before and standby is None:
                rest = tuple([each for each in left.values() if each not in ASKING])
                standby = Standby(before, rest, written)
                scope.again = f"{scope.name(standby, 'asking_each')}({entry.forwarded})"
        run, source, rolled = written(program)
        if Loop in map(type, rolled.functions):
            steps.append(("rolled", sum(map(len, nested(rolled)))))
        made = self._program(run, source, steps, standby, (noted, rolled), settle)
        made.instead = instead[0]
        made.fits = self._fits(lines)
        return made

    def _head(self) -> Callable[[], list[str]]:
        """Note what can be reached by now; return what gives the checks of what is outside."""
        words, recorder, scope = self.recorder.words, self.recorder, self.scope
        self.known.hold(self.captures.hold(words))

        def lines() -> list[str]:
            names = self.entry.names
            for value, array in recorder.captured.items():
                names[value] = scope.name(array, value.name)
            apart = recorder.apart(names, scope)
            return [*apart, *self.known.lines(scope), *self.captures.lines(scope)]

        return lines

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

    def _program(
        self,
        run: Any,
        source: str,
        steps: list[tuple[str, int]],
        standby: Any,
        calls: Any,
        settle: Any = None,
    ) -> CompiledProgram:
        settle = settle or functools.partial(settled, self.captures, self.captures.state())
        facts = self.entry.facts
        return CompiledProgram(run, source, steps, facts, self.scope, settle, standby, calls)

    def _fits(self, lines: list[str]) -> Callable[..., bool]:
        """Return what tells whether a program is for some arguments, written when it is asked."""

        @functools.cache
        def made() -> Any:
            source = self._source([*self.entry.lines, *lines, "return True"])
            return self._run(compile(source, self._file(source), "exec"), source)

        def fits(*args: Any, **keywords: Any) -> bool:
            try:
                return made()(*args, **keywords) is not MISS
            except Exception:  # of other arguments: so many others, say
                return False

        return fits

    # ------------------------------------------------------------------------------- from the disk

    def kept(self) -> Kept | None:
        """Return where the program is kept on disk; None where nobody could find it again."""
        if not self.setting.keep or self.setting.target != "numpy":
            return None
        setting, prints = self.setting, Prints()
        form = [*self.entry.lines, *self.entry.signature, setting.name, setting.exact]
        given = [(name, x) for name, x in self.scope.items() if x is not None]
        facts = [*versions(), *modes(), *np.geterr().items()]
        try:
            return Kept(prints.of([self.f, form, given, facts]), prints)
        except UnsaidError:
            return None

    def _text(self, kept: Kept, made: CompiledProgram, known: set[str]) -> Text:
        """Return what is written of a program.

        Raises
        ------
        UnsaidError
            If something of it cannot be written.
        """
        prints, recorder, scope = kept.prints.fork(), self.recorder, self.scope
        words = words_to_text(recorder.words, kept.prints)
        rules = prints.of(rules_of(recorder.words, words, kept.prints))
        captured = [(value.name, prints.place(x)) for value, x in recorder.captured.items()]
        if any([place is None for _, place in captured]):
            raise UnsaidError
        named = {*re.findall(r"[^\W\d]\w*", made.source)} & (scope.keys() - known)
        objects = []
        for name in sorted(named):
            x = scope[name]
            if type(x) is Standby:
                objects.append((name, ("named", __name__, "gone")))
            elif x is not None:
                objects.append((name, to_text(x, prints, scope, name)))
        run: Any = made.run
        apart = type(run) is functools.partial
        code = compile(made.source, self._file(made.source), "exec")
        return Text(
            made.source, code, tuple(objects), words, rules, tuple(captured), recorder.overlaps,
            apart, tuple(made.steps),
        )  # fmt: skip

    def restored(self, kept: Kept, text: Text) -> CompiledProgram | None:
        """Return a program that was kept; None where it is for something else."""
        prints, scope = kept.prints.fork(), self.scope
        try:
            words = [from_text(word, prints) for word in text.words]
            if prints.of(rules_of(words, text.words, kept.prints)) != text.rules:
                return None
            self.recorder.words, self.recorder.overlaps = {*words}, text.overlaps
            places = {Value(name): prints.values[i] for name, i in text.captured}
            self.recorder.captured = places
            lines = self._head()()
            if not text.source.startswith(self._source([*self.entry.lines, *lines])):
                return None
            for name, each in text.scope:
                if scope.get(name) is not None:
                    return None
                scope[name] = from_text(each, prints)
        except (UnsaidError, ImportError, AttributeError, LookupError, ValueError, TypeError):
            return None
        run = self._run(text.code, text.source)
        if text.in_own_context:
            run = functools.partial(in_own_context, run)
        standby = next((x for x in scope.values() if x is gone), None)
        made = self._program(run, text.source, [*text.steps], standby, None)
        made.fits = self._fits(lines)
        return made


def rules_of(
    words: Iterable[Primitive[..., Any]], texts: tuple[Any, ...], prints: Prints
) -> list[Any]:
    """Return what people have stated of words, in the order of their texts."""
    by_text = {to_text(word, prints): word for word in words}
    return [f for text in texts for f in stated(by_text[text])]


def settled(captures: Captures, before: State) -> list[str]:
    """Return what a call of the function has changed outside."""
    captures.settle()
    changed: list[str] = before.changed()
    return changed
