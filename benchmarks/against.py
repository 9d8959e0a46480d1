"""Compares the working tree with a commit, and says what became slower, if that is certain.

Both run in processes of their own, which take turns. Where things lie in memory is settled when
a process starts and moves times by some percent: a pair of processes gives one ratio, however often
it measures. Pairs are started until the 95 % interval of the median ratio is narrow. What seems
slower is measured again with as many new pairs, and is slower only if it is so both times.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import machine, trees
from benchmarks.timing import CLOCKS, interval

THRESHOLD = 0.05
WIDTH = 0.04
FEWEST, MOST = 6, 16
HEAVY = ("MLP 784", "logistic", "1000 uses", "chain of 1e+05", "n = 500", "N=1000", "300 op")


# ------------------------------------------------------------------------------------ what runs


def workloads() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Return the workloads to compare: each value builds the call that is timed."""
    from benchmarks import chain, costs, families
    from benchmarks.programs import OURS, PROGRAMS, engine

    found: dict[str, Callable[[], Callable[[], Any]]] = {}
    for name, program in PROGRAMS.items():
        if not name.startswith(HEAVY) and not any(operation in name for operation in HEAVY):
            found[name] = functools.partial(_program, engine, OURS, program)
    found["chain, one operand broadcast"] = lambda: functools.partial(
        chain.by_tape, *chain.inputs("broadcast")
    )
    for name in families.FAMILIES:
        found[f"frule {name}"] = lambda name=name: families.family(name).frule
        found[f"rrule {name}"] = lambda name=name: families.family(name).rrule
    for name in costs.OPERATIONS:
        found[f"cost of {name.replace('`', '')}"] = functools.partial(costs.chained, name, 100)
    for name, build in costs.FUNCTIONS.items():
        found[f"cost of {name.replace('`', '')}"] = build
    return found


def _program(engine: Any, by: str, program: Any) -> Callable[[], Any]:
    return engine(by, program, program.inputs())


def counts() -> dict[str, float]:
    """Return the measures that need no clock, such as calls and bytes, per operation."""
    from benchmarks import chain

    found = {
        f"{what} per operation, {case}": round(value, 3)
        for case in chain.SHAPES
        for what, value in chain.measure_tape(case).items()
    }
    try:
        from benchmarks.counts import OPERATIONS, of_operation

        for name in OPERATIONS:
            for what, number in of_operation(name).items():
                found[f"{what} of {name}"] = number
    except (ImportError, AttributeError, TypeError):  # of a tape that is built otherwise
        pass
    return found


def serve(clock: str) -> None:
    """Answer what is asked, line by line: the process of one tree."""
    import chainrules_tape

    known, built = workloads(), {}
    now = CLOCKS[clock]
    print(json.dumps({"tape": chainrules_tape.__file__}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["name"]
        try:
            if name == "counts":
                print(json.dumps({"counts": counts()}), flush=True)
                continue
            if name not in built:
                run = known[name]()
                run()
                start = now()
                run()
                took = max(now() - start, 1e-7)
                built[name] = run, max(1, int(asked["seconds"] / took))
            run, number = built[name]
            start = now()
            for _ in range(number):
                run()
            print(json.dumps({"seconds": (now() - start) / number}), flush=True)
        except Exception as error:  # what a tree cannot do is left out, and said
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


class Worker:
    """A process that measures one tree."""

    def __init__(self, folder: Path, clock: str = "process") -> None:
        code = f"from benchmarks.against import serve; serve({clock!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": trees.paths(folder), "PYTHONHASHSEED": "0"},
        )
        tape = self._answer().get("tape", "")
        if not Path(tape).is_relative_to(folder):
            self.close()
            msg = f"{folder} was to be measured, but {tape or 'nothing'} was imported"
            raise RuntimeError(msg)

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return answer

    def ask(self, name: str, seconds: float = 0.01) -> dict[str, Any]:
        """Ask for the time of one call of a workload."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"name": name, "seconds": seconds}) + "\n")
            self.process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def pair(
    base: Path, new: Path, names: Iterable[str], *, rounds: int = 7, clock: str = "process"
) -> tuple[dict[str, float], dict[str, str]]:
    """Return each workload's ratio, new over base, from one pair of processes; and what failed."""
    workers = [Worker(base, clock), Worker(new, clock)]
    found, failed = {}, {}
    try:
        for name in names:
            times: tuple[list[float], list[float]] = ([], [])
            for turn in range(rounds):
                # Who begins changes, so that what drifts favours nobody.
                for i in (0, 1) if turn % 2 else (1, 0):
                    answer = workers[i].ask(name)
                    if "error" in answer:
                        failed[name] = f"{('base', 'now')[i]}: {answer['error']}"
                        break
                    times[i].append(answer["seconds"])
                if name in failed:
                    break
            else:
                found[name] = statistics.median(times[1]) / statistics.median(times[0])
    finally:
        for worker in workers:
            worker.close()
    return found, failed


# ---------------------------------------------------------------------------------- the verdict


def settled(ratios: list[float], width: float = WIDTH) -> bool:
    """Tell whether the measured ratios are enough for a verdict."""
    if len(ratios) < FEWEST:
        return False
    low, high = interval(ratios)
    return high - low <= width or len(ratios) >= MOST


def verdict(ratios: list[float], threshold: float = THRESHOLD) -> str:
    """Slower or faster only if the whole interval is beyond the threshold."""
    low, high = interval(ratios)
    if len(ratios) < FEWEST:
        return "unknown"
    if low > 1 + threshold:
        return "slower"
    if high < 1 / (1 + threshold):
        return "faster"
    return "same" if high - low <= 2 * WIDTH else "same, as far as can be seen"


Pair = Callable[[list[str]], tuple[dict[str, float], dict[str, str]]]


def collect(measure: Pair, names: Iterable[str], end: float) -> Iterator[tuple[str, list[float]]]:
    """Ratios of pairs of processes, until each workload is settled or the time is over."""
    open_, ratios = list(names), {name: list[float]() for name in names}
    while open_:
        found, failed = measure(open_)
        for name, value in found.items():
            ratios[name].append(value)
        for name, reason in failed.items():
            print(f"  {name} is left out, {reason}", flush=True)
        open_ = [n for n in open_ if n not in failed and not settled(ratios[n])]
        if time.monotonic() > end and all(len(ratios[n]) >= FEWEST for n in open_):
            break
    yield from ((name, values) for name, values in ratios.items() if values)


def line(name: str, values: list[float], said: str) -> str:
    """Format the result of one workload as a line for people."""
    low, high = interval(values)
    median = statistics.median(values)
    mark = {"slower": "-", "faster": "+"}.get(said, " ")
    return f"{mark} {name:45} {median:6.3f}  [{low:.3f}, {high:.3f}]  {said}"


def compare(
    measure: Pair, names: list[str], threshold: float, minutes: float
) -> dict[str, tuple[list[float], str]]:
    """Print all workloads; return the ratios of each, and its verdict."""
    results: dict[str, tuple[list[float], str]] = {}
    print(f"  {'workload':45} {'now / base':>10}  95 % interval of the median")
    suspects = []
    for name, values in collect(measure, names, time.monotonic() + 60 * minutes):
        said = verdict(values, threshold)
        results[name] = values, said
        if said == "slower":
            suspects.append(name)
        else:
            print(line(name, values, said))
    if suspects:
        print("measured again, in new processes:")
        for name, values in collect(measure, suspects, time.monotonic() + 60 * minutes):
            results[name] = values, verdict(values, threshold)
            print(line(name, *results[name]))
    return results


def as_table(results: dict[str, tuple[list[float], str]], grown: list[str]) -> str:
    """Write the results as a table in Markdown, the slowest first, and what grew below it."""
    lines = ["| workload | now / base | 95 % interval | |", "|---|---|---|---|"]
    for name, (values, said) in sorted(results.items(), key=lambda r: -statistics.median(r[1][0])):
        low, high = interval(values)
        shown = f"**{said}**" if said == "slower" else said
        lines.append(
            f"| {name} | {statistics.median(values):.3f} | {low:.3f} to {high:.3f} | {shown} |"
        )
    return "\n".join([*lines, "", *[f"- {text}" for text in grown], ""])


def worse(base: dict[str, float], new: dict[str, float]) -> list[str]:
    """List the measures that need no clock and grew."""
    return [
        f"{name}: {base[name]:g} -> {value:g}"
        for name, value in new.items()
        if name in base and value > base[name] * 1.01
    ]


def main(arguments: list[str] | None = None) -> int:
    """Compare; 1 if something became slower."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("base", help="a commit, or . for the working tree itself")
    parser.add_argument(
        "operations", nargs="*", help="only workloads whose names hold one of these"
    )
    parser.add_argument("--threshold", type=float, default=THRESHOLD, help="0.05 is 5 %%")
    parser.add_argument("--minutes", type=float, default=5.0, help="when to stop asking, about")
    parser.add_argument("--table", type=Path, help="a file, to which a table is added")
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="process")
    given = parser.parse_args(arguments)
    base = trees.tree(given.base)
    importlib.import_module("chainrules_tape")
    names = [
        n for n in workloads() if not given.operations or any(w in n for w in given.operations)
    ]
    print(f"now against {given.base} ({base.name}), {machine.processor()}, clock: {given.clock}")
    measure = functools.partial(pair, base, machine.ROOT, clock=given.clock)
    results = compare(measure, names, given.threshold, given.minutes)
    found = []
    for folder in (base, machine.ROOT):
        worker = Worker(folder)
        found.append(worker.ask("counts").get("counts", {}))
        worker.close()
    grown = worse(*found)
    for text in grown:
        print(f"- {text}")
    if given.table is not None:
        with given.table.open("a", encoding="utf-8") as file:
            file.write(as_table(results, grown))
    slower = any([said == "slower" for _, said in results.values()])
    if not slower and not grown:
        print(f"Nothing became slower by more than {given.threshold:.0%}.")
    return int(slower or bool(grown))


if __name__ == "__main__":
    sys.exit(main())
