"""Tests as `make test` runs them: one for each function, which runs all of its cases.

A file is collected by its text and imported when its first test runs, so that collection loads no
engine. The cases of a function are made then too, drawn if `CHAINRULES_DRAW` says so
(`tests/draw.py`), and run one after the other with their own fixtures; all that fail are reported
together. ``--by=case`` collects as pytest does; ``--by=file`` makes one test of a file, which is
what the checks of ``tests/house`` always are, unless a case is named.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import pytest
from _pytest.runner import runtestprotocol

from tests.draw import drawn, is_drawn, shuffled
from tests.house.results import reason_of

REPORTS = pytest.StashKey[list]()
STARTED = time.monotonic()
SHOWN = 5  # failures of a test that are printed whole

_STRING = re.compile(r"(\"\"\"|''').*?\1", re.DOTALL)
_OF_THE_FILE = re.compile(r"^pytestmark = (?:\[.*?^\]|.*?$)", re.DOTALL | re.MULTILINE)
_STATEMENT = re.compile(
    r"^(?P<indent> *)(?:@pytest\.mark\.(?P<mark>\w+)(?:\((?P<number>\d+)\))?"
    r"|def (?P<function>\w+)|class (?P<class_>\w+)"
    r"|(?P<assigned>test_\w+) = (?:pytest\.mark\.parts\((?P<of>\d+)\))?)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Found:
    """A test function in the text of a file."""

    name: str
    marks: frozenset[str]
    parts: int


def functions_in(text):
    """The test functions of a file and their marks, without importing it."""
    text = _STRING.sub("", text)
    everywhere = {
        m for part in _OF_THE_FILE.findall(text) for m in re.findall(r"mark\.(\w+)", part)
    }
    found, marks, parts = {}, set(), 1
    around, around_marks = "", set()
    for match in _STATEMENT.finditer(text):
        if match["mark"]:
            marks.add(match["mark"])
            parts = int(match["number"] or 1) if match["mark"] == "parts" else parts
            continue
        if not match["indent"]:
            around, around_marks = "", set()
        if match["class_"]:
            around, around_marks = match["class_"], marks
        name = match["function"] or match["assigned"] or ""
        parts = int(match["of"] or parts)
        if name.startswith("test_") and (around.startswith("Test") or not match["indent"]):
            name = f"{around}::{name}" if around else name
            found[name] = Found(name, frozenset(everywhere | around_marks | marks), parts)
        marks, parts = set(), 1
    return list(found.values())


def left_out(config):
    """The marks whose tests are not to run, written as in the Makefile."""
    parts = (config.option.markexpr or "").split(" and ")
    return {part.removeprefix("not ") for part in parts if part.startswith("not ")}


def grain(config, path):
    """Whether a test is a ``case``, a ``function`` or a ``file``."""
    if any("::" in argument for argument in config.args):
        return "case"
    if path.parent.name == "house" and config.option.by != "case":
        return "file"
    return config.option.by or "case"


class GroupedFile(pytest.File):
    """A test file that is imported when its first test runs."""

    loaded = None

    def collect(self):
        late = left_out(self.config)
        functions = functions_in(self.path.read_text(encoding="utf-8"))
        names = [f.name for f in functions]
        due = [f for f in functions if late.isdisjoint(f.marks)]
        due = [f for f in due if is_drawn(f"{self.nodeid}::{f.name}")]
        if grain(self.config, self.path) == "file":
            if due:
                yield self.group("all", [f.name for f in due])
        else:
            for function in due:
                for part in range(function.parts):
                    of = f" part {part + 1} of {function.parts}" if function.parts > 1 else ""
                    each = slice(part, None, function.parts)
                    yield self.group(function.name + of, [function.name], each)
        self.names = names

    def group(self, name, functions, part=slice(None)):
        group = Group.from_parent(self, name=name)
        group.functions, group.part = functions, part
        return group

    def cases_of(self, function):
        """The cases of a test function."""
        if self.loaded is None:
            module = pytest.Module.from_parent(self.parent, path=self.path)
            loaded = {}
            for item in items_of(module):
                loaded.setdefault(name_of(item), []).append(item)
            missed = loaded.keys() - {*self.names}
            if missed:
                raise self.CollectError(f"write {sorted(missed)} as `def test_...` at the margin")
            self.loaded = loaded
        late = left_out(self.config)
        return [
            item
            for item in self.loaded.get(function, ())
            if late.isdisjoint([mark.name for mark in item.iter_markers()])
        ]


def items_of(collector):
    for node in collector.collect():
        if isinstance(node, pytest.Item):
            yield node
        else:
            yield from items_of(node)


def name_of(item):
    around = f"{item.cls.__name__}::" if item.cls else ""
    return around + item.originalname


class Group(pytest.Item):
    """All cases of one function, or of a whole file."""

    functions: list[str]
    part: slice
    _cases = None

    def runtest(self):
        raise NotImplementedError("`run` runs the cases, as `pytest_runtest_protocol` has it")

    def reportinfo(self):
        return self.path, None, self.name

    def cases(self):
        if self._cases is None:
            file = self.parent
            found = [c for f in self.functions for c in drawn(file.cases_of(f))[self.part]]
            self._cases = shuffled(found, self.config.option.shuffle)
        return self._cases

    def run(self, nextitem):
        """Run the cases and report them as one test."""
        self.ihook.pytest_runtest_logstart(nodeid=self.nodeid, location=self.location)
        same_file = nextitem is not None and nextitem.parent is self.parent
        if is_late(self.config):
            why = (str(self.path), 0, "Skipped: not run, time is up")
            self.ihook.pytest_runtest_logreport(report=self.report("skipped", why, left=1))
            return
        try:
            cases = self.cases()
            following = nextitem.cases()[:1] if same_file else []
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
                raise
            reports = cases = [self.not_imported(error)]
        else:
            reports = run_all(cases, following)
        self.ihook.pytest_runtest_logreport(report=self.joined(reports, cases))
        self.ihook.pytest_runtest_logfinish(nodeid=self.nodeid, location=self.location)
        self._cases = None
        if not same_file:
            self.parent.loaded = None

    def not_imported(self, error):
        """The report of a file that cannot be imported, or is left out as a whole."""
        if isinstance(error, pytest.skip.Exception):
            return self.report("skipped", (str(self.path), 0, f"Skipped: {error.msg}"))
        found = pytest.ExceptionInfo.from_exception(error)
        return self.report("failed", str(self.parent.repr_failure(found)))

    def joined(self, reports, cases):
        """One report of all: failed if any is, skipped if all are."""
        ran = len({r.nodeid for r in reports})
        failed = [r for r in reports if r.failed]
        skipped = [r for r in reports if r.skipped]
        counts = {
            "took": sum(r.duration for r in reports),
            "cases": ran,
            "left": len(cases) - ran,
            "bad": [("failed", r.nodeid) for r in failed],
            "skipped": [("skipped", reason_of(r)) for r in skipped],
        }
        if failed:
            names = [f"  {r.nodeid} ({r.when})" for r in failed]
            whole = [f"{r.nodeid}\n\n{r.longreprtext}\n{r.capstdout}" for r in failed[:SHOWN]]
            text = "\n".join([f"{len(failed)} of {ran} cases fail:", *names])
            return self.report("failed", "\n\n".join([text, *whole]), **counts)
        if ran == 0 or ran == len({r.nodeid for r in skipped}):
            why = (str(self.path), 0, "Skipped: no case is due")
            return self.report("skipped", skipped[0].longrepr if skipped else why, **counts)
        return self.report("passed", None, **counts)

    def report(self, outcome, longrepr, took=0.0, cases=0, left=0, bad=(), skipped=()):
        return pytest.TestReport(
            self.nodeid,
            self.location,
            {self.name: 1},
            outcome,
            longrepr,
            "call",
            duration=took,
            user_properties=[("cases", cases), ("left", left), *bad, *skipped],
        )


def is_late(config):
    """Whether the time that ``--seconds`` gives is over."""
    return time.monotonic() - STARTED > (config.option.seconds or float("inf"))


def run_all(cases, following):
    """The reports of cases; what they share is torn down unless a case of the file follows."""
    reports = []
    for case, after in zip(cases, [*cases[1:], *(following or [None])], strict=False):
        case.stash[REPORTS] = reports
        case.ihook.pytest_runtest_protocol(item=case, nextitem=after)
        if case.session.shouldstop or is_late(case.config):
            break
    return reports


# ------------------------------------------------------------------------- the hooks of pytest


def pytest_addoption(parser):
    parser.addoption("--by", choices=["case", "function", "file"], help="what one test is")
    parser.addoption("--seconds", type=float, help="start nothing after so many, and say what")
    parser.addoption("--shuffle", metavar="SEED", help="run tests in a random order")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path, parent):
    if grain(parent.config, module_path) == "case":
        return None
    return GroupedFile.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(config, items):
    items[:] = shuffled(items, config.option.shuffle)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if isinstance(item, Group):
        item.run(nextitem)
        return True
    reports = item.stash.get(REPORTS, None)
    if reports is None:
        return None
    reports += runtestprotocol(item, log=False, nextitem=nextitem)
    return True
