"""The nouns of a straight-line program: what they refuse, and how they print."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import pytest

from chainrules_py.errors import ChainRulesError, ProgramError
from chainrules_py.ops import add, concat, multiply, qr, sin, sum
from chainrules_py.program import Call, Program, Value

X = Value("x", shape=(3,), dtype="float64")
Y = Value("y", shape=(3,), dtype="float64")
Z = Value("z", float)


def call(function, *operands, to=(), **options):
    return Call(function, operands, options, to if isinstance(to, tuple) else (to,))


def program(*calls, outputs=(Z,), inputs=(X,), constants=None):
    return Program("f", inputs, calls, outputs, constants or {})


SINE = call(sin, X, to=Y)
TOTAL = call(sum, Y, to=Z, axis=None)


def test_a_program_says_which_functions_it_calls():
    assert program(SINE, TOTAL).functions == {sin, sum}
    assert dataclasses.replace(program(SINE, TOTAL), calls=(), outputs=()).functions == frozenset()
    assert copy.deepcopy(program(SINE, outputs=(Y,))).functions == {sin}


def test_a_program_prints_as_python_would_say_it():
    weight = Value("w", shape=(3,), dtype="float64")
    scaled = Value("scaled")
    text = repr(
        Program(
            "model",
            (X, Value("n", int)),
            (SINE, call(multiply, Y, weight, to=scaled), TOTAL, call(bool, Z, answer=True)),
            (Z, (scaled, [1.0])),
            {weight: object()},
        )
    )
    assert text == (
        "def model(x: float64[3], n: int):\n"
        "    w: float64[3] = <object>  # constant\n"
        "    y: float64[3] = sin(x)\n"
        "    scaled = multiply(y, w)\n"
        "    z: float = sum(y, axis=None)\n"
        "    bool(z, answer=True)\n"
        "    return z, (scaled, [1.0])"
    )


@pytest.mark.parametrize(
    "made, text",
    [
        (call(concat, (X, Y), to=Z, axis=0), "z: float = concat((x, y), axis=0)"),
        (call(max, (X,), to=Z), "z: float = max((x,))"),
        (call(dict, {"a": X, "b": [Y]}, to=Value("d")), "d = dict({'a': x, 'b': [y]})"),
        (call(qr, X, to=(Value("q"), Value("r"))), "q, r = qr(x)"),
        (
            call(sin, float, None, ..., slice(1, None)),
            "sin(float, None, Ellipsis, slice(1, None, None))",
        ),
        (call(sin, b"abc", {1}), "sin(<bytes>, <set>)"),
    ],
)
def test_a_call_prints_in_one_line(made, text):
    assert repr(made) == text


def test_a_call_knows_its_values_in_order_wherever_they_stand():
    assert call(concat, [X, (Y, 1.0)], {"k": X}, to=Z).values == (X, Y, X)
    assert call(sin, 1.0, to=Z).values == ()


def test_options_hold_no_values():
    with pytest.raises(ProgramError, match=r"x is in the options of .*make it one of the oper"):
        call(sum, Y, to=Z, axis=(0, X))


@pytest.mark.parametrize(
    "calls, outputs, message",
    [
        ((TOTAL, SINE), (Z,), r"f uses y in z: float = sum\(y, axis=None\), before it is defined"),
        ((SINE,), (Z,), "f uses z in its outputs, before"),
        ((SINE,), ((1.0, [Z]),), "f uses z in its outputs, before"),
        ((SINE, SINE), (Y,), "f defines y more than once; make each value under a new name"),
        ((call(sin, X, to=Value("x")),), (X,), "f defines x more than once"),
        ((call(sin, X, to=X),), (X,), "f defines x more than once"),
    ],
)
def test_what_makes_no_sense_is_refused(calls, outputs, message):
    with pytest.raises(ProgramError, match=message) as raised:
        program(*calls, outputs=outputs)
    assert isinstance(raised.value, ChainRulesError)


def test_a_value_of_the_same_name_is_another_value():
    with pytest.raises(ProgramError, match="f uses x"):
        program(call(sin, Value("x"), to=Z))


def test_iterating_gives_the_calls():
    p = program(SINE, TOTAL)
    assert list(p) == [SINE, TOTAL]
    assert len(p) == 2
    assert p.definitions() == {Y: SINE, Z: TOTAL}


def test_uses_count_each_place_and_outputs_last():
    w = Value("w")
    p = program(call(add, X, X, to=Y), TOTAL, outputs=(Y, [Y, 1.0]), constants={w: 2.0})
    assert p.uses() == {X: [0, 0], w: [], Y: [1, 2, 2], Z: []}


def test_replacing_reaches_nested_operands():
    joined = call(concat, [Y, (Y, X)], {"y": Y}, to=Z, axis=0)
    text = "z: float = concat([x, (x, 5.0)], {'y': x}, axis=0)"
    assert repr(joined.replaced({Y: X, X: 5.0})) == text
    assert repr(joined.replaced({})) == repr(joined)


def test_a_call_without_the_replaced_values_stays_the_same_object():
    assert SINE.replaced({Y: X}) is SINE


def test_other_calls_by_dataclasses_replace():
    p = dataclasses.replace(program(SINE, TOTAL), calls=(SINE,), outputs=(Y,))
    assert repr(p) == "def f(x: float64[3]):\n    y: float64[3] = sin(x)\n    return y"
    with pytest.raises(ProgramError):
        dataclasses.replace(p, calls=())


@pytest.mark.parametrize("noun", [X, SINE, program(SINE, TOTAL)])
def test_nouns_are_frozen(noun):
    name = dataclasses.fields(noun)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(noun, name, None)
    assert not hasattr(noun, "__dict__")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_keep_which_value_is_which(again):
    view = Value("v", memory=X)
    p = again(program(call(max, X, to=view), call(max, view, X, to=Z)))
    assert p.inputs[0] is p.calls[0].values[0]
    assert p.calls[0].results[0].memory is p.inputs[0]
    assert p.calls[1].values == (p.calls[0].results[0], p.inputs[0])


def test_an_empty_program_gives_its_inputs():
    assert repr(program(outputs=(X,))) == "def f(x: float64[3]):\n    return x"
    assert repr(program(outputs=())) == "def f(x: float64[3]):\n    return"


def test_importing_the_face_does_not_import_it():
    line = "import sys, chainrules_py; print('chainrules_py.program' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
