"""Texts of traced values: they are those of the values, and no number is made of them."""

import copy
import pickle

import numpy as np
import pytest

from chainrules_py import TracerError
from chainrules_py.values.text import Text
from chainrules_tape import grad, jvp

PARTS_OF_TEXT = [
    repr,
    ascii,
    lambda x: f"{x!r}",
    lambda x: str(str(x)),
    lambda x: f"{x:>9}".strip(),
    lambda x: str(x) + "0",
    lambda x: str(x)[:2],
    lambda x: str(x).split(".")[0],
    lambda x: str(x).partition(".")[0],
    lambda x: str(x).replace(".0", ".5"),
    lambda x: str(x).ljust(9).rstrip() * 1,
    lambda x: next(iter(str(x).splitlines())).removesuffix("0"),
]


@pytest.mark.parametrize("read", [float, int, np.float64, np.float32, np.int64])
def test_the_text_of_a_traced_value_does_not_become_a_number(read):
    for shown in (str, lambda x: f"{x}", lambda x: f"{x:.0f}", "{}".format, format):
        with pytest.raises(TracerError, match="text '3"):
            grad(lambda x, shown=shown: read(shown(x)) * x)(3.0)
        with pytest.raises(TracerError, match="text '3"):
            jvp(lambda x, shown=shown: read(shown(x)) * x, (3.0,), (1.0,))
    for shown in PARTS_OF_TEXT:
        with pytest.raises(TracerError, match="text '3"):
            grad(lambda x, shown=shown: float(shown(x)) * x)(3.0)
    texts = []
    grad(lambda x: (texts.append(str(x)), x)[1])(3.0)
    assert texts == ["3.0"]
    assert type(pickle.loads(pickle.dumps(texts[0]))) is str


GIVEN = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), (9,)),
    **dict.fromkeys(("partition", "rpartition", "removeprefix", "removesuffix"), (".",)),
    "replace": (".", ","),
    "translate": ({},),
    "join": (["1", "2"],),
}


def test_every_method_of_texts_gives_such_texts():
    for name in dir(str):
        method = getattr(Text("3.0 1"), name)
        if not name.startswith("_") and name not in ("encode", "format_map", "maketrans"):
            try:
                y = method(*GIVEN.get(name, ()))
            except TypeError:  # it asks for a part: count, find, startswith
                continue
            parts = [y] if isinstance(y, str) else y if isinstance(y, (list, tuple)) else []
            assert all([type(part) is Text for part in parts]), name
    assert type(copy.deepcopy([Text("3.0")])[0]) is type(copy.copy(Text("3.0"))) is Text
