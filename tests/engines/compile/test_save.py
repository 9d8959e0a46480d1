"""Saved modules: where this library cannot be imported, they give the bits of the program."""

from __future__ import annotations

import builtins
import importlib.util
import operator
import shutil
import struct
import sys
from typing import Any

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingError, compile
from chainrules_compile.constant_source import Constants
from chainrules_compile.result_checks import close
from tests.engines.compile.shadow import same
from tests.engines.compile.test_compiled import CASES, REDUCTIONS

X = np.linspace(-1.0, 2.0, 6)


def alone(text: str) -> dict[str, Any]:
    """Run a text where nothing of this library can be imported."""

    def only(name: str, *given: Any) -> Any:
        if name.startswith("chainrules"):
            raise ImportError(name)
        return __import__(name, *given)

    scope = {"__name__": "saved", "__builtins__": {**vars(builtins), "__import__": only}}
    exec(text, scope)
    return scope


def bits(x: Any) -> Any:
    """Return what tells a value from all others: also its NaN, and the signs of its zeros."""
    if isinstance(x, np.ndarray):
        order = np.argsort([-abs(step) for step in x.strides], kind="stable").tolist()
        order = order if x.size else []
        return type(x), x.shape, x.dtype, order, x.tobytes()
    if isinstance(x, np.generic) and x.dtype.char in "gG":  # there is padding between
        return type(x), repr(x)
    if isinstance(x, np.generic):
        return type(x), x.dtype, x.tobytes()
    if type(x) is float:
        return float, struct.pack("d", x)
    if type(x) is complex:
        return complex, struct.pack("dd", x.real, x.imag)
    if type(x) in (tuple, list):
        return type(x), [bits(y) for y in x]
    if type(x) is dict:
        return dict, [(bits(key), bits(y)) for key, y in x.items()]
    if type(x) is slice:
        return type(x), bits((x.start, x.stop, x.step))
    return type(x), x


INF, NAN = float("inf"), float("nan")
REALS = (0.0, -0.0, 1.5, -1e-320, 1e300, INF, -INF, NAN, -NAN)
KINDS = "?bBhHiIlLqQefdgFDG"
PLAIN = (
    *(*REALS, *[complex(a, b) for a in REALS for b in REALS]),
    *(0, -7, 1 << 62, 1 << 20000, -(1 << 20000), True, False, None, ..., NotImplemented),
    *("", "a'\"\\\n\u2026", b"\x00\xff'", (), (1,), (NAN, -0.0), [], [INF, [complex(0.0, NAN)]]),
    *({}, {"a": NAN, 2: (slice(None), ...)}),
    *(slice(None), slice(np.int64(1), None, -2), slice(1.0, NAN)),
)
SCALARS: tuple[Any, ...] = (
    *[np.dtype(k).type(x) for k in KINDS for x in (0, 1)],
    *[np.dtype(k).type(x) for k in "efdgFDG" for x in (1 / 3, -0.0, INF, -INF, NAN)],
    *(np.longdouble(1) / 3, np.complex64(complex(NAN, -0.0)), np.str_("a"), np.bytes_(b"a\x00b")),
    *(np.datetime64("2020-01-01"), np.datetime64("NaT", "ns"), np.timedelta64(3, "25s")),
)
DTYPES = (
    *map(np.dtype, KINDS),
    *(np.dtype(">f8"), np.dtype("M8[D]"), np.dtype("m8[25s]"), np.dtype("U3"), np.dtype("S4")),
    *(np.dtype([("a", "f4"), ("b", ">i2", (2, 3))]), np.dtype("V5"), np.dtype(object)),
)
MANY = np.random.default_rng(0).standard_normal((2, 3, 40))
ARRAYS = (
    *[np.zeros(shape, k) for shape in ((), (0,), (3, 0, 2), (2, 1)) for k in KINDS],
    *[np.full((2, 3), x) for x in (*REALS, complex(NAN, INF), np.float32(NAN), np.float16(-INF))],
    *[np.array([1.0, x], k) for x in (-0.0, NAN) for k in "efdgFDG"],
    *[MANY.transpose(order) for order in ((0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0))],
    *(MANY[0].T, MANY[:, ::-1], MANY[:, 0], np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])),
    *(MANY.astype(">f4"), MANY.astype("g"), MANY + 1j, MANY > 0, np.array(["a", "bcd"])),
    *(np.array([b"a", b"\x00b"]), np.array(["2020", "NaT"], "M8[s]"), np.array([1], "m8[h]")),
    *(np.array([(1.0, [2, 3])], [("a", "f4"), ("b", "i8", 2)]), np.array([""], "U0")),
)
NAMED = (
    *(float, int, np.ndarray, np.float32, np.add, np.add.reduce, np.sum, np.linalg.svd, np.fft.fft),
    *(
        operator.getitem,
        operator.attrgetter("shape"),
        np.ndarray.sum,
        float.conjugate,
        float.__add__,
    ),
    np,
)
CONSTANTS = {
    f"{kind} {i}": x
    for kind, xs in (("plain", PLAIN), ("scalar", SCALARS), ("dtype", DTYPES), ("array", ARRAYS))
    for i, x in enumerate(xs)
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_keep_their_bits(name):
    constants = Constants()
    text = constants.text(CONSTANTS[name])
    imports = "".join([f"import {module}\n" for module in sorted(constants.imports)])
    given = alone(f"{imports}\nx = {text}")["x"]
    assert bits(given) == bits(CONSTANTS[name])


@pytest.mark.parametrize("x", NAMED, ids=range(len(NAMED)))
def test_what_has_a_name_is_called_by_it(x):
    constants = Constants()
    text = constants.text(x)
    imports = "".join([f"import {module}\n" for module in sorted(constants.imports)])
    given = alone(f"{imports}\nx = {text}")["x"]
    if isinstance(x, operator.attrgetter):
        assert given.__reduce__() == x.__reduce__()
    else:
        assert given == x


class Own(np.ndarray):
    """An array of one's own."""


@pytest.mark.parametrize(
    "x",
    [
        np.ones(2).view(Own),
        np.ma.masked_array([1.0, 2.0], [True, False]),
        np.array([None, 1], object),
        object(),
        [object()],
        {"a": {1: Own}},
    ],
    ids=["subclass", "masked", "objects", "object", "in a list", "in dicts"],
)
def test_what_numpy_alone_does_not_have_is_not_written(x):
    assert Constants().text(x) is None


def hessian_of(name):
    return ct.hessian(lambda x: REDUCTIONS[name](x))


def check(tmp_path, f, args):
    """Save the program of a function, and compare; or see it refused in words."""
    with np.errstate(all="ignore"):
        compiled = compile(f)
        compiled(*args)  # a function may fill its cache, and be recorded at its next call
        wanted = compiled(*args)
    compiled.save(tmp_path / "saved.py")
    text = (tmp_path / "saved.py").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) < 1000
    with np.errstate(all="ignore"):
        found = alone(text)[compiled.__name__](*args)
    assert close(found, wanted), text


def in_silence(x):
    with np.errstate(all="ignore"):
        return np.sum(x / (x * x)) + np.mean(np.log(x))


PROGRAMS = {
    "infinite": (lambda x: np.real(x * complex(0.0, INF)), (X,)),
    "solve": (ct.value_and_grad(lambda b: np.sum(np.linalg.solve(np.eye(6) + 0.1, b) ** 2)), (X,)),
    "largest": (ct.value_and_grad(lambda x: np.max(x) ** 2), (X,)),
    "spread": (ct.grad(lambda b: np.sum(np.tanh(X[:, None] * MANY[0, 0, :5] + b) ** 2)), (X[:5],)),
    "errors handled": (in_silence, (X,)),
    "dates": (lambda x: x - np.datetime64("2020-01-01"), (np.array(["2020-03-01"], "M8[D]"),)),
    "single complex": (lambda x: x * np.complex64(1 + 2j), (X,)),
    "long": (lambda x: x * (np.longdouble(1) / 3), (X,)),
    "sums beside columns": (
        ct.grad(lambda x, m=MANY[0].T: np.sum(np.sum(x[:, None] * m[:6], axis=0) ** 2)),
        (X,),
    ),
    "repeated": (ct.grad(lambda x: np.sum(np.repeat(x, 2) ** 3)), (X,)),
    "counted": (ct.grad(lambda x: np.sum(np.repeat(x, range(6)) ** 3)), (X,)),
    "powers": (ct.value_and_grad(lambda x: np.sum(np.vander(x, 4)[:, 1])), (X,)),
    "columns": (lambda x, m=MANY[0].T: x @ m[:6], (X,)),
    "filled": (ct.value_and_grad(lambda x: np.sum(np.broadcast_to(x, (6,)) ** 2)), (X,)),
    "constants": (lambda x: (x, NAN, -0.0, np.float32(INF), (None, "a", slice(1, None))), (X,)),
}
REFUSED = ("dataclass", "kept result")
ALL = {
    **PROGRAMS,
    **{f"case: {name}": case for name, case in CASES.items() if name not in REFUSED},
    **{f"hessian: {name}": (hessian_of(name), (X,)) for name in REDUCTIONS},
}


@pytest.mark.parametrize(
    "name", [x if x in PROGRAMS else pytest.param(x, marks=pytest.mark.slow) for x in ALL]
)
def test_programs_that_are_saved_have_their_bits(tmp_path, name):
    try:
        check(tmp_path, *ALL[name])
    except RecordingError as refused:
        said = "which a module that needs NumPy alone cannot have" in str(refused)
        if name in PROGRAMS or not said:
            raise


@pytest.mark.parametrize("name", REFUSED)
def test_the_others_are_refused_in_words(tmp_path, name):
    with pytest.raises(RecordingError, match="NumPy alone cannot have"):
        check(tmp_path, *CASES[name])


def loaded(tmp_path, compiled, *args):
    """Save the program of a call, and return the function of the module."""
    compiled(*args)
    compiled.save(tmp_path / "saved.py")
    return alone((tmp_path / "saved.py").read_text(encoding="utf-8"))[compiled.__name__]


LARGE = {
    "squares": (lambda x: np.sum(x * x), [1e200, 1.0, -1e300], [2e200, 2.0, -2e300]),
    "logarithms": (lambda x: np.sum(np.log(x)), [1e-160, 1.0, 1e-300], [1e160, 1.0, 1e300]),
    "infinite": (lambda x: np.sum(x * x), [INF, 1.0, -INF], [INF, 2.0, -INF]),
    "at zero": (lambda x: np.sum(np.log(x)), [0.0, 1.0, 2.0], [INF, 1.0, 0.5]),
    "on the way": (lambda x: np.sum(1.0 / x), [1e100, 1.0, 1e-100], [-1e-200, -1.0, -1e200]),
    "matrix": (lambda x: np.sum((x * x)[:, None]), [1e200, 1.0, INF], [2e200, 2.0, INF]),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_and_infinite_gradients_are_given(tmp_path, name):
    """The sum of their squares is infinite, and modules took that for another branch."""
    f, x, wanted = LARGE[name]
    x = np.array(x)
    with np.errstate(all="ignore"):
        saved = loaded(tmp_path, compile(ct.grad(f)), np.ones(3))
        np.testing.assert_allclose(saved(x), wanted, rtol=1e-15)
        np.testing.assert_allclose(ct.grad(f)(x), wanted, rtol=1e-15)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: np.sum(x * x), [NAN, 1.0, 1.0]),
        (lambda x: np.sum(np.where(x > 0, np.log(x), 0.0) * 2.0 + x), [-0.0, 1.0, 1.0]),
        (lambda x: np.sum(x / (x * x)), [0.0, 1.0, 1.0]),
        (lambda x: x[0] / x[1], [1.0, 0.0, 1.0]),
    ],
)
def test_where_a_derivative_is_computed_anew_modules_say_so(tmp_path, f, x):
    """A gradient that is NaN is computed with strict zeros, and a module has no program of it."""
    saved = loaded(tmp_path, compile(ct.grad(f)), np.ones(3))
    told = "derivative meets NaN or an infinite quotient"
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=told):
        saved(np.array(x))


def test_modules_name_the_forms_that_they_are_for(tmp_path):
    saved = loaded(tmp_path, compile(lambda x, s: np.sum(x * s)), X, 2.0)
    with pytest.raises(ValueError, match=r"x: float64\[6\], s: float.*given float64\[2\], 2.0"):
        saved(X[:2], 2.0)
    with pytest.raises(ValueError, match=r"given float32\[6\], 2;"):
        saved(X.astype(np.float32), 2)


def test_modules_say_where_another_branch_is_taken(tmp_path):
    saved = loaded(tmp_path, compile(lambda x: np.sum(x) if x[0] > 0 else x[1]), np.ones(3))
    with pytest.raises(ValueError, match="the function takes another branch here"):
        saved(-np.ones(3))


CAPTURED = {
    "name": ("np.sum(x * K)", "K = new"),
    "entry": ("np.sum(x * D['k'])", "D['k'] = new"),
    "array": ("np.sum(x * A)", "A[0] = new"),
    "array asked": ("np.sum(x) if A[0] > 0 else np.sum(x * x)", "A[0] = new"),
    "array folded": ("np.sum(x) / np.linalg.norm(A)", "A[:] = new"),
    "places": ("np.sum(x[A.astype(int)])", "A[:] = new"),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("form", [lambda f: f, ct.value_and_grad, ct.hessian], ids=["f", "g", "h"])
@pytest.mark.parametrize("captured", CAPTURED)
def test_no_module_is_half_of_before(tmp_path, captured, form, target):
    """A value was as it is now, beside a gradient as it was."""
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("there is no cc")
    body, change = CAPTURED[captured]
    scope = {"np": np, "K": 1.0, "D": {"k": 1.0}, "A": np.ones(3)}
    exec(f"def f(x): return {body}", scope)
    g, path = compile(form(scope["f"]), target=target), tmp_path / "saved"
    path = path.with_suffix(".py") if target == "numpy" else path
    x = np.array([0.3, 0.7, 1.1])
    g(x)
    scope["new"] = -2.0
    exec(change, scope)
    with pytest.raises(RecordingError, match="has changed since it was called last"):
        g.save(path)
    assert not path.exists()
    if target == "numpy":
        wanted = g(x)
        g.save(path)
        assert same(alone(path.read_text())[g.__name__](x), wanted)
        scope["new"] = 1.0
        exec(change, scope)
        g.save(path)  # an older program, which is right again
        assert same(alone(path.read_text())[g.__name__](x), form(scope["f"])(x))


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("path", ["", None, 5, b"f.py", "a\0b", "file/inside", "file", "folder"])
def test_where_nothing_can_be_written_save_says_so(path, target, tmp_path, monkeypatch):
    """Errors were Python's own: "Is a directory", or bytes for a place in memory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    compiled = compile(lambda x: 2.0 * x, target=target)
    compiled(np.ones(2))
    if path == ("file" if target == "numpy" else "folder"):
        compiled.save(path)
        return
    named = "energy_grad.py" if target == "numpy" else "energy_grad'"
    with pytest.raises(RecordingError, match=f"name a.*{named}"):
        compiled.save(path)


ONES = {
    **{k: (np.dtype(k).type(3), np.dtype(k).type(2)) for k in "bBhHiIlLqQ"},
    "bool": (np.bool_(True), np.bool_(False)),
    "str": (np.str_("abc"), np.str_("ab2")),
    "empty": (np.str_(""), np.str_("a")),
    "int": (3, 2), "True": (True, False), "text": ("abc", "ab2"), "none": (None, 0),
    "float": (0.5, 0.25), "single": (np.float32(0.1), np.float32(0.2)), "complex": (1j, 2j),
    "bytes": (b"a", b"b"), "array": (X, X + 1.0), "tuple": ((1, 2), (1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONES)
def test_modules_ask_for_what_is_the_same_in_each_run(tmp_path, name):
    """By class and value: NumPy's whole numbers were refused in words of this library's own."""
    one, other = ONES[name]
    compiled = compile(lambda n, x: np.ones(3) * x, static="n")
    wanted = compiled(one, X[:3])
    compiled.save(tmp_path / "m.py")
    f = alone((tmp_path / "m.py").read_text())[compiled.__name__]
    assert same(f(one, X[:3]), wanted)
    for key, others in ONES.items():
        for x in (*others, other):
            if key != name or x is not one:
                known = type(x) is type(one) and bits(x) == bits(one)
                if known:
                    continue
                with pytest.raises(ValueError, match="recorded for other arguments"):
                    f(x, X[:3])


def test_modules_ask_by_class_where_nothing_was_said_to_be_static(tmp_path):
    for one in (np.int64(3), np.int8(3), np.uint8(3), np.bool_(True), 3, True):
        compiled = compile(lambda n, x: np.ones(n) * x if n != 1 else x * n)
        wanted = compiled(one, X[:3])
        compiled.save(tmp_path / "m.py")
        f = alone((tmp_path / "m.py").read_text())[compiled.__name__]
        assert same(f(one, X[:3]), wanted)
        for x in (np.int64(3), np.int8(3), np.uint8(3), np.bool_(True), 3, True, 3.0, np.int64(2)):
            if type(x) is not type(one) or x != one:
                with pytest.raises(ValueError, match="recorded for other arguments"):
                    f(x, X[:3])


@pytest.mark.parametrize("prefix", [False, True])
def test_a_module_that_is_saved_again_is_loaded_anew(prefix, tmp_path, monkeypatch):
    """Python takes a text of the same size and the same second for the one that it knows."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cached") if prefix else None)
    for factor in (2.0, 3.0):
        program = compile(lambda x, factor=factor: x * factor)
        program(X)
        program.save(tmp_path / "scaled.py")
        spec = importlib.util.spec_from_file_location("scaled", tmp_path / "scaled.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        np.testing.assert_array_equal(module.call(X), X * factor)
