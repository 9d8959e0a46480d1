"""Calls of NumPy's surface with arrays of objects: right, refused, noted, or listed."""

import csv
import pathlib

import pytest

from tests.surface.objects import CLASSES, OF_VERSIONS, POINTS, swept

LISTED = pathlib.Path(__file__).parents[3] / "docs" / "arrays-of-objects.csv"
"""Made by ``python -m tests.surface.objects``."""


@pytest.mark.nightly
@pytest.mark.parametrize("point", POINTS)
def test_a_call_of_another_number_is_listed(point):
    with LISTED.open() as file:
        listed = {row["point"]: row["functions"].split() for row in csv.DictReader(file)}
    differing = set()
    for forward in (False, True):
        found = swept(point, forward)
        other = {n: [k for k in of if k not in CLASSES] for n, of in found.items()}
        assert {n: kinds for n, kinds in other.items() if kinds} == {}
        assert len(found) > 400
        assert sum([of.get("right", 0) for of in found.values()]) > 3_000
        differing |= {n for n, of in found.items() if "differs" in of}
    assert differing | OF_VERSIONS.get(point, set()) == set(listed[point])
