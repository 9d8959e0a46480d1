"""What every test module finds ready, and what each suite took."""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import sys
import time
from collections import defaultdict

import hypothesis
import numpy as np
import pytest

# Before anything is collected: under --import-mode=importlib a package that is first met as a file
# to collect is imported under its path, and a second time under its name.
import chainrules_py  # noqa: F401
from tests.draw import DRAW, DRAW_SLOW
from tests.grouped import (  # noqa: F401 (hooks)
    left_out,
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_pycollect_makemodule,
    pytest_runtest_protocol,
)

os.environ.setdefault("DEV", "PYTHON")  # whoever imports tinygrad first: no compiler of C is needed

# The same draws in every run, however busy the machine is; `seed` gives others.
hypothesis.settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("fixed")

ERRORS = np.geterr()

# How many modules there were, and how many files ago, when what was there was last kept.
KEPT = [0, 0]

# `make test` on two cores is to stay below this, in seconds.
BUDGET = 5 * 60


class Suites:
    """The seconds that tests took, by folder, and by file for those in no folder."""

    def __init__(self):
        self.start = time.perf_counter()
        self.seconds = defaultdict(float)
        self.tests = defaultdict(int)
        self.cases = defaultdict(int)
        self.left = defaultdict(int)  # not run, as time was up

    def pytest_runtest_logreport(self, report):
        file = report.nodeid.partition("::")[0].removeprefix("tests/")
        suite = file.partition("/")[0]
        self.seconds[suite] += report.duration
        self.tests[suite] += report.when == "call"
        counts = dict(report.user_properties)
        self.cases[suite] += counts.get("cases", report.when == "call")
        self.left[suite] += counts.get("left", 0)

    def pytest_terminal_summary(self, terminalreporter):
        if sum(self.tests.values()) < 500:  # a few tests by hand
            return
        terminalreporter.section("seconds by suite, of all workers together")
        for suite in sorted(self.seconds, key=self.seconds.get, reverse=True):
            took, tests, cases = self.seconds[suite], self.tests[suite], self.cases[suite]
            terminalreporter.write_line(f"{took:8.1f} s {tests:6} tests {cases:6} cases  {suite}")
        if any(self.left.values()):
            left = ", ".join(f"{n} of {suite}" for suite, n in self.left.items() if n)
            terminalreporter.write_line(f"time was up, and these tests were not run: {left}")
        wall = time.perf_counter() - self.start
        terminalreporter.write_line(
            f"{wall:8.1f} s by the clock, of {BUDGET} s that `make test` may take on two cores; "
            f"{sum(self.cases.values())} cases"
        )


def pytest_report_header(config):
    lines = []
    if DRAW:
        lines.append(f"drawn: a tenth of generated cases, by CHAINRULES_DRAW={DRAW}")
    if DRAW_SLOW:
        lines.append(f"drawn: a tenth of slow cases, by CHAINRULES_DRAW_SLOW={DRAW_SLOW}")
    if config.option.shuffle is not None:
        lines.append(f"random order: --shuffle={config.option.shuffle}")
    return lines


def pytest_configure(config):
    # Looking for circles in what tests make and drop at once took a twentieth of the time.
    gc.set_threshold(200_000, 20, 20)
    if os.environ.get("CHAINRULES_WITHOUT"):
        from tests.plain import unplug_as_asked

        unplug_as_asked()
    if os.environ.get("CHAINRULES_COMPILED"):
        from tests.engines.compile.shadow import Shadow

        config.pluginmanager.register(Shadow(), "compiled")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Suites(), "suites")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, obj):
    """Make no tests only to leave them out: they are more than those that run."""
    marks = getattr(obj, "pytestmark", ())
    if isinstance(marks, list) and not left_out(collector.config).isdisjoint(
        [mark.name for mark in marks]
    ):
        return []
    return None


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Leave out cases as well; one stays, with its mark, where none is to run."""
    yield
    late, calls = left_out(metafunc.config), metafunc._calls
    few = [call for call in calls if late.isdisjoint([mark.name for mark in call.marks])]
    metafunc._calls = few or calls[:1]


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable():
    """Send texts of traced numbers, which stand in reports of failures, as plain ones."""
    return as_plain((yield))


def as_plain(x):
    if isinstance(x, dict):
        return {as_plain(key): as_plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(map(as_plain, x))
    return str.__str__(x) if isinstance(x, str) else x


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """Have what is imported by now stay as it is.

    Collections of garbage in tests look at what the tests make, not at all the tests. CuPy, which
    Dask imports, is put on the host before anything can load the rules for it: now, if files are
    imported later.
    """
    later = session.config.option.by and not session.config.option.collectonly
    if "cupy" in sys.modules or (later and importlib.util.find_spec("cupy")):
        from tests.fake_gpu.backend import is_importable

        is_importable()
    keep_what_is_there()


def keep_what_is_there():
    KEPT[1] += 1
    if len(sys.modules) > KEPT[0] or KEPT[1] > 10:
        KEPT[:] = len(sys.modules), 0
        gc.collect()
        gc.freeze()


GENERATORS = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Have a case draw the same numbers whichever ran before it."""
    module = getattr(item, "module", None)
    if module not in GENERATORS:
        found = [x for x in vars(module or object).values() if isinstance(x, np.random.Generator)]
        GENERATORS[module] = [(x, x.bit_generator.state) for x in found]
    for generator, state in GENERATORS[module]:
        generator.bit_generator.state = state


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    if nextitem is None or nextitem.path != item.path:
        keep_what_is_there()  # engines that were loaded meanwhile are large
    errors = np.seterr(**ERRORS)
    if errors != ERRORS:  # a later test of warnings would see none
        pytest.fail(f"{item.nodeid} leaves NumPy's errors as {errors}")


@pytest.fixture
def logged():
    """The messages that are logged, in their order.

    pytest's own plugin is left out: in each phase of each case it visits all loggers of PyTorch.
    """
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    yield messages
    logging.getLogger().removeHandler(handler)
