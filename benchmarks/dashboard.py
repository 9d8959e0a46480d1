"""Runs asv over commits and publishes what it found: as asv's own pages, and as a single one.

asv's own pages load their data by requests that a browser refuses for files: they want a server
(`asv preview`). The single page is written from the same results: everything is in it, and it opens
from a folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import asv_site, keeping, machine, peers, trees

CONFIG = machine.ROOT / "benchmarks" / "asv.conf.json"
ASV = machine.ROOT / ".asv"
HISTORY = keeping.KEPT / "history.json"
"""Results of commits that the benchmarks of now cannot run, since names have changed."""
TEMPLATE = machine.ROOT / "benchmarks" / "dashboard.html"
BENCH = (
    r"bench_guards|bench_import|PerOperation|Lookup|Registration|Chain\."
    r"|Rules.*\(.*, 4, 'numpy'\)|Programs.*'chainrules_tape'"
)
"""What is run over commits when nothing is said: ours alone, in a minute or two per commit."""


IMPORTS = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(f"benchmarks.{name}")
    except Exception:
        continue
    print(name)
"""


def configured(commit: str, folder: Path) -> Path:
    """Write asv's configuration for a commit: with those of today's suites that it can import.

    One module that cannot be imported would keep asv, which imports them all, from running any.
    """
    suites = CONFIG.parent
    names = sorted({path.stem for path in suites.glob("*.py")} - {"__init__"})
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTS, *names],
        env={**os.environ, "PYTHONPATH": trees.paths(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    fit = set(done.stdout.split())
    for name in set(names) - fit:
        if name.startswith("bench_"):
            print(f"  without {name}, which wants what this commit does not have", flush=True)
    into = ASV / "suites" / commit[:12] / "benchmarks"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for path in suites.iterdir():
        other = path.suffix != ".py" and path.name not in ("__pycache__", "results")
        if path.stem in {*fit, "__init__"} or other:
            (into / path.name).symlink_to(path)
    settings = json.loads(CONFIG.read_text(encoding="utf-8"))
    settings |= {"repo": str(machine.ROOT), "benchmark_dir": str(into)}
    settings |= {"results_dir": str(ASV / "results"), "env_dir": str(ASV / "env")}
    path = into.parent / "asv.conf.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


def run(commit: str, bench: list[str], more: list[str]) -> int:
    """Run asv's benchmarks of now over the packages of a commit."""
    folder = trees.tree(commit)
    environment = {**os.environ, "HOME": str(ASV), "ASV_PYTHONPATH": trees.paths(folder)}
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = "1"
    asv = [sys.executable, "-m", "asv"]
    ASV.mkdir(exist_ok=True)
    config = ["--config", str(configured(trees.resolved(commit), folder))]
    at: dict[str, Any] = {"cwd": CONFIG.parent, "env": environment}
    known = [*asv, "machine", "--yes", *config]
    subprocess.run(known, check=True, stdout=subprocess.DEVNULL, **at)
    chosen = [part for regex in bench for part in ("--bench", regex)]
    done = subprocess.run(
        [
            *[*asv, "run", *config, "--environment", f"existing:{sys.executable}"],
            *["--set-commit-hash", trees.resolved(commit), *chosen, *more],
        ],
        check=False,
        **at,
    )
    return done.returncode


# ------------------------------------------------------------------------------ what asv found


def collected(folder: Path) -> dict[str, Any]:
    """All results of asv under a folder, as the page wants them.

    ``commits`` are in the order of their dates; each benchmark has a ``unit`` and ``series``: for
    each combination of parameters one ``[value, low, high]`` per commit, None where there is none.
    Low and high are asv's 99 % interval, or None where it has none.
    """
    about = _read(folder / "benchmarks.json")
    runs = [_read(path) for path in folder.glob("*/*.json") if path.name != "machine.json"]
    runs = [found for found in runs if "commit_hash" in found]
    dates: dict[str, int] = {}
    for found in runs:
        dates[found["commit_hash"]] = _date(found)
    names = sorted(dates, key=lambda name: (dates[name], name))
    place = {name: i for i, name in enumerate(names)}
    benchmarks: dict[str, Any] = {}
    for found in runs:
        columns = found["result_columns"]
        for name, row in found["results"].items():
            entry = dict(zip(columns, row, strict=False))
            values, params = entry.get("result"), entry.get("params") or []
            if not values:
                continue
            kept = benchmarks.setdefault(
                name, {"unit": about.get(name, {}).get("unit", "seconds"), "series": {}}
            )
            low = entry.get("stats_ci_99_a") or [None] * len(values)
            high = entry.get("stats_ci_99_b") or [None] * len(values)
            for label, *point in zip(_labels(params), values, low, high, strict=False):
                if _finite(point[0]) is not None:
                    series = kept["series"].setdefault(label, [None] * len(names))
                    series[place[found["commit_hash"]]] = [_finite(x) for x in point]
    return {
        "commits": [{"name": name[:10], "date": dates[name], **_subject(name)} for name in names],
        "benchmarks": {name: benchmarks[name] for name in sorted(benchmarks)},
    }


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Put two collections together; of a commit that is in both, the new one's figures count."""
    commits = {entry["name"]: entry for found in (old, new) for entry in found["commits"]}
    ordered = sorted(commits.values(), key=lambda entry: (entry["date"], entry["name"]))
    place = {entry["name"]: i for i, entry in enumerate(ordered)}
    benchmarks: dict[str, Any] = {}
    for found in (old, new):
        for name, entry in found["benchmarks"].items():
            kept = benchmarks.setdefault(name, {"unit": entry["unit"], "series": {}})
            for label, points in entry["series"].items():
                series = kept["series"].setdefault(label, [None] * len(ordered))
                for commit, point in zip(found["commits"], points, strict=True):
                    if point is not None:
                        series[place[commit["name"]]] = point
    return {
        "commits": ordered,
        "benchmarks": {name: benchmarks[name] for name in sorted(benchmarks)},
    }


def history(path: Path = HISTORY) -> dict[str, Any]:
    """Return the collection that is kept; an empty one where there is none."""
    return _read(path) or {"commits": [], "benchmarks": {}}


def keep_history(data: dict[str, Any], path: Path = HISTORY) -> Path:
    """Write a collection with as many digits as mean something, a line for each series."""
    short = lambda x: float(f"{x:.4g}") if isinstance(x, float) else x
    lines = []
    for name, entry in data["benchmarks"].items():
        rows = []
        for label, points in entry["series"].items():
            cut = [None if point is None else [short(x) for x in point] for point in points]
            rows.append(f"{json.dumps(label)}: {json.dumps(cut, separators=(',', ':'))}")
        series = ",\n".join(rows)
        lines.append(
            f'{json.dumps(name)}: {{"unit": {json.dumps(entry["unit"])}, "series": {{\n{series}}}}}'
        )
    commits = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in data["commits"])
    joined = ",\n".join(lines)
    path.write_text(
        f'{{"commits": [\n{commits}],\n"benchmarks": {{\n{joined}}}}}\n', encoding="utf-8"
    )
    return path


def _finite(x: Any) -> float | None:
    return x if isinstance(x, (int, float)) and math.isfinite(x) else None


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return {}
    return found


def _date(found: dict[str, Any]) -> int:
    """When a commit was made, in seconds; outside of a repository, what asv says."""
    try:
        return int(trees.log(found["commit_hash"], "%ct"))
    except ValueError:
        return int(found.get("date") or 0) // 1000


def _subject(name: str) -> dict[str, str]:
    try:
        return {"subject": trees.log(name, "%s")}
    except ValueError:
        return {"subject": ""}


def _labels(params: list[list[str]]) -> list[str]:
    """List the combinations of parameters in asv's order, as text."""
    labels = [""]
    for values in params:
        plain = [value.strip("'") for value in values]
        labels = [f"{old}, {value}" if old else value for old in labels for value in plain]
    return labels


def slower(data: dict[str, Any]) -> list[dict[str, Any]]:
    """List what is slower than it was, beyond `asv_site.SLOWER` and doubt, with the commit.

    It is the first of those since which each one was that slow; its subject is the cause.
    """
    found = []
    for name, entry in data["benchmarks"].items():
        for label, points in entry["series"].items():
            known = [(i, point) for i, point in enumerate(points) if point is not None]
            if not known:
                continue
            best, (_, last) = min([p for _, p in known]), known[-1]
            apart = None in (last[1], best[2]) or last[1] > best[2]
            if best[0] <= 0 or last[0] <= asv_site.SLOWER * best[0] or not apart:
                continue
            since = known[-1][0]
            for i, point in reversed(known):
                if point[0] <= asv_site.SLOWER * best[0]:
                    break
                since = i
            commit = data["commits"][since]
            found.append(
                {
                    "name": name,
                    "label": label,
                    "ratio": last[0] / best[0],
                    "commit": commit["name"],
                    "cause": commit["subject"],
                }
            )
    return sorted(found, key=lambda row: -row["ratio"])


# ------------------------------------------------------------------------------------- the page


def page(data: dict[str, Any], measured: dict[str, Any] | None = None) -> str:
    """Return the whole page, with its data, its style and its script in it."""
    shown = {name: e for name, e in data["benchmarks"].items() if e["series"]}
    titled = {name: {**e, "title": asv_site.title(name)} for name, e in shown.items()}
    data = {**data, "benchmarks": titled, "slower": slower(data)}
    if measured is not None:
        data = {
            **data,
            "peers": list(peers.table(measured)),
            "claims": list(peers.claims(measured)),
            "measured": machine.sentence(measured),
        }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # What ends a script must not stand in one.
    text = text.replace("<", "\\u003c")
    return TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/null", text)


def publish(
    folder: Path = ASV / "results", into: Path = ASV / "html", past: Path = HISTORY
) -> Path:
    """Write the page of all that is known."""
    measured = None
    for where in (keeping.LATEST, keeping.KEPT):
        try:
            measured = keeping.latest(where)
        except FileNotFoundError:
            continue
        break
    into.mkdir(parents=True, exist_ok=True)
    path = into / "index.html"
    path.write_text(page(merged(history(past), collected(folder)), measured), encoding="utf-8")
    return path


def main(arguments: list[str] | None = None) -> int:
    """Run and publish."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description=__doc__)
    parser.add_argument("range", nargs="?", default="HEAD", help="a commit, or a range: A..B")
    parser.add_argument("--most", type=int, default=10, help="of so many commits of the range")
    parser.add_argument("--bench", action="append", help=f"what asv runs; {BENCH!r} by default")
    parser.add_argument("--only-publish", action="store_true", help="run nothing")
    parser.add_argument(
        "--keep-history", action="store_true", help=f"keep all that is known in {HISTORY.name}"
    )
    given, more = parser.parse_known_args(arguments)
    failed = []
    if not given.only_publish:
        for commit in trees.commits(given.range, given.most):
            print(f"commit {commit[:10]}", flush=True)
            if run(commit, given.bench or [BENCH], more):
                failed.append(commit[:10])
    if given.keep_history:
        keep_history(merged(history(), collected(ASV / "results")))
    path = publish()
    print(f"Open {path.relative_to(machine.ROOT)}, or asv's own pages:")
    try:
        config = asv_site.publish(merged(history(), collected(ASV / "results")), path, ASV)
    except asv_site.NoScriptsError as error:
        print(f"  none here: {error}")
    else:
        print(f"  {sys.executable} -m asv preview --config {config.relative_to(machine.ROOT)}")
    if failed:
        print(f"asv did not finish, or something failed, at {', '.join(failed)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
