"""The pytest plugin: markers, a test per array library, and a summary of the samples.

It is active only if ``pytest -p chainrules_py.testing.plugin``, or ``addopts`` in the project's
settings, turns it on.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pytest

if TYPE_CHECKING:
    from chainrules_py.testing import Backend

_LIBRARIES = {
    "numpy": "numpy",
    "array_api_strict": "array_api_strict",
    "array_api_strict:device1": "array_api_strict",
}

_MARKERS = {
    "slow": "takes more than about five seconds, or repeats in depth what another test shows",
    "gpu": "needs a GPU that CuPy can use; skipped, with the reason, where there is none",
    "nightly": "many draws of the same; runs only if -m names it",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file of outcomes."""
    group = parser.getgroup("chainrules_py", "rules of derivatives")
    group.addoption(
        "--chainrules-json",
        metavar="PATH",
        help="write what each rule's samples came to: modes, checks by library, samples, seeds",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and the collector of outcomes."""
    for name, text in _MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    # With pytest-xdist every worker reports to one process, which alone collects.
    if not hasattr(config, "workerinput"):
        path = config.getoption("--chainrules-json")
        folder = config.invocation_params.dir
        config.pluginmanager.register(_Ledger(folder / path if path else None), "chainrules-ledger")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect nightly tests unless the expression of ``-m`` names them."""
    if "nightly" in (config.getoption("-m") or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("nightly")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that need a GPU where there is none."""
    if item.get_closest_marker("gpu"):
        from chainrules_py.testing.cases.backends import KNOWN

        (missing,) = [known.missing for known in KNOWN if known.name == "cupy"]
        if missing:
            pytest.skip(f"needs a GPU: {missing}")


@pytest.fixture(
    params=[name for name, module in _LIBRARIES.items() if importlib.util.find_spec(module)]
)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each installed array library on each of its devices.

    ``backend.asarray`` converts a NumPy array to the library, and ``backend.numpy`` converts back;
    ``backend.xp`` is the library, ``backend.device`` the device, ``backend.name`` their name.
    """
    from chainrules_py.testing import backends

    return {known.name: known for known in backends()}[request.param]


@final
class _Ledger:
    """Collector of the outcomes of samples in the reports of all tests."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.kept: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcomes of tests that were generated from samples."""
        if report.when == "call":
            said: list[tuple[str, Any]] = report.user_properties
            self.kept += [outcome for key, outcome in said if key == "chainrules_py"]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a summary of the samples in one line, and write the requested file."""
        if not self.kept and self.path is None:
            return
        from chainrules_py.testing import Outcome, Summary

        summary = Summary([Outcome.from_dict(kept) for kept in self.kept])
        if self.kept:
            terminalreporter.write_line(
                summary.headline, green=summary.passed, red=not summary.passed
            )
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            summary.write_json(self.path)
