"""What is read off a function's code agrees with what `inspect` reads."""

import functools
import inspect
import math
import subprocess
import sys

import numpy as np
import pytest

from chainrules_py import Array, RuleError, primitive
from chainrules_py.primitives.method_table import operand_types
from chainrules_py.primitives.signature import REQUIRED, parameters_of


def f0(): ...
def f1(x): ...
def f2(x, y=2): ...
def f3(x, /): ...
def f4(x, y, /, z): ...
def f5(x, /, *, axis, keepdims=False): ...
def f6(*xs): ...
def f7(x, *xs, axis=None, **rest): ...
def f8(x=1, y=2, /, z=3, *, w=4): ...
def f9(**rest): ...


def f10(x, y):
    local = x + y
    return lambda: local


@functools.wraps(f5)
def wrapping(*args, **keywords): ...


class Called:
    def __call__(self, x, *, axis=0): ...
    def method(self, x, y=1): ...


CASES = [
    f0,
    f1,
    f2,
    f3,
    f4,
    f5,
    f6,
    f7,
    f8,
    f9,
    f10,
    wrapping,
    Called(),
    Called().method,
    math.sin,
]
CASES += [functools.partial(f2, y=3), primitive(f5), np.sum, np.sin, lambda *, a, b=1: a]


@pytest.mark.parametrize("function", CASES, ids=lambda f: getattr(f, "__name__", type(f).__name__))
def test_it_agrees_with_inspect(function):
    found = parameters_of(function)
    expected = list(inspect.signature(function).parameters.values())
    assert list(found.names) == [p.name for p in expected]
    assert found.defaults == {p.name: p.default for p in expected if p.default is not p.empty}
    kinds = {p.name: p.kind for p in expected}
    either = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert all(kinds[name] in either for name in found.positional)
    assert found.by_position_only == all(
        kinds[name] is inspect.Parameter.POSITIONAL_ONLY for name in found.positional
    )
    assert all(kinds[name] is inspect.Parameter.KEYWORD_ONLY for name in found.keyword_only)
    for name, kind in ((found.variadic, "VAR_POSITIONAL"), (found.keywords, "VAR_KEYWORD")):
        assert [n for n, k in kinds.items() if k.name == kind] == ([] if name is None else [name])


def test_an_option_without_a_default_says_so():
    f = primitive(f5)
    assert f.options == {"axis": REQUIRED, "keepdims": False}
    assert repr(REQUIRED) == "REQUIRED"
    with pytest.raises(TypeError, match=r"missing a required .*axis"):
        f.normalise((1.0,), {})


def test_the_signature_of_a_primitive_is_that_of_its_declaration():
    assert inspect.signature(primitive(f5)) == inspect.signature(f5)
    assert primitive(f5).signature == inspect.signature(f5)


def test_annotations_are_read_as_written_or_by_name():
    def written(x: Array, y: int): ...
    def named(x: "Array", y: "int"): ...
    def mixed(x: "Array", y: int, *, axis: "no such thing" = 0) -> "nor this": ...  # noqa: F722

    def of_none(x: Array, y: None = None): ...

    for function in (written, named, mixed):
        assert operand_types(function) == ((Array, int), None)
    for types in (None, (Array, None)):
        assert operand_types(of_none, types=types) == ((Array, type(None)), None)


def test_an_annotation_that_nobody_knows_is_refused():
    def unknown(x: "Nowhere"): ...  # noqa: F821

    with pytest.raises(RuleError, match="types="):
        operand_types(unknown)


def test_functions_in_c_are_told_their_types():
    assert operand_types(math.sin, types=(float,)) == ((float,), None)
    with pytest.raises(RuleError):
        operand_types(math.sin, types=(list[int],))


def test_the_core_reads_signatures_without_inspect():
    code = "import chainrules_py, sys; print('inspect' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "False"


def test_options_that_are_given_as_operands_are_named():
    @primitive
    def rolled(x, /, *, shift, axis=None):
        return x

    named = r".*; write rolled\(x, shift=\.\.\., axis=\.\.\.\)"
    with pytest.raises(TypeError, match=r"rolled\(.*too many" + named):
        rolled(1.0, 2)
    with pytest.raises(TypeError, match=r"rolled\(.*missing.*" + named):
        rolled.normalise((), {"shift": 1})


def test_without_docstrings_functions_of_numpy_have_their_parameters():
    """Under -OO NumPy's functions lose the text of their signatures; a table has most of them."""
    program = (
        "import numpy as np; from chainrules_py import primitive\n"
        "from chainrules_tape import grad\n"
        "print(grad(np.linalg.norm)(np.array([3.0, 4.0]))); primitive(np.nested_iters)"
    )
    command = [sys.executable, "-OO", "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert run.stdout == "[0.6 0.8]\n"
    assert "run python -O if this is python -OO" in run.stderr
