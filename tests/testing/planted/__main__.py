"""How `check_rule` fares with both corpora: ``python -m tests.testing.planted``.

It prints how many planted rules are caught, how many of these by their right name, and how many
right rules are called wrong. ``--misses`` lists those that are not. ``--table`` writes
``docs/checks.csv``: of each check by itself, how many planted rules it finds, and what it costs.
"""

from __future__ import annotations

import argparse
import csv
import pathlib

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing import CHECKS, check_rule
from chainrules_py.testing.check import THOROUGH
from tests.testing.planted.build import halves
from tests.testing.planted.corpora import RIGHT, WRONG, WRONG_BY_TOPIC
from tests.testing.planted.judging import Answer, ask, judge_right, judge_wrong

TABLE = pathlib.Path("docs/checks.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        write_table()
        return
    answers = {name: judge_wrong(plant) for name, plant in WRONG.items()}
    for topic, plants in WRONG_BY_TOPIC.items():
        print(f"{topic}: {score({name: answers[name] for name in plants})}")
    alarms = {name: a.name for name, right in RIGHT.items() if (a := judge_right(right)).is_alarm}
    print(f"issues of others: {score({n: a for n, a in answers.items() if WRONG[n].cites})}")
    print(f"all: {score(answers)}; false alarms: {len(alarms)} of {len(RIGHT)}")
    if arguments.misses:
        for name, a in answers.items():
            if not a.is_named(WRONG[name]):
                print(f"{name!r}: {a.name or 'missed'!r}, not {WRONG[name].says!r}")
        print("\n".join([f"false alarm {name!r}: {said!r}" for name, said in alarms.items()]))


def score(answers: dict[str, Answer]) -> str:
    caught = sum(a.is_alarm for a in answers.values())
    named = sum(a.is_named(WRONG[name]) for name, a in answers.items())
    n = len(answers)
    return f"caught {caught} of {n} ({caught / n:.1%}), rightly named {named} ({named / n:.1%})"


def write_table() -> None:
    """Run each check by itself at each planted rule, in the order of what it finds a call."""
    rows = []
    for check in CHECKS:
        answers = [ask(p.f, p.operands, checks=(check,), **p.options) for p in WRONG.values()]
        found, calls = sum(a.is_alarm for a in answers), calls_of(check)
        when = "thorough=True" if check in THOROUGH else "always"
        rows.append((check, when, calls, found, round(found / max(calls, 1), 1)))
    rows.sort(key=lambda row: (row[1] != "always", -row[-1]))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("check", "runs", "calls", f"finds, of {len(WRONG)}", "a call"))
        out.writerows(rows)


def calls_of(check: str) -> int:
    """Count the calls of a check at three numbers, of a rule with both halves, without the first.

    That is the call of the function itself, and the halves that other checks take as well.
    """
    calls = []

    def value(x):
        calls.append(1)
        return v.sin(x)

    half = lambda t, x: t * v.cos(x)
    check_rule(halves(value, half, half), np.array([0.3, 0.1, 0.2]), checks=(check,))
    return len(calls) - 1


if __name__ == "__main__":
    main()
