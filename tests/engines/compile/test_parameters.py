"""Names of parameters: those that `inspect` finds, for all that can be called."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.parameters import named_parameters
from chainrules_tape import grad, value_and_grad


def plain(x, y=1.0): ...
def named(x, *, y): ...
def gathering(x, *rest, **more): ...
def positional(x, /, y): ...
@functools.wraps(plain)
def wrapping(*args, **keywords): ...
def stated(*args): ...


stated.__signature__ = inspect.Signature([inspect.Parameter("z", inspect.Parameter.VAR_KEYWORD)])


def wrapping_stated(*args): ...


wrapping_stated.__wrapped__ = stated


class Model:
    def method(self, x, y): ...
    @functools.wraps(plain)
    def wrapping(self, *args): ...
    def __call__(self, w): ...
    @classmethod
    def made(cls, x): ...
    @staticmethod
    def free(x): ...


@functools.wraps(Model().method)
def wrapping_method(*args): ...
def going_round(): ...


going_round.__wrapped__ = going_round


CALLED = {
    **{f.__name__: f for f in (plain, named, gathering, positional, stated)},
    "wrapping": wrapping, "wrapping what states": wrapping_stated, "going round": going_round,
    "method": Model().method, "unbound": Model.method, "class": Model, "object": Model(),
    "method that wraps": Model().wrapping, "class method": Model.made, "static": Model.free,
    "wrapping a method": wrapping_method, "lambda": lambda x, y: x, "C": np.linalg.norm,
    "ufunc": np.sin, "partial": functools.partial(plain, 1.0), "gradient": grad(plain),
    "of both": value_and_grad(plain, argnums=(0, 1)), "compiled": compile(plain), "type": dict,
    "gradient of a method": grad(Model().method), "partial of named": functools.partial(named, y=1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLED)
def test_names_are_those_that_inspect_finds(name):
    f = CALLED[name]
    try:
        wanted = {p.name: p.kind for p in inspect.signature(f).parameters.values()}
    except (TypeError, ValueError):
        wanted = {}
    assert named_parameters(f) == wanted
    assert list(named_parameters(f)) == list(wanted)
