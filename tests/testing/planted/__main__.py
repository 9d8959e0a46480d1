"""How the judge fares with both corpora, as a table: ``python -m tests.testing.planted``.

``--misses`` lists what is missed, called by another name, or a false alarm; ``--seeds 20`` judges
the right rules in so many draws.
"""

from __future__ import annotations

import argparse
import statistics

from tests.testing.planted.corpora import RIGHT_BY_TOPIC, WRONG_BY_TOPIC
from tests.testing.planted.judging import Answer, judge_right, judge_wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    spent: list[float] = []
    told: list[str] = []
    rows = [("corpus", "topic", "rules", "caught", "named", "alarms")]
    totals = [0, 0, 0, 0, 0]
    for topic, plants in WRONG_BY_TOPIC.items():
        answers = {name: judge_wrong(plant) for name, plant in plants.items()}
        caught = sum(a.is_alarm for a in answers.values())
        named = sum(a.is_named(plants[name]) for name, a in answers.items())
        rows.append(("wrong", topic, *map(str, (len(plants), caught, named)), ""))
        totals = [a + b for a, b in zip(totals, (len(plants), caught, named, 0, 0), strict=True)]
        spent += [a.milliseconds for a in answers.values()]
        told += [
            f"{'MISSED' if not a.is_alarm else 'MISNAMED'} {name!r}: "
            f"{a.name or 'nothing'!r}, not {plants[name].says!r}"
            for name, a in answers.items()
            if not a.is_named(plants[name])
        ]
    for topic, rights in RIGHT_BY_TOPIC.items():
        alarms: dict[str, Answer] = {}
        for name, right in rights.items():
            for seed in range(arguments.seeds):
                answer = judge_right(right, seed)
                spent.append(answer.milliseconds)
                if answer.is_alarm:
                    alarms.setdefault(name, answer)
        rows.append(("right", topic, str(len(rights)), "", "", str(len(alarms))))
        totals = [a + b for a, b in zip(totals, (0, 0, 0, len(rights), len(alarms)), strict=True)]
        told += [f"ALARM {name!r}: {a.name!r}" for name, a in alarms.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())
    wrong, caught, named, right, false = totals
    print(f"caught {caught}/{wrong}, rightly named {named}/{wrong}, alarms {false}/{right}")
    ninth = statistics.quantiles(spent, n=10)[-1]
    print(f"median {statistics.median(spent):.0f} ms, ninth decile {ninth:.0f} ms per call")
    if arguments.misses:
        print("\n".join(told))


if __name__ == "__main__":
    main()
