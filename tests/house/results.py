"""A plugin of pytest that counts cases: ``-p tests.house.results --results FILE``.

The file is JSON. For each test file it has how many cases passed, and the names of those that
failed and the reasons of those that were skipped, each with a count.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict


class Counts:
    """What became of the cases of a file."""

    def __init__(self):
        self.passed = 0
        self.failed = Counter()
        self.skipped = Counter()


class Results:
    """What became of the cases, by files; one report may be of several (tests/grouped.py)."""

    def __init__(self):
        self.files = defaultdict(Counts)

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        properties = report.user_properties
        skipped = [value for key, value in properties if key == "skipped"]
        failed = [value for key, value in properties if key == "failed"]
        if report.skipped and not skipped:
            skipped = [reason_of(report)]
        if report.failed and not failed:
            failed = [report.nodeid]
        counts = self.files[report.nodeid.partition("::")[0]]
        counts.skipped.update(reason.removeprefix("Skipped: ") for reason in skipped)
        counts.failed.update(failed)
        cases = dict(properties).get("cases", report.when == "call")
        counts.passed += max(cases - len(skipped) - len(failed), 0)

    def pytest_collectreport(self, report):
        if report.failed:
            self.files[report.nodeid].failed[report.nodeid] += 1


def reason_of(report):
    """Why a case was skipped, or failed as was expected of it."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    return getattr(report, "wasxfail", "")


def pytest_addoption(parser):
    parser.addoption("--results", help="write the counts of cases there")


def pytest_configure(config):
    if config.option.results and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Results(), "results")


def pytest_unconfigure(config):
    results = config.pluginmanager.get_plugin("results")
    if results is not None:
        with open(config.option.results, "w", encoding="utf-8") as file:
            json.dump({path: vars(counts) for path, counts in results.files.items()}, file)
