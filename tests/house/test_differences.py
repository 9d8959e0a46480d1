"""docs/features.md has each export of ChainRulesCore.jl, and names what exists here."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

import chainrules_py
from chainrules_py import extend

PAGE = Path(__file__).parents[2] / "docs" / "features.md"
EXPORTS = [
    "frule",
    "rrule",
    "RuleConfig",
    "HasReverseMode",
    "NoReverseMode",
    "HasForwardsMode",
    "NoForwardsMode",
    "frule_via_ad",
    "rrule_via_ad",
    "@non_differentiable",
    "@opt_out",
    "@scalar_rule",
    "@thunk",
    "@not_implemented",
    "ProjectTo",
    "canonicalize",
    "unthunk",
    "zero_tangent",
    "add!!",
    "is_inplaceable_destination",
    "ignore_derivatives",
    "@ignore_derivatives",
    "StructuralTangent",
    "Tangent",
    "MutableTangent",
    "AbstractZero",
    "ZeroTangent",
    "NoTangent",
    "AbstractThunk",
    "Thunk",
    "InplaceableThunk",
]


def rows() -> dict[str, tuple[str, str]]:
    """Of each name there: the cell that says what is here, and the one that says what differs."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| ChainRulesCore.jl |") :].split("\n\n")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {there.strip("`"): (here, differs) for there, here, differs in lines}


def test_each_export_is_there_once():
    assert len(EXPORTS) == 31
    text = PAGE.read_text(encoding="utf-8").split("These have no name there")[0]
    assert re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE) == list(EXPORTS)
    assert list(rows()) == list(EXPORTS)


@pytest.mark.parametrize("there", EXPORTS)
def test_counterpart_exists_or_a_reason_is_given(there):
    here, differs = rows()[there]
    if here == "none":
        assert len(differs.split()) > 1
        return
    names = re.findall(r"`([^`]+)`", here)
    assert names
    for name in names:
        door = name.partition(".")[0] in extend.__all__
        assert door or name.partition(".")[0] in chainrules_py.__all__
        functools.reduce(getattr, name.split("."), extend if door else chainrules_py)
