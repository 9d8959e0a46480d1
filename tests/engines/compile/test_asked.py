"""Questions for classes, texts and everyday ways to write a program: answered as without compile.

What a program of calls cannot answer is left to the function.
"""

from __future__ import annotations

import functools
import numbers
import shutil
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.shadow import same

A = np.array([0.5, -1.5, 2.0])


@functools.singledispatch
def _answered(x):
    return type(None)


for _number in (float, complex, np.floating, np.ndarray):
    _answered.register(_number)(lambda _, number=_number: number)


def _matched(x):
    match x:
        case float():
            return "float"
        case np.ndarray():
            return "array"
        case np.generic():
            return "number"
    return "other"


CLASS_QUESTIONS = {
    "isinstance": lambda x: [isinstance(x, c) for c in (float, complex, np.ndarray, np.floating)],
    "of elements": lambda x: [isinstance(e, np.floating) for e in np.ravel(x)],
    "numbers": lambda x: [isinstance(x, c) for c in (numbers.Number, numbers.Real)],
    "isscalar": np.isscalar,
    "__class__": lambda x: x.__class__ is float,
    "singledispatch": _answered,
    "match": _matched,
    "of results": lambda x: isinstance(np.sum(x > 0), np.integer),
    "of comparisons": lambda x: isinstance(x > 0, (bool, np.bool_)),
    "with a text": lambda x: x == "auto",
    "with another text": lambda x: x != "auto",
    "with nothing": lambda x: x == None,  # noqa: E711
}


@pytest.mark.parametrize("ask", CLASS_QUESTIONS.values(), ids=CLASS_QUESTIONS)
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.float32(2), np.ones(2), np.array(2.0)])
def test_questions_for_classes_are_answered_as_without_compile(ask, x):
    compiled = compile(lambda x: (ask(x), np.sum(x)))
    (answer, _), want = compiled(x), ask(x)
    assert type(answer) is type(want)
    assert np.array_equal(answer, want)
    assert compiled.programs


@pytest.mark.parametrize("first", [0.5, 0.01])
def test_branches_by_class_hold_for_other_numbers(first):
    def penalty(w, factor, data):
        if isinstance(factor, float):
            factor = max(factor, 0.1)
        if isinstance(data, np.ndarray):
            data = np.nan_to_num(data)
        return np.sum(w * w) * factor + np.sum(data * w)

    f = value_and_grad(penalty)
    compiled = compile(f)
    w = np.arange(3.0)
    for factor in (first, 0.5, 0.01):
        for data in (w, np.where(w > 0, np.nan, w)):
            assert same(compiled(w, factor, data), f(w, factor, data))


@pytest.mark.parametrize("make", [np.array, lambda k: np.array(k, object)])
@pytest.mark.parametrize("text", ["a", b"a"])
def test_arrays_of_texts_are_compared_element_by_element(make, text):
    def f(w, keys):
        total = np.sum((w * (keys != text)) ** 2)
        return total if keys.dtype == object else total + sum([w[0] for k in keys if k == text])

    g = value_and_grad(f)
    compiled, keys = compile(g), make([text, type(text)(text[:0]), text])
    for w in (np.zeros(3), np.ones(3)):
        assert same(compiled(w, keys), g(w, keys))


@pytest.mark.parametrize("given", [1.0, np.ones(2)])
def test_texts_and_classes_in_results_are_the_functions(given):
    def f(x):
        shown = hasattr(x, "__array_function__")
        return {"kind": "array" if shown else "number", "none": None if shown else 2, "x": x * 2}

    compiled = compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compiled(given)
    assert (found["kind"], found["none"]) == (f(given)["kind"], f(given)["none"])


def eliminated(m):
    m = m.copy()
    for k in range(len(m) - 1):
        p = k + np.argmax(np.abs(m[k:, k]))
        m[[k, p]] = m[[p, k]]
        for i in range(k + 1, len(m)):
            m[i] = m[i] - m[k] * (m[i, k] / m[k, k])
    return np.prod(np.diag(m))


SCORES = np.linspace(-1.0, 2.0, 16)


def places(form, x):
    """Return lists of places in lists: of "a" one that is computed, of "r" a row of such."""
    rows = [[]]
    for letter in form:
        if letter == "(":
            rows.append([])
        elif letter == ")":
            row = rows.pop()
            rows[-1].append(row)
        elif letter == "r":
            rows[-1].append(np.argsort(x)[:2])
        else:
            rows[-1].append(np.argmax(x) if letter == "a" else int(letter))
    return rows[0]


OPTIONS = {
    "dtype": (np.float64, "sum prod mean std var cumsum cumprod"),
    "where": (SCORES > 0.5, "sum prod mean std var"),
    "initial": (0.5, "sum prod max min"),
    "copy": (False, "astype"),
}
METHODS = {
    f"x.{name}({option}=)": (
        lambda x, name=name, given={option: value}: np.sum(
            getattr(x, name)(*["f8"][: name == "astype"], **given) * x
        ),
        SCORES,
    )
    for option, (value, names) in OPTIONS.items()
    for name in names.split()
}
EVERYDAY = {
    **METHODS,
    "to_device": (lambda x: np.sum(x.to_device("cpu") ** 2), SCORES),
    "min_scalar_type": (lambda x: np.sum(x) * np.min_scalar_type(x[0]).itemsize, SCORES),
    "pivots": (eliminated, np.random.default_rng(0).standard_normal((4, 4))),
    "a list of places": (lambda x: np.sum(x[[0, np.argmax(x)]] ** 2), SCORES),
    "a list in a tuple": (
        lambda x: np.sum(x.reshape(4, 4)[[0, np.argmax(x) % 4], [1, 2]] ** 2),
        SCORES,
    ),
    "counts": (lambda x: np.sum(x * x) * np.histogram(x, bins=5)[0][1], SCORES),
    "counts between": (lambda x: np.sum(x * np.histogram(x, [-9.0, 0.0, 9.0])[0][0]), SCORES),
    "how many": (lambda x: np.sum(x * x) * np.unique(np.sign(x)).size, SCORES),
    **{
        f"places {form}": (lambda x, form=form: np.sum(x[places(form, x)] ** 2), SCORES)
        for form in ("a", "aa1", "(a1)(2a)", "(12)(a3)", "((a1)(23))((45)(6a))", "(r)(r)", "((a))")
    },
    **{
        f"a number at {where}": (lambda x, where=where: np.sum(np.sum(x * x)[where]), SCORES)
        for where in ((), None, ..., (None, ...), (..., None))
    },
}


@pytest.mark.parametrize("make", [lambda f: f, value_and_grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_ways_to_write_it_are_recorded(name, make):
    f, x = EVERYDAY[name]
    g = make(f)
    compiled = compile(g)
    rng = np.random.default_rng(1)
    for given in (x, x, -x, rng.permutation(x), rng.standard_normal(x.shape), abs(x) + 1.0):
        assert same(compiled(given), g(given))
    assert compiled.programs


def square(x):
    """Return a matrix whose eigenvalues are real for some numbers, and complex for others."""
    return np.stack([x[:2], x[2:] * np.where(x[:2] > 1.0, -1.0, 1.0)])


def columns(x):
    """Return a matrix whose columns are multiples of one another for some numbers."""
    return np.outer(x, x)[:, :2] + np.where(x > 2.0, 1.0, 0.0)[:, None] * np.array([1.0, 2.0])


COUNTED = {
    "np.ones(n)": lambda n, x: np.ones(n).sum() * x[0],
    "np.zeros(n)": lambda n, x: np.zeros(n).size * np.sum(x),
    "np.full(n, 2.0)": lambda n, x: np.full(n, 2.0).sum() * x[0],
    "np.empty(n)": lambda n, x: np.empty(n).size * x[0],
    "np.ndarray(n)": lambda n, x: np.ndarray(n).size * x[0],
    "np.ones_like(3.0, shape=n)": lambda n, x: np.ones_like(3.0, shape=n).sum() * x[0],
    "np.broadcast_to(1.0, n)": lambda n, x: np.broadcast_to(1.0, n).sum() * x[0],
    "np.zeros(n, like=x)": lambda n, x: np.zeros(n, like=x).size * x[1],
    "random(n)": lambda n, x: np.random.default_rng(0).random(n).size * x[0],
    "np.eye(n)": lambda n, x: np.eye(n).sum() * x[0],
    "[2.0] * n": lambda n, x: sum([2.0] * n) * x[0],
    "n * [2.0]": lambda n, x: sum(n * [2.0]) * x[0],
    "(x,) * n": lambda n, x: len((x,) * n) * x[0],
    "'a' * n": lambda n, x: len("a" * n) * x[0],
    "np.stack([x] * n)": lambda n, x: np.stack([x] * (n + 1)).sum(),
    "np.array_split(k, n)": lambda n, x: np.array_split(np.arange(6.0), n + 1)[0].sum() * x[0],
    "np.array_split(x, n)": lambda n, x: len(np.array_split(x, n + 1)) * x[0],
    "np.histogram(k, n)": lambda n, x: np.histogram(np.arange(5.0), n + 1)[0][0] * x[0],
    "np.tile(x, n)": lambda n, x: np.tile(x, n + 1).size * x[0],
    "np.pad(x, n)": lambda n, x: np.pad(x, n).size * x[0],
    "np.resize(x, n)": lambda n, x: np.resize(x, n).size * x[0],
    "np.repeat(x, n)": lambda n, x: np.repeat(x, n).size * x[0],
    "np.repeat(x, k * n)": lambda n, x: np.repeat(x, np.arange(4) * n).size * x[0],
    "x.nonzero()": lambda n, x: len(x.nonzero()[0]) * np.sum(x * x),
    "np.trim_zeros(x)": lambda n, x: np.trim_zeros(x).size * x[0],
    "np.emath.sqrt": lambda n, x: np.sum(np.emath.sqrt(x - 1.0).real),
    "eigvals": lambda n, x: np.max(np.abs(np.linalg.eigvals(square(x)))),
    "iscomplexobj": lambda n, x: 2.0 * np.iscomplexobj(np.linalg.eigvals(square(x))) * x[0],
    "lstsq": lambda n, x: np.linalg.lstsq(columns(x), np.arange(4.0))[1].size * x[0],
    "bins='auto'": lambda n, x: np.histogram(x, bins="auto")[0].size * x[0],
    "bins='sturges'": lambda n, x: np.histogram_bin_edges(x, bins="sturges").size * x[0],
}  # fmt: skip
VECTORS = [[0.0, 1.0, 3.0, 2.0], [2.0, 2.0, 3.0, 1.0], [1.0, 5.0, 3.0, 0.0], [1.0, 2.0, 3.0, 4.0]]


@pytest.mark.parametrize("make", [lambda f: f, value_and_grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", COUNTED)
def test_forms_that_hang_on_numbers_are_asked_at_each_call(name, make):
    g = make(lambda x: COUNTED[name](np.sum(x > 1.0), x))
    compiled = compile(g)
    for x in map(np.array, VECTORS + VECTORS):
        try:
            found = compiled(x)
        except (RecordingError, RecordingWarning):  # with the line to write
            return
        assert same(found, g(x))


UNBOUND = {
    "sum": lambda x: np.ndarray.sum(x, axis=0),
    "__add__": lambda x: np.ndarray.__add__(x, x),
    "T": lambda x: np.ndarray.T.__get__(x),
    "mean": lambda x: sum(map(np.ndarray.mean, [x, 2.0 * x])),
}


@pytest.mark.parametrize("name", UNBOUND)
def test_methods_that_are_taken_from_a_class_are_refused_with_the_line_to_write(name):
    with pytest.raises(RecordingError, match=rf"write x\.{name} for numpy\.ndarray\.{name}"):
        compile(UNBOUND[name], strict=True)(A)


FIELDS = np.array([(1.0, 2), (3.0, 4)], [("a", "f8"), ("b", "i8")])


@pytest.mark.parametrize(
    "r", [FIELDS, FIELDS[0], FIELDS.view(np.recarray), FIELDS[:0]], ids=range(4)
)
def test_a_structured_array_runs_as_it_is(r):
    g = value_and_grad(lambda x, r: np.sum(x * np.sum(r["a"]) * np.mean(x)))
    compiled = compile(g)
    with pytest.warns(RecordingWarning, match="r is a structured array"):
        assert same(compiled(A, r), g(A, r))
    assert same(compiled(2.0 * A, r), g(2.0 * A, r))


RAGGED = {
    "product": lambda r, x: r[0] * 2.0,
    "loop": lambda r, x: sum([np.sum(v**2) for v in r]),
    "beside": lambda r, x: np.exp(-r[0]) @ x,
    "gradient": lambda r, x: grad(lambda x: np.sum((r[0] * 2.0 * x) ** 2))(x),
    "element": lambda r, x: r[0],
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", RAGGED)
def test_an_array_of_arrays_runs_as_it_is_and_a_list_of_them_is_compiled(name, target):
    """A program would write into the elements, and take others for those that it recorded."""
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("there is no compiler of C")
    f, x = RAGGED[name], np.array([0.5, 1.0, -2.0])

    def rows():
        return [np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])]

    compiled = compile(f, target=target)
    for make in (lambda: np.array(rows(), dtype=object), rows):
        r = make()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(3):
                np.testing.assert_allclose(compiled(r, x), f(rows(), x), rtol=1e-12)
        assert ["array of objects" in str(w.message) for w in said] == [True] * (make is not rows)
        assert [*map(list, r)] == [*map(list, rows())]


@pytest.mark.parametrize("of", [int, np.float32])
def test_the_class_of_an_element_may_change(of):
    compiled = compile(lambda r, s: np.sum(r[0] * s), target="c")
    for dtype in (float, of):
        r = np.empty(2, object)
        r[:] = [np.array([1, 2, 3], dtype), np.zeros(2)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecordingWarning)
            assert compiled(r, 2.0) == 12.0
