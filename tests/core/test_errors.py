"""The tree of errors, and the pictures of values that their messages show."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from collections import namedtuple
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

from chainrules_py import errors
from chainrules_py.errors import ChainRulesError, describe, register_description
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import Thunk
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "index.md"
CLASSES = [
    cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, Exception)
]


@dataclasses.dataclass
class Layer:
    w: object
    b: object


Pair = namedtuple("Pair", "left right")  # noqa: PYI024


class Broken:
    dtype = "float64"

    @property
    def shape(self):
        raise RuntimeError("no shape today")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_errors_form_one_tree_and_explain_themselves(cls):
    assert issubclass(cls, ChainRulesError) or issubclass(cls, UserWarning)
    assert f"\n| `{cls.__name__}`" in REFERENCE.read_text(encoding="utf-8")
    assert len(cls.__doc__.split()) > 10
    again = pickle.loads(pickle.dumps(cls("a message")))
    assert type(again) is cls
    assert str(again) == "a message"


@pytest.mark.parametrize(
    "cls, builtin",
    [
        (errors.NoRuleError, LookupError),
        (errors.UnsupportedKeywordError, TypeError),
        (errors.DegeneracyWarning, UserWarning),
    ],
)
def test_errors_are_also_what_python_would_raise(cls, builtin):
    assert issubclass(cls, builtin)


@pytest.mark.parametrize(
    "x, picture",
    [
        (None, "None"),
        (1, "int"),
        (1.0, "float"),
        (1j, "complex"),
        (True, "bool"),
        ("text", "str"),
        (float, "float"),
        (Layer, "Layer"),
        (object(), "object"),
        (np.ones((2, 3)), "float64[2,3]"),
        (np.ones((), dtype=np.int8), "int8[]"),
        (np.float32(1), "float32[]"),
        (np.ones((0, 2), dtype=bool), "bool[0,2]"),
        (array_api_strict.ones((2, 3), dtype=array_api_strict.float32), "float32[2,3]"),
        ((), "()"),
        ((1.0,), "(float,)"),
        ([1, 2.0], "[int, float]"),
        ({"w": np.ones(3), 2: None}, "{'w': float64[3], 2: None}"),
        (Layer(np.ones((2, 3)), 1.0), "Layer(w=float64[2,3], b=float)"),
        (Pair(1, (2.0, "s")), "Pair(left=int, right=(float, str))"),
        ([0] * 9, "[int, int, int, int, int, int, ... 3 more]"),
        ([[[[[1]]]]], "[[[list]]]"),
        (ZeroTangent(), "ZeroTangent()"),
        (NoTangent(), "NoTangent()"),
        (Tangent[Layer](w=np.ones(2)), "Tangent[Layer](w=float64[2])"),
        (Tangent[tuple](1.0, length=3), "Tangent[tuple](float, length=3)"),
        (Thunk(lambda: 1.0), "Thunk"),
        (Broken(), "Broken"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_describe(x, picture):
    assert describe(x) == picture


def test_more_kinds_can_be_described(monkeypatch):
    monkeypatch.setattr(errors, "_describers", dict(errors._describers))
    register_description("set", lambda x, _: f"set of {len(x)}" if type(x) is set else None)
    assert describe([{1, 2}]) == "[set of 2]"
    register_description("set", lambda x, _: "{...}" if type(x) is set else None)
    assert describe({1, 2}) == "{...}"


def test_a_picture_that_fails_does_not_replace_the_error(monkeypatch):
    monkeypatch.setattr(errors, "_describers", dict(errors._describers))
    register_description("broken", lambda x, _: 1 / 0)
    assert describe([Broken()]) == "[Broken]"
