"""Signatures that NumPy does not tell under ``-OO``: the table is what it says otherwise.

Later versions add parameters, at the end.
"""

from __future__ import annotations

import inspect

import numpy as np

from chainrules_numpy import signatures
from chainrules_py.primitives.signature import _TOLD, parameters_of, tell_parameters, told

TOLD = list(signatures._told())


def test_each_text_is_what_numpy_says_of_itself():
    assert len(TOLD) > 190
    for f, text in TOLD:
        here = str(inspect.signature(f))
        assert here.startswith(text.replace("UNSAID", "<no value>").removesuffix(")")), f


def test_no_compiled_function_of_numpy_is_without_parameters():
    """Of its main namespace; but some of dates and of buffers, which no row names."""
    apart = {"busday_count", "busday_offset", "fromstring", "is_busday", "nested_iters"}
    silent = []
    for name in sorted({*np.__all__} - apart):
        f = getattr(np, name)
        if callable(f) and not isinstance(f, type):
            try:
                parameters_of(f)
            except Exception:
                silent.append(name)
    assert not silent


def test_the_parameters_of_a_compiled_function_are_read_off_what_is_told():
    before = dict(_TOLD)
    try:
        for f, text in TOLD:
            tell_parameters(f, signatures._function(text))
        assert told(np.zeros).__code__.co_varnames == ("shape", "dtype", "order", "device", "like")
        assert parameters_of(told(np.matmul)).defaults["axis"] is np._NoValue
        assert told(len) is None
    finally:
        _TOLD.clear()
        _TOLD.update(before)
