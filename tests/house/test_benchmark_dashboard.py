"""The page of results: complete without a network, looked at in a browser."""

from __future__ import annotations

import functools
import http.server
import importlib
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import asv_site, dashboard, keeping, machine
    from benchmarks.programs import OURS
finally:
    sys.path.remove(str(ROOT))

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
COMMITS = ("a" * 40, "b" * 40, "c" * 40)
COLUMNS = ["result", "params", "version", "stats_ci_99_a", "stats_ci_99_b"]


@pytest.fixture
def found(tmp_path):
    """Three runs of asv, as it keeps them; in the second one benchmark failed."""
    about = {
        "bench_tape.Chain.time_tape": {"unit": "seconds"},
        "bench_tape.PerOperation.track_python_calls": {"unit": "calls"},
        "version": 2,
    }
    (tmp_path / "here").mkdir()
    (tmp_path / "benchmarks.json").write_text(json.dumps(about))
    (tmp_path / "here" / "machine.json").write_text("{}")
    for i, commit in enumerate(COMMITS):
        times = [None, 2e-3] if i == 1 else [1e-3 * (i + 1), 2e-3]
        spread = [[t and 0.99 * t for t in times], [t and 1.01 * t for t in times]]
        run = {
            "commit_hash": commit,
            "date": 1000 * i,
            "result_columns": COLUMNS,
            "results": {
                "bench_tape.Chain.time_tape": [
                    times,
                    [["'same shape'", "'</script>'"]],
                    "1",
                    *spread,
                ],
                "bench_tape.PerOperation.track_python_calls": [[5.9], [], "1"],
            },
        }
        (tmp_path / "here" / f"{i}.json").write_text(json.dumps(run))
    return tmp_path


def test_results_are_collected_by_commit_and_parameters(found):
    data = dashboard.collected(found)
    assert [c["name"] for c in data["commits"]] == ["a" * 10, "b" * 10, "c" * 10]
    times = data["benchmarks"]["bench_tape.Chain.time_tape"]["series"]
    assert [p and p[0] for p in times["same shape"]] == [1e-3, None, 3e-3]
    calls = data["benchmarks"]["bench_tape.PerOperation.track_python_calls"]
    assert calls == {"unit": "calls", "series": {"": [[5.9, None, None]] * 3}}


def test_combinations_of_parameters_are_in_the_order_of_asv():
    assert dashboard._labels([["'a'", "'b'"], ["1", "2"]]) == ["a, 1", "a, 2", "b, 1", "b, 2"]
    assert dashboard._labels([]) == [""]


def test_results_that_are_kept_are_joined_with_new_ones(found, tmp_path):
    """In the order of the commits' dates; of a commit in both, the new figure counts."""
    new = dashboard.collected(found)
    name, label = "bench_tape.Chain.time_tape", "same shape"
    old = {
        "commits": [
            {"name": "d" * 10, "date": -1, "subject": "first"},
            {**new["commits"][0], "subject": "other"},
        ],
        "benchmarks": {
            name: {"unit": "seconds", "series": {label: [[0.123456789, None, None], [9.0] * 3]}},
            "bench_gone.time": {"unit": "seconds", "series": {"": [[1.0, 0.9, 1.1], None]}},
        },
    }
    path = dashboard.keep_history(old, tmp_path / "history.json")
    assert dashboard.history(path)["benchmarks"][name]["series"][label][0][0] == 0.1235
    data = dashboard.merged(dashboard.history(path), new)
    assert [c["name"][0] for c in data["commits"]] == ["d", "a", "b", "c"]
    assert [p and p[0] for p in data["benchmarks"][name]["series"][label]] == [
        0.1235, 1e-3, None, 3e-3,
    ]  # fmt: skip
    assert data["benchmarks"]["bench_gone.time"]["series"][""] == [
        [1.0, 0.9, 1.1],
        None,
        None,
        None,
    ]
    assert dashboard.merged(data, {"commits": [], "benchmarks": {}}) == data
    assert dashboard.history(tmp_path / "none.json") == {"commits": [], "benchmarks": {}}


def test_twenty_five_commits_of_the_past_are_kept():
    """Their benchmarks name modules that have moved since: they cannot be measured again."""
    data = dashboard.history()
    assert len(data["commits"]) >= 25
    chain = data["benchmarks"]["bench_tape.Chain.time_tape"]["series"]
    assert all(len([p for p in points if p]) >= 20 for points in chain.values())


def test_what_became_slower_is_listed_with_the_commit_since_which_it_is():
    commits = [{"name": n * 10, "date": i, "subject": n.upper()} for i, n in enumerate("abcd")]
    point = lambda x: [x, 0.99 * x, 1.01 * x]
    series = {
        "worse": list(map(point, (1.0, 1.3, 1.2, 1.25))),
        "a spike": list(map(point, (1.0, 3.0, 1.0, 1.05))),
        "in doubt": [[1.0, 0.5, 1.5], None, None, [1.3, 0.9, 1.7]],
        "faster": list(map(point, (2.0, 1.0, 1.0, 1.0))),
        "after a recovery": [*map(point, (1.0, 1.5, 1.0)), point(1.5)],
        "count": [[2, None, None], [2, None, None], None, [3, None, None]],
    }
    data = {"commits": commits, "benchmarks": {"b": {"unit": "seconds", "series": series}}}
    found = {row["label"]: (row["ratio"], row["cause"]) for row in dashboard.slower(data)}
    assert found == {
        "worse": (1.25, "B"),
        "after a recovery": (1.5, "D"),
        "count": (1.5, "D"),
    }


def kept():
    ratios = {"NumPy by hand": 1.0, OURS: 2.0, "autograd": 9.0}
    entries = {name: {"seconds": 1e-3, "ratio": ratio} for name, ratio in ratios.items()}
    return {**machine.describe(), "programs": {"chain of 1000 operations, length 4": entries}}


def test_the_page_loads_nothing(found):
    text = dashboard.page(dashboard.collected(found), kept())
    links = set(re.findall(r"https?://[^\"' <)]+", text))
    assert links <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", text)
    assert text.count("</script>") == 1  # also where a parameter is called so


def elements(address, profile, *options, timeout, reached=""):
    """What a browser makes of a page, which complains of nothing: its elements."""
    run = subprocess.run(
        [
            *[BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"],
            *[f"--host-resolver-rules=MAP * ~NOTFOUND{reached}", "--enable-logging=stderr"],
            *[f"--user-data-dir={profile}", *options, address],
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=timeout,
    )
    assert "CONSOLE" not in run.stderr, run.stderr
    return run.stdout


def seen(path, line):
    """What a browser that reaches no host makes of the page: its elements."""
    address, profile = f"{path.as_uri()}#{line}", path.parent / "profile"
    return elements(address, profile, "--virtual-time-budget=2000", timeout=60)


def lines_of(shown):
    return re.search(r'<tbody class="list" id="list">(.*?)</tbody>', shown, re.DOTALL)[1]


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium")
def test_a_browser_shows_the_page(found, tmp_path, monkeypatch):
    """Without any host; the table, the list, and the chart of the line that was chosen."""
    monkeypatch.setattr(keeping, "LATEST", tmp_path / "latest")
    keeping.keep(kept(), keeping.LATEST)
    path = dashboard.publish(found, tmp_path / "html", tmp_path / "no_past.json")
    shown = seen(path, "bench_tape.Chain.time_tape%7Csame%20shape")
    assert '<td class="first">2.00</td>' in shown
    rows = lines_of(shown)
    assert rows.count("<tr") == 3
    assert "3 ms" in rows
    assert 'class="more"' in rows  # three times as long, and certain
    chart = re.search(r'<div id="chart">(.*?)</svg>', shown, re.DOTALL)[1]
    assert chart.count("<circle") == 5  # two parameters, three commits, one of them failed
    assert "hidden" not in chart


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium")
def test_no_column_is_cut_off(tmp_path):
    """On a window of 1,400 pixels."""
    path = dashboard.publish(tmp_path / "none", tmp_path / "html")
    widths = """<script>document.title = [...document.querySelectorAll(".wide")].map(
        box => box.scrollWidth > box.clientWidth ? "cut off" : "whole").join()</script>"""
    path.write_text(path.read_text().replace("</body>", f"{widths}</body>"))
    address, profile = path.as_uri(), tmp_path / "profile"
    shown = elements(
        address, profile, "--window-size=1400,900", "--virtual-time-budget=2000", timeout=60
    )
    assert "<title>whole,whole,whole</title>" in shown


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium")
def test_a_browser_shows_the_past(tmp_path):
    """The results that are kept, without new ones: a line for each series of them."""
    path = dashboard.publish(tmp_path / "none", tmp_path / "html")
    past = dashboard.history()["benchmarks"].values()
    series = [points for entry in past for points in entry["series"].values() if any(points)]
    shown = seen(path, "bench_tape.Chain.time_tape%7Csame%20shape")
    assert lines_of(shown).count("<tr") == len(series) > 200


@pytest.mark.slow
def test_asv_runs_over_a_commit(tmp_path, monkeypatch):
    pytest.importorskip("asv")
    try:
        dashboard.trees.resolved("HEAD")
    except ValueError:
        pytest.skip("not a repository")
    assert dashboard.main(["HEAD", "--bench", "bench_tape.PerOperation", "--quick"]) == 0
    data = dashboard.collected(dashboard.ASV / "results")
    assert any("track_python_calls" in name for name in data["benchmarks"])


# ------------------------------------------------------------------------------ asv's own pages


def test_benchmarks_are_grouped_and_named_in_words():
    named = {name: asv_site.in_operations(name) for name in dashboard.history()["benchmarks"]}
    assert named["bench_tape.Chain.time_tape"] == "The tape.Chain, time of tape"
    assert named["bench_memory.PerOperation.track_bytes"] == "Memory.Per operation, bytes"
    assert not [operations for operations in named.values() if "_" in operations]
    assert len({*named.values()}) == len(named)
    files = {path.stem for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert {*asv_site.GROUPS} == files
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert not [file for file in files if f"`{file}.py`" not in page]


def test_titles_say_what_is_measured():
    assert asv_site.title("bench_import.Import.timeraw_first_gradient") == (
        "time of the first gradient of a process"
    )
    names = [*dashboard.history()["benchmarks"]]
    assert len({asv_site.title(name) for name in names}) == len(names)
    assert not [name for name in names if "_" in asv_site.title(name)]


def test_without_a_network_npm_gives_up_at_once(tmp_path, monkeypatch):
    """It would try for a minute and a half; the single page is there all the same."""
    (tmp_path / "npm").write_text('#!/bin/sh\necho "asked: $*" >&2\nexit 1\n')
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setattr(asv_site.shutil, "which", lambda _: "npm")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(asv_site.NoScriptsError, match=r"--fetch-timeout=3000 --fetch-retries=0"):
        asv_site.install_scripts(tmp_path / "scripts")


def test_a_second_call_asks_no_network_for_scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(asv_site, "npm", lambda: ["true"])
    modules = asv_site.install_scripts(tmp_path / "scripts")
    monkeypatch.setattr(asv_site, "npm", lambda: ["false"])
    assert asv_site.install_scripts(tmp_path / "scripts") == modules


@pytest.mark.parametrize("suite", asv_site.GROUPS)
def test_a_suite_can_be_imported_and_has_benchmarks(suite):
    needed = suite.removeprefix("bench_")
    if needed in ("cupy", "dask", "jax", "torch", "autograd"):
        pytest.importorskip(needed)
    module = importlib.import_module(f"benchmarks.{suite}")
    names = [name for cls in vars(module).values() if isinstance(cls, type) for name in vars(cls)]
    assert [name for name in names if name.startswith(tuple(f"{k}_" for k in asv_site.KINDS))]


def test_of_asvs_regressions_the_large_ones_stay(tmp_path):
    path = tmp_path / "regressions.json"
    steps = [[1, 2, 1.0, 1.05], [3, 4, 1.05, 1.3]]
    rows = [["a", "p", {}, 0, 1.3, 1.0, steps], ["b", "p", {}, 0, 1.05, 1.0, steps[:1]]]
    path.write_text(json.dumps({"regressions": rows}))
    asv_site.keep_large_steps(path)
    kept = json.loads(path.read_text())["regressions"]
    assert kept == [["a", "p", {}, 0, 1.3, 1.0, steps[1:]]]


def test_results_are_written_in_the_form_of_asv(tmp_path, monkeypatch):
    monkeypatch.setattr(asv_site.trees, "resolved", lambda name: name.ljust(40, "0"))
    data = dashboard.history()
    assert asv_site.write_results(data, tmp_path / "results") == len(data["commits"])
    about = json.loads((tmp_path / "results" / "benchmarks.json").read_text())
    assert {entry["code"] for key, entry in about.items() if key != "version"} == {
        *data["benchmarks"]
    }
    first = data["commits"][0]["name"]
    kept = tmp_path / "results" / asv_site.MACHINE / f"{first[:8]}-kept.json"
    values, labels, *_ = json.loads(kept.read_text())["results"]["The tape.Chain, time of tape"]
    series = data["benchmarks"]["bench_tape.Chain.time_tape"]["series"]
    assert dict(zip(labels[0], values, strict=True)) == {
        name: points[0] and points[0][0] for name, points in series.items()
    }


def test_scripts_are_locked_by_their_content_and_from_no_named_host():
    lock = json.loads((asv_site.LOCK / "package-lock.json").read_text())
    wanted = json.loads((asv_site.LOCK / "package.json").read_text())["dependencies"]
    found = {name.removeprefix("node_modules/"): p for name, p in lock["packages"].items() if name}
    assert {name: entry["version"] for name, entry in found.items()} == wanted
    assert all(entry["integrity"].startswith("sha512-") for entry in found.values())
    assert "resolved" not in json.dumps(lock)
    assert {path.partition("/")[0] for path in asv_site.SCRIPTS.values()} == {*wanted}


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="there is no Chromium")
@pytest.mark.parametrize("width", [390, 1400])
def test_a_browser_shows_the_pages_of_asv(tmp_path, width):
    """Its grid, a graph with its units, its regressions: from this machine alone."""
    pytest.importorskip("asv")
    single = dashboard.publish(tmp_path / "none", tmp_path / "html")
    home = tmp_path / "asv"
    home.mkdir()
    try:
        asv_site.publish(dashboard.history(), single, home)
    except asv_site.NoScriptsError as error:
        pytest.skip(str(error))
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0),
        functools.partial(Quiet, directory=str(home / "site")),
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        at = f"http://127.0.0.1:{server.server_port}/index.html#/"
        grid = opened(at, tmp_path / "profile", width)
        shown = [e for e in dashboard.history()["benchmarks"].values() if any(e["series"].values())]
        assert grid.count("benchmark-container") >= len(shown) > 30
        assert "Whole programs" in grid
        assert "single.html" in grid
        graph = opened(at + "The%20tape.Chain%2C%20time%20of%20tape", tmp_path / "profile", width)
        assert "<canvas" in graph  # its axes are drawn there, with the units that the index tells
        assert "same shape" in graph
        index = json.loads((home / "site" / "index.json").read_text())["benchmarks"]
        assert index["The tape.Chain, time of tape"]["unit"] == "seconds"
        assert "Boundary, calls of product" in opened(at + "regressions", tmp_path / "p", width)
    finally:
        server.shutdown()
        server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def opened(address, profile, width):
    """What a browser that reaches this machine alone makes of a page."""
    options = f"--window-size={width},900", "--virtual-time-budget=8000"
    return elements(address, profile, *options, timeout=120, reached=", EXCLUDE 127.0.0.1")
