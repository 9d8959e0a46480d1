"""Compiled functions: what they compute, what they see, what they refuse, what they are made of."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import gc
import itertools
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import chainrules_tape as ct
from benchmarks.programs import PROGRAMS
from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_compile.result_checks import close
from chainrules_py import RuleError, Tangent, primitive, scalar_rule
from chainrules_py import ops as v
from chainrules_py.extend import flatten
from tests.engines.compile.random_programs import (
    check_compiled,
    check_in_threads,
    check_loose,
    run,
)
from tests.engines.compile.shadow import same

RNG = np.random.default_rng(0)
X = RNG.normal(size=6)
M = RNG.normal(size=(4, 4))


class Kind(enum.IntEnum):
    OFF = 0
    ON = 1


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray


def zeros_once(n, made={}):  # noqa: B006 (it is what is kept)
    if n not in made:
        made[n] = np.zeros(n)
        made[n].flags.writeable = False
    return made[n]


@primitive
def kept(x):
    return zeros_once(len(x))


kept.opaque = True


@primitive
def kept_to_be_written(x):
    return KEPT


KEPT = np.zeros(6)
kept_to_be_written.opaque = True


@primitive
def softplus(x):
    return np.logaddexp(0.0, x)


scalar_rule(softplus, lambda y, x: v.exp(x - y))


def in_place(x):
    b = np.zeros(6, like=x)
    b[1:4] = x[:3] * 2
    b[0] += x[5]
    b *= x
    return np.sum(b)


def through_a_view(x):
    y = x.copy()
    part = y[2:5]
    part *= 3.0
    return np.sum(y * y)


def beside_constants(x):
    y = np.sin(np.arange(6.0).reshape(2, 3) * x)[::]
    y[...] *= x
    return np.sum(y)


def newton(x):
    z = x[0]
    while abs(z * z - 4.0) > 1e-9:
        z = z - (z * z - 4.0) / (2 * z)
    return z * np.sum(x)


def dense(layer, x):
    return np.sum(np.tanh(layer.w @ x + layer.b) ** 2)


both = ct.value_and_grad
CASES = {
    "plain": (lambda x: (np.sin(x) * x, x, x[1:]), (X,)),
    "plain, with methods": (lambda x: (x.sum(), x.reshape(2, 3).T, x.max(), x.argmax()), (X,)),
    "value and gradient": (both(lambda x: np.sum(np.sin(x) * x)), (X,)),
    "gradient of a gradient": (
        ct.grad(lambda x: np.sum(ct.grad(lambda y: np.sum(np.sin(y) * y))(x) ** 2)),
        (X,),
    ),
    "jvp": (lambda x, t: ct.jvp(lambda x: np.exp(x) * x[::-1], (x,), (t,)), (X, X * 2)),
    "vjp": (lambda x, t: ct.vjp(lambda x: np.exp(x) * x[::-1], x)[1](t), (X, X * 2)),
    "hvp": (lambda x, t: ct.hvp(lambda x: np.sum(x[1:] ** 2 * x[:-1]), (x,), (t,)), (X, X * 2)),
    "hessian": (ct.hessian(lambda x: np.sum(np.exp(x) * x[::-1])), (X,)),
    "jacobian": (ct.jacobian(lambda x: np.exp(x) * x[::-1]), (X,)),
    "linearize": (
        lambda x, t: ct.linearize(lambda x: np.exp(x) * x[::-1], x)[1](t),
        (X, X * 2),
    ),
    "dict": (
        both(lambda p, x: np.sum(np.tanh(p["w"] @ x + p["b"]) ** 2)),
        ({"w": M, "b": np.ones(4)}, X[:4]),
    ),
    "dataclass": (both(dense), (Layer(M, np.ones(4)), X[:4])),
    "aux": (both(lambda x: (np.sum(x * x), x * 2), has_aux=True), (X,)),
    "held fixed": (both(lambda x: np.sum(x * ct.stop_gradient(np.sin(x)))), (X,)),
    "places": (both(lambda x, i: np.sum(x[i] ** 2)), (X, np.array([0, 0, 3]))),
    "list in a tuple": (lambda x: np.histogramdd(x.reshape(3, 2), 2), (X,)),
    "read-only result": (lambda x: np.sum(kept(x) * x), (X,)),
    "kept result": (lambda x: np.sum(kept_to_be_written(x) * 2.0 + x), (X,)),
    "mask": (both(lambda x: np.sum(x[x > 0] ** 2)), (X,)),
    "where": (both(lambda x: np.sum(np.where(x > 0, x * x, -x))), (X,)),
    "sort": (both(lambda x: np.sum(np.sort(x)[:3] * np.arange(3.0))), (X,)),
    "max": (both(lambda x: np.max(x) ** 2), (X,)),
    "svd": (both(lambda a: np.sum(np.linalg.svd(a, compute_uv=False))), (M,)),
    "eigh": (both(lambda a: np.sum(np.linalg.eigh(a + a.T)[0] ** 3)), (M,)),
    "solve": (both(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (0, 1)), (M, X[:4])),
    "slogdet": (both(lambda a: np.linalg.slogdet(a @ a.T)[1]), (M,)),
    "einsum": (both(lambda a: np.einsum("ij,jk->", a, a)), (M,)),
    "complex": (both(lambda z: np.sum(np.abs(z) ** 2)), (X + 1j,)),
    "single precision": (both(lambda x: np.sum(np.exp(0.5 * x) / 3)), (X.astype("f4"),)),
    "strided": (both(lambda x: np.sum(x * x)), (np.arange(12.0)[::2],)),
    "strided, converted": (
        both(lambda x: np.sum((x.astype(float) - 1.0) ** 2)),
        (np.arange(12.0)[::2],),
    ),
    "in place": (both(in_place), (X,)),
    "through a view": (both(through_a_view), (X,)),
    "parts of what is constant": (
        lambda x, t: ct.hvp(beside_constants, (x,), (t,)),
        (np.array(2.0), np.array(1.0)),
    ),
    "newton": (both(newton), (abs(X) + 1,)),
    "numbers": (both(lambda x, y: (1 - x) ** 2 + 100.0 * (y - x * x) ** 2, (0, 1)), (1.2, 0.7)),
    "division": (both(lambda x, y: np.sum(x / y), (0, 1)), (X, np.array([2.0]))),
    "primitive": (both(lambda x: np.sum(softplus(x) * x)), (X,)),
    "fft": (both(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2)), (X,)),
    "infinite partial": (both(lambda x: np.sum(np.sqrt(x) * 0.0)), (np.zeros(3),)),
    "loop": (both(lambda x: sum(np.sum(x[i : i + 2] ** 2) for i in range(5))), (X,)),
    "concatenate": (both(lambda x: np.sum(np.concatenate([x, x * 2])[3:9] ** 3)), (X,)),
}


def scaled(x, factor):
    """Return a multiple of an array, which has gaps in memory if the array has some."""
    y = x * type(x.flat[0])(factor)
    return y if x.flags.forc else np.repeat(y, 2, axis=-1)[..., ::2]


@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_the_function(name):
    f, args = CASES[name]
    compiled = compile(f)
    for factor in (1.0, 1.0, -0.75):
        given = [
            scaled(x, factor)
            if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and name != "newton"
            else x
            for x in args
        ]
        before = [np.array(x) for x in flatten(given)[0]]
        with np.errstate(all="ignore"):
            wanted = f(*given)
            found = compiled(*given)
        assert same(found, wanted), compiled.source
        assert all(map(np.array_equal, before, flatten(given)[0]))


FACTORS = {
    "qr": lambda a: np.sum(np.linalg.qr(a)[1] ** 2 * M),
    "qr of a tall one": lambda a: np.sum(np.linalg.qr(a[:, :2])[0] ** 3),
}


@pytest.mark.parametrize("name", FACTORS)
def test_second_derivatives_of_factors_are_programs(name):
    f = lambda a: ct.hvp(FACTORS[name], a, a[::-1] ** 2)
    compiled = compile(f, strict=True)
    for a in (M, M.T.copy()):
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_results_share_no_memory(name):
    f, args = CASES[name]
    with np.errstate(all="ignore"):
        found = flatten(compile(f)(*args))[0]
    arrays = [x for x in found if isinstance(x, np.ndarray)]
    others = [x for x in flatten(args)[0] if isinstance(x, np.ndarray)]
    for i, x in enumerate(arrays):
        assert x.flags.writeable
        assert not any(np.shares_memory(x, y) for y in (*arrays[:i], *others))


def test_results_share_no_memory_when_programs_give_way_to_the_function():
    step = compile(lambda x, n: (x, M[1:], n * np.sum(x)))
    with pytest.warns(RecordingWarning, match="recorded 3 times"):
        found = [step(X, n) for n in range(5)]
    assert step.as_it_is
    assert not any(np.shares_memory(x, y) for xs in found for x in xs for y in (X, M))


@pytest.mark.parametrize(
    "name", [name for name, p in PROGRAMS.items() if p.elements <= 100 and "1e+05 s" not in name]
)
def test_whole_programs_give_the_same(name):
    program = PROGRAMS[name]
    args = program.inputs()
    f = both(program.loss(np), argnums=tuple(range(program.moving)))
    if "Rosenbrock" in name:
        args = (args[0][:20],)
    alike = close if "cart" in name else same  # whose numbers are computed as Python's
    assert alike(compile(f)(*args), f(*args))


# ------------------------------------------------------------------------- which program is taken


def test_other_kinds_of_arguments_are_other_programs():
    f = both(lambda x: np.sum(x * x[::-1]))
    compiled = compile(f)
    given = (X, X[:3], X.astype("f4"), np.repeat(X, 2)[::2], X * 2)
    for x in given:
        assert same(compiled(x), f(x))
    assert len(compiled.programs) == 4


def test_the_other_branch_is_another_program():
    f = both(lambda x: np.sum(x * x) if np.sum(x) > 0 else -np.sum(x))
    compiled = compile(f)
    for x in (abs(X), -abs(X), abs(X) * 2, -abs(X) * 2):
        assert same(compiled(x), f(x))
    assert len(compiled.programs) == 2


@pytest.mark.parametrize("static", [1.5, None, True, b"n", (0, 1.5), [None], ("n", True)])
def test_static_is_places_and_names(static):
    with pytest.raises(RuleError, match="static= names arguments by place or name"):
        compile(lambda n, x: x, static=static)
    with pytest.raises(RuleError, match="static= names arguments by place or name"):
        compile(static=static)(lambda n, x: x)


@pytest.mark.parametrize("f", [3, "x + 1", X, (np.sin,)])
def test_what_cannot_be_called_is_no_function(f):
    with pytest.raises(RuleError, match="cannot be called, so there is nothing to compile"):
        compile(f)


def test_static_values_choose_the_program():
    compiled = compile(lambda x, n, how: np.sum(x**n) if how == "sum" else np.max(x) * n)
    assert compiled(X, 2, "sum") == np.sum(X**2)
    assert compiled(X, 3, "sum") == np.sum(X**3)
    assert compiled(X, 3, "max") == np.max(X) * 3
    assert len(compiled.programs) == 3
    fixed = compile(lambda x, a: x * a, static=("a",))
    assert same(fixed(X, 2.0), X * 2.0)
    assert same(fixed(X, 3.0), X * 3.0)
    assert len(fixed.programs) == 2


def test_keywords_and_forms_of_calls():
    def f(x, y=2.0, *, z=1.0):
        return x * y + z

    compiled = compile(f)
    assert same(compiled(X), f(X))
    assert same(compiled(X, 3.0), f(X, 3.0))
    assert same(compiled(X, z=4.0), f(X, z=4.0))
    assert same(compiled(x=X, z=4.0), f(x=X, z=4.0))
    assert same(compiled(X), f(X))


def test_error_in_a_function_of_another_form_is_its_own():
    compiled = compile(lambda x: np.linalg.cholesky(x))
    assert same(compiled(np.eye(2)), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        compiled(-np.eye(2))
    with pytest.raises(TypeError):
        compiled(np.eye(2), np.eye(2))


def test_captured_arrays_are_seen():
    w = np.ones(6)
    box = [w]

    def f(x):
        return np.sum(x * box[0] * 2.0)

    compiled = compile(both(f))
    assert same(compiled(X), both(f)(X))
    w[2] = 5.0
    assert same(compiled(X), both(f)(X))
    box[0] = np.arange(6.0)
    assert same(compiled(X), both(f)(X))


def test_what_is_computed_of_captured_values_is_seen():
    w, scale = np.ones(6), 2.0

    def f(x):
        return np.sum(x * (w * scale))

    compiled = compile(both(f))
    assert same(compiled(X), both(f)(X))
    w[2] = 5.0
    assert same(compiled(X), both(f)(X))
    scale = 3.0
    assert same(compiled(X), both(f)(X))


def test_quotient_by_what_is_captured():
    c = np.arange(1.0, 7.0)
    f = ct.grad(lambda x: np.sum(x / c))
    assert same(compile(f)(X), f(X))


def test_powers_of_numbers_that_may_be_complex():
    compiled = compile(lambda x, p: (x**p, x**2.0, x**3))
    for x in (0.5, -0.5, 0.25, -0.25):
        assert same(compiled(x, 0.5), (x**0.5, x**2.0, x**3))
    assert len(compiled.programs) == 2


def test_arguments_that_are_tangents_and_members_of_enumerations():
    layer = Layer(M, np.ones(4))
    t = Tangent[Layer](w=M * 2, b=np.ones(4))
    f = lambda layer, t: ct.hvp(lambda layer: dense(layer, X[:4]), (layer,), (t,))
    compiled = compile(f)
    found, wanted = compiled(layer, t), f(layer, t)
    assert all(map(same, flatten(found)[0], flatten(wanted)[0]))
    on = compile(lambda x, kind: x * 2.0 if kind is Kind.ON else x)
    assert same(on(X, Kind.ON), X * 2.0)
    assert same(on(X, Kind.OFF), X)


def test_aliased_arguments():
    f = both(lambda x, y: np.sum(x * y), (0, 1))
    compiled = compile(f)
    assert same(compiled(X, X), f(X, X))
    assert same(compiled(X, X * 2), f(X, X * 2))


def test_too_many_programs_run_as_they_are():
    f = lambda x, n: x * n
    compiled = compile(f, static="n")
    for n in range(32):
        assert same(compiled(X, n), f(X, n))
    with pytest.warns(UserWarning, match="has 32 programs"):
        assert same(compiled(X, 32), f(X, 32))
    assert len(compiled.programs) == 32


def test_threads():
    f = both(lambda x: np.sum(np.tanh(x) * x[::-1]))
    compiled = compile(f)
    given = [RNG.normal(size=n) for n in (3, 4, 5, 6)]
    wanted, wrong = [f(x) for x in given], []

    def work():
        for _ in range(25):
            for x, y in zip(given, wanted, strict=True):
                if not same(compiled(x), y):
                    wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_functions_are_differentiated_and_compiled():
    inner = compile(lambda x: np.sin(x) * x)
    f = lambda x: np.sum(inner(x))
    assert same(both(f)(X), both(lambda x: np.sum(np.sin(x) * x))(X))
    assert same(compile(both(f))(X), both(f)(X))


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda x: float(np.sum(x)) * x, "does not become a float"),
        (lambda x: np.asarray(x, complex) * 2, "does not become a complex"),
        (
            lambda x: np.arange(6.0)[np.argsort(x)],
            r"use take\(np\.arange\(6\.0\), np\.argsort\(x\), ",
        ),
        (lambda x: np.eye(6)[:, np.argsort(x)], r"pass np\.eye\(6\) as an argument"),
        (lambda x: np.arange(6.0)[x > 0], r"np\.compress"),
        (lambda x: x.fill(0.0), "written to"),
        (lambda x: x.__setitem__(0, 1.0), "written to"),
        (lambda x: np.add(x, 1.0, out=np.zeros(6)), "write into a plain array"),
        (lambda x: (y := np.zeros(6), x + y, y.fill(1.0)), "after it was computed with"),
        (lambda x: x.tobytes(), "gives a bytes"),
        (lambda x: np.linalg.inv(np.c_[np.ones(6), x][:2]), r"np\.column_stack\(\[a, b\]\) for"),
    ],
)
def test_refusals_say_what_to_write(f, text):
    with pytest.raises(RecordingError, match=text):
        compile(f, strict=True)(X.copy())  # which some of them write to


@pytest.mark.parametrize("name", ["fsolve", "newton"])
def test_advice_for_traced_programs_is_none_for_compiled_ones(name, capfd):
    """Ours is called already: what records it cannot."""
    optimize = pytest.importorskip("chainrules_scipy.optimize")
    root = getattr(optimize, name)
    slopes = compile(ct.grad(lambda p: np.sum(root(lambda x: x * x - p, np.ones(2)))))
    with pytest.warns(RecordingWarning, match="root is not compiled: call it outside") as said:
        found = [slopes(np.array([a**2, 9.0])) for a in (2.0, 3.0, 4.0, 5.0)]
    np.testing.assert_allclose(found, [[1 / (2 * a), 1 / 6] for a in (2.0, 3.0, 4.0, 5.0)])
    assert "which takes the same" not in str(said[0].message)
    assert not capfd.readouterr().err  # of C code that reads a recorded value


def test_an_integral_that_handles_errors_itself_is_named():
    """The program of a person has no ``np.errstate``."""
    integrate = pytest.importorskip("chainrules_scipy.integrate")
    f = lambda p: integrate.quad(lambda u: np.exp(-p[0] * u) / (u**2 + p[1]), 0.0, 2.0)[0]
    curve = compile(lambda p, t: ct.hvp(f, p, t))
    with pytest.warns(RecordingWarning, match="chainrules_scipy.integrate is not compiled: call"):
        curve(np.array([1.0, 2.0]), np.ones(2))
    handled = np.errstate(all="call", call=lambda *_: None)(lambda x: np.exp(x))
    with pytest.raises(RecordingError, match="has errors raised, or handled, in the function"):
        compile(handled, strict=True)(X)


def test_a_strict_function_may_fill_a_cache_once():
    cache = {}

    def f(x):
        if "c" not in cache:
            cache["c"] = np.arange(6.0)
        return np.sum(x * cache["c"])

    g = compile(f, strict=True)
    assert [g(X), g(X), g(X)] == [f(X)] * 3
    assert len(g.programs) == 1


def test_a_strict_function_that_changes_something_at_every_call_is_an_error_at_each():
    calls = []
    g = compile(lambda x: (calls.append(1), np.sum(x))[1], strict=True)
    g(X)
    for _ in range(2):
        with pytest.raises(RecordingError, match="is not a program: each call changes calls"):
            g(X)


def test_what_draws_from_a_captured_generator_runs_as_it_is():
    rng, same_rng = np.random.default_rng(0), np.random.default_rng(0)
    compiled = compile(lambda x: rng.normal(size=6) * x)
    compiled(X)
    with pytest.warns(RecordingWarning, match="each call changes the state of rng") as caught:
        compiled(X)
    assert caught[0].filename == __file__
    same_rng.normal(size=12)
    assert np.array_equal(compiled(X), same_rng.normal(size=6) * X)


def test_unknown_target():
    with pytest.raises(RuleError, match=r"known are .*numpy"):
        compile(np.sin, target="abacus")


# -------------------------------------------------------------------------------- what is looked at


def test_source_has_the_names_of_the_function():
    @compile
    @both
    def energy(weights, bias):
        return np.sum(np.tanh(weights * bias))

    energy(X, 2.0)
    assert energy.source.startswith("def energy(weights, bias, /):")
    assert "recorded" in energy.explain()
    assert "weights: float64[6]" in energy.explain()
    assert repr(energy) == "<compiled energy with 1 programs for numpy>"


def test_what_explain_says():
    w = np.ones(6)

    def f(x):
        return np.sum(x * w * 2.0) if x[0] > 0 else x[0]

    compiled = compile(f)
    compiled(abs(X))
    said = compiled.explain()
    assert "captured     w_c0: float64[6]" in said
    assert "guarded      bool is True" in said
    assert "recorded     96 bytes, in 2 arrays" in said
    assert "written      48 bytes, in 1 arrays" in said


@pytest.mark.parametrize("name", ["single precision", "value and gradient", "dict", "svd", "loop"])
def test_saved_module_needs_numpy_alone(tmp_path, name):
    f, args = CASES[name]
    compiled = compile(f)
    wanted = compiled(*args)
    path = tmp_path / "saved.py"
    compiled.save(path)
    code = (
        "import sys, pickle, numpy as np\n"
        "import saved\n"
        "args = pickle.load(open('args.pickle', 'rb'))\n"
        f"y = saved.{compiled.__name__}(*args)\n"
        "assert not [m for m in sys.modules if m.startswith('chainrules')]\n"
        "pickle.dump(y, open('found.pickle', 'wb'))\n"
    )
    (tmp_path / "args.pickle").write_bytes(pickle.dumps(args))
    environment = {"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert close(pickle.loads((tmp_path / "found.pickle").read_bytes()), wanted)


def test_saved_module_refuses_other_arguments(tmp_path):
    compiled = compile(CASES["value and gradient"][0])
    compiled(X)
    compiled.save(tmp_path / "saved.py")
    scope: dict[str, object] = {}
    exec((tmp_path / "saved.py").read_text(encoding="utf-8"), scope)
    with pytest.raises(ValueError, match="record it anew"):
        scope[compiled.__name__](X[:3])  # type: ignore[operator]


def test_what_cannot_be_saved_is_named(tmp_path):
    compiled = compile(CASES["dataclass"][0])
    compiled(*CASES["dataclass"][1])
    with pytest.raises(RecordingError, match="NumPy alone cannot have"):
        compiled.save(tmp_path / "saved.py")


def test_source_before_the_first_call():
    with pytest.raises(RecordingError, match="call it first"):
        _ = compile(np.sin, strict=True).source


def test_random_programs():
    run(check_compiled, 2)


def test_random_programs_that_need_not_have_the_bits():
    run(check_loose, 4)


def test_random_programs_in_threads():
    run(check_in_threads, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(10))
def test_many_random_programs(start):
    run(check_compiled, 200, 1 + start)


@pytest.mark.nightly
def test_many_random_programs_in_threads():
    run(check_in_threads, 100, 99)


def test_a_program_that_differs_is_not_used():
    numbers = itertools.count()

    def f(x):
        return x * next(numbers)

    compiled = compile(f)
    with pytest.warns(
        RecordingWarning, match="runs as it is: numbers, a count gives something else each time"
    ):
        compiled(X)
    found = compiled(X)
    assert np.array_equal(found, X * (next(numbers) - 1))
    assert not compiled.programs


# ------------------------------------------------------------------------- all members of a class

COMPLEX = np.array([1.0 + 1.0j, 2.0])
REDUCTIONS = {
    "max": lambda x: np.max(x) * 2,
    "min": np.min,
    "median": np.median,
    "quantile": lambda x: np.quantile(x, 0.3),
    "transform": lambda x: np.sum(np.fft.fft(x).real ** 2),
    "products": lambda x: np.max(x) * np.prod(x),
    "all": lambda x: np.logaddexp.reduce(x) + np.cumsum(x)[-1] + np.std(x) + np.median(x),
    "turned": lambda x: np.sum(np.roll(x, 1) * np.where(x > 0, x, 0.0)),
    "complex": lambda x: np.sum(abs(COMPLEX * x[0])),
}


class Own(np.ndarray):
    """Arrays of a class of one's own."""


SPECIAL = (
    np.ones(3).view(Own),
    np.ma.masked_array(np.ones(3), [True, False, False]),
    np.ones((1, 3)).view(np.matrix),
)
PLACES = {
    "first of a tuple": lambda x: (x, 1),
    "last of a tuple": lambda x: (1.0, x),
    "first of a list": lambda x: [x, 1, 2.0],
    "in a dict": lambda x: {"a": (x, 2), "b": 1.0},
    "first of two": lambda x: ((x,), 1.0),
    "twice": lambda x: [x, x, np.ones(2), x],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("x", SPECIAL, ids=lambda x: type(x).__name__)
@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
def test_arrays_of_other_classes_in_arguments(x, place):
    f = lambda y, p: y * 2.0
    assert same(compile(f)(X, PLACES[place](x)), f(X, None))


@pytest.mark.parametrize("number", [float, complex, np.float64, np.float32], ids=str)
@pytest.mark.parametrize("way", ["captured", "in a list", "in a dict", "static", "static list"])
def test_the_sign_of_nan_is_seen(way, number):
    a, b = number(np.nan), -number(np.nan)
    of = lambda x, v: np.copysign(1.0, np.real(v[0] if isinstance(v, list) else v)) * x
    if way.startswith("static"):
        g = compile(of, static="v")
        ask = lambda v: g(2.0, v=[v] if "list" in way else v)
    else:
        kept = {"v": a} if way == "in a dict" else [a]
        g = compile(lambda x: of(x, kept["v" if way == "in a dict" else 0]))

        def ask(v):
            kept["v" if way == "in a dict" else 0] = v
            return g(2.0)

    assert [float(ask(v)) for v in (a, b, a)] == [float(of(2.0, v)) for v in (a, b, a)]


@pytest.mark.parametrize(
    "write",
    [
        lambda b, x: b.fill(x[0]),
        lambda b, x: b.put([1, 2], x[0]),
        lambda b, x: b.__setitem__(1, x[0]),
        lambda b, x: np.copyto(b, x),
        lambda b, x: np.putmask(b, b < 1.0, x),
    ],
)
def test_methods_that_write_what_is_differentiated(write):
    def f(x):
        b = np.zeros(6, like=x)
        write(b, x)
        return np.sum(b**2)

    assert same(compile(ct.grad(f))(X), ct.grad(f)(X))


@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.ones(3)], ids=repr)
@pytest.mark.parametrize("number", [np.float32, np.float64, np.complex128])
def test_classes_of_numbers_say_what_to_write(number, x):
    with pytest.raises(RecordingError) as refused:
        compile(lambda x: number(x) * 2, strict=True)(x)
    instead = str(refused.value).rpartition("  use ")[2]
    write = [lambda x: np.positive(x, dtype=number) * 2]
    write.append(eval(f"lambda x: ({instead}) * 2", {"np": np}))
    write += [] if type(x) is float else [lambda x: x.astype(number) * 2]
    for f in write:
        assert same(compile(f)(x), f(x))


CONTAINERS = {
    "dict": lambda x: {"a": x, "b": (x * 2, np.ones(2))},
    "of keys in order": lambda x: collections.OrderedDict(a=x, b=[x * 2]),
    "with a default": lambda x: collections.defaultdict(float, a=x, b=x * 2),
    "of several": lambda x: collections.ChainMap({"a": x}, {"b": x * 2}).maps,
    "list": lambda x: [x, [x * 2]],
}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.arange(2.0), 1 + 2j], ids=repr)
def test_containers_of_numbers_that_are_their_own_tangents(make, x):
    def f(held):
        return np.sum(sum([np.sum(leaf) for leaf in flatten(held)[0]]) ** 2)

    transforms = [f, lambda held: ct.jvp(f, (held,), (held,))]
    if not np.iscomplexobj(x):
        transforms += [ct.grad(f), lambda held: ct.hvp(f, (held,), (held,))]
    for g in transforms:
        compiled = compile(g)
        for k in (1.0, -0.5):
            assert same(compiled(make(x * k)), g(make(x * k)))
        assert len(compiled.programs) == 1


def test_the_collector_waits_for_a_first_call_and_goes_on():
    seen = []
    for answer in (lambda x: np.sin(x), lambda x: 1 / 0, lambda x: float(x)):
        compiled = compile(lambda x, answer=answer: (seen.append(gc.isenabled()), answer(x))[1])
        with contextlib.suppress(ArithmeticError, RecordingError):
            compiled(0.5)
        assert gc.isenabled()
    assert not any(seen)
    gc.disable()
    try:
        compile(np.cos)(0.5)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_kept_of_a_long_program_is_not_walked_through_again():
    f = lambda x: functools.reduce(lambda y, _: np.sin(y) * x, range(2000), x)
    collections_ = lambda: [stats["collections"] for stats in gc.get_stats()]
    frozen = gc.get_freeze_count()  # by whoever runs the tests
    gc.unfreeze()
    try:
        for keep in (lambda: None, gc.freeze):
            compiled = compile(f)
            gc.collect()
            keep()
            before, kept = collections_(), gc.get_freeze_count()
            compiled(0.5)
            assert kept or collections_() == before
            assert 2 * gc.get_freeze_count() >= kept  # some of them have died
    finally:
        if not frozen:
            gc.unfreeze()


def test_a_short_first_call_does_not_count_what_is_frozen(monkeypatch):
    """CPython counts by a walk: 50 ms in a process that has frozen a million objects."""

    def refuse():
        raise AssertionError("gc.get_freeze_count was called")

    monkeypatch.setattr(gc, "get_freeze_count", refuse)
    compiled = compile(lambda x: np.sin(x) * x)
    assert same(compiled(0.5), np.sin(0.5) * 0.5)


def test_programs_look_up_names_in_a_plain_dict():
    """Of another, also of a class derived from dict, CPython takes ten times as long for a name."""
    f = compile(ct.value_and_grad(lambda x: np.sum(np.sin(x) / x)))
    f(np.linspace(0.5, 1.0, 4))
    names = f.programs[0].run.__globals__
    assert type(names) is dict
    assert f.programs[0].scope.data is names
