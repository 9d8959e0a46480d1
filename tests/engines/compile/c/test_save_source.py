"""Programs that are saved as C: built without this library, and called from C and from Python."""

import importlib
import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_tape import hvp, value_and_grad

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(3)
WEIGHTS = RNG.standard_normal((4, 3))
INDEX = np.array([2, 0, 2, -1])


def energy(x, s):
    h = np.tanh(x @ WEIGHTS) * s
    return np.sum(np.exp(h)) + np.max(h)


def net(W, x):
    h = np.maximum(x @ W.T, 0) + np.hypot(x[:, :3], x[:, 1:])
    return np.sum(np.log(np.sum(np.exp(h), axis=1))) + np.sum(h[INDEX % 2] ** 2)


def walk(x):
    for _ in range(20):
        x = np.roll(np.sin(x), 1) + 0.1 * np.cumsum(x)
    return np.sum(x * x)


def branching(x):
    return np.sum(x * 2.0) if x[0] > 0 else np.sum(x)


CASES = {
    "energy": (value_and_grad(energy, (0, 1)), RNG.standard_normal((5, 4)), 0.7),
    "net": (
        value_and_grad(net, (0, 1)),
        RNG.standard_normal((3, 4)).astype(np.float32),
        RNG.standard_normal((2, 4)).astype(np.float32),
    ),
    "transposed": (lambda x, y: (x.T @ y, x[::2] + 1.0), *RNG.standard_normal((2, 4, 3))),
    "products": (lambda x, y: (x @ y, x.T @ y, x @ y.T), *RNG.standard_normal((2, 50, 50))),
    "walk": (lambda x: hvp(walk, (x,), (np.ones(6),)), RNG.uniform(0.1, 0.3, 6)),
    "branching": (branching, np.ones(4)),
    "constant": (lambda x, int: (2.5, x, x > 0, int * x), np.array([1.0, -2.0]), 3.0),
}
KINDS = {"double": np.float64, "float": np.float32, "uint8_t": np.uint8, "int64_t": np.int64}


HEADERS = ("stdio", "stdlib", "string", "math", "complex", "time", "unistd", "signal", "errno")


def leaves(y):
    return [z for x in y for z in leaves(x)] if isinstance(y, (tuple, list)) else [np.asarray(y)]


def close(found, wanted, rtol):
    scale = np.max(np.abs(wanted), initial=1e-30)
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol, rtol * scale)


def in_c(x):
    return ", ".join([repr(v) for v in np.ravel(x).tolist()])


def called_from_c(folder, name, args, wanted):
    """Write a program that calls it, build both, and read what it prints."""
    header = next(folder.glob("*.h")).read_text()
    declaration = next(line for line in header.splitlines() if line.startswith("int "))
    parameters = declaration[declaration.index("(") + 1 : -2].split(", ")
    lines, given = [], []
    for parameter, x in zip(parameters, [*args, *wanted], strict=True):
        parameter = parameter.partition(" /*")[0]
        kind = parameter.replace("const ", "").split()[0]
        place = f"v{len(given)}"
        if "const" in parameter:
            lines.append(f"{kind.rstrip('*')} {place}[] = {{{in_c(x)}}};")
            given.append(place)
        elif "*" in parameter:
            lines.append(f"{kind.rstrip('*')} {place}[{x.size + 1}]; {place}[{x.size}] = 7;")
            given.append(place)
        else:
            given.append(in_c(x))
    made = next(folder.glob("*.c")).stem
    lines.append(f"int answer = {made}({', '.join(given)}); if (answer) return answer;")
    for place, x in zip(given[len(args) :], wanted, strict=True):
        each = f'printf("%.17g\\n", (double){place}[i]);'
        lines.append(f"for (int i = 0; i <= {x.size}; i++) {each}")
    text = "\n".join(lines)
    heads = "".join([f"#include <{x}.h>\n" for x in HEADERS])
    main = f'{heads}#include "{made}.h"\nint main(void) {{\n{text}\nreturn 0; }}\n'
    (folder / "caller.c").write_text(main)
    build = ["cc", "-O1", f"{made}.c", "caller.c", "-o", "caller", "-lm"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    done = subprocess.run(["./caller"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.returncode
    numbers = iter(map(float, done.stdout.split()))
    found = []
    for x in wanted:
        found.append(np.array([next(numbers) for _ in range(x.size)]).reshape(x.shape))
        assert next(numbers) == 7.0, "written behind the end"
    return found


FIRST = ("energy", "constant")


@pytest.mark.parametrize(
    "name", [*FIRST, *[pytest.param(x, marks=pytest.mark.slow) for x in CASES if x not in FIRST]]
)
def test_a_saved_program_is_called_from_c(name, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    f, *args = CASES[name]
    f.__name__ = name
    g = compile(f, target="c")
    wanted = leaves(g(*args))
    g.save(tmp_path / name)
    rtol = 1e-5 if wanted[0].dtype == np.float32 else 1e-12
    for found, want in zip(called_from_c(tmp_path / name, name, args, wanted), wanted, strict=True):
        assert close(found, want, rtol)


def test_another_way_is_told(tmp_path):
    g = compile(branching, target="c")
    y = g(np.ones(4))
    g.save(tmp_path)
    assert called_from_c(tmp_path, "branching", [-np.ones(4)], leaves(y)) == 1


def printed_by(code, folder, **settings):
    """Run code in a process of its own, in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        **settings,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_module_needs_numpy_alone(tmp_path):
    f, *args = CASES["energy"]
    g = compile(f, target="c")
    wanted = leaves(g(*args))
    g.save(tmp_path / "saved")
    (made,) = (tmp_path / "saved").glob("*.py")
    code = (
        f"import sys, numpy as np; import {made.stem} as m\n"
        f"ys = m.{made.stem}(np.array({args[0].tolist()}), {args[1]})\n"
        "assert not [m for m in sys.modules if m.startswith('chainrules')]\n"
        f"try: m.{made.stem}(np.ones(3), 1.0)\n"
        "except ValueError as error: assert 'is float64[3], and recorded for' in str(error)\n"
        "print(*[repr(float(v)) for y in ys for v in np.ravel(y)])"
    )
    for _ in range(2):  # what the first one built must not be found in place of the module
        printed = printed_by(code, tmp_path / "saved", env={"PATH": "/usr/bin:/bin"})
        found = np.array(list(map(float, printed.split())))
        assert close(found, np.concatenate([np.ravel(y) for y in wanted]), 1e-12)


@pytest.mark.parametrize("f", [np.linalg.eigvalsh, lambda x: np.sort(x, 0) * (1 + 1j)])
def test_what_is_not_c_is_refused(f, tmp_path):
    g = compile(f, target="c")
    g(np.eye(3))
    with pytest.raises(RecordingError, match="for the target 'numpy'"):
        g.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_a_module_is_refused(tmp_path):
    g = compile(lambda x: x * 2.0 + x, target="c")
    g(np.ones(3))
    with pytest.raises(RecordingError, match="for the target 'numpy'"):
        g.save(tmp_path / "saved.py")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, -0.0, 5e-324, 1e300])
def test_constants_have_their_bits(number, dtype, tmp_path):
    g = compile(lambda x: (x * number, np.where(x > 0, number, x)), target="c")
    x = np.array([1.0, -2.0], dtype)
    with np.errstate(all="ignore"):
        wanted = g(x)
        g.save(tmp_path / "saved")
    (made,) = (tmp_path / "saved").glob("*.py")
    code = (
        f"import numpy as np; from {made.stem} import {made.stem} as f; "
        f"print([y.tolist() for y in f(np.array([1.0, -2.0], {x.dtype.str!r}))])"
    )
    assert printed_by(code, tmp_path / "saved").strip() == str([y.tolist() for y in wanted])


def imported(folder, name):
    """Import a saved module, and return its function."""
    return runpy.run_path(str(folder / f"compiled_{name}.py"))[f"compiled_{name}"]


GIVEN = {
    "itself": lambda x: x,
    "Fortran": np.asfortranarray,
    "spread": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "not aligned": lambda x: np.frombuffer(b"." + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
    "complex": lambda x: x + 1j,
    "masked": lambda x: np.ma.masked_array(x, x > 0),
    "texts": lambda x: x.astype(str),
    "half": lambda x: x.astype(np.float32),
    "longer": lambda x: x.astype(np.longdouble),
    "whole": lambda x: x.astype(int),
    "flags": lambda x: x > 0,
    "objects": lambda x: x.astype(object),
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "a list": lambda x: x.tolist(),
    "a number": lambda x: x.item(0),
    "a row": lambda x: x[:1],
    "another axis": lambda x: x[None],
    "a class of its own": lambda x: x.view(np.recarray),
    "nothing": lambda x: None,
    "dates": lambda x: x.astype(int).astype("M8[s]"),
}
TAKEN = {"itself", "Fortran", "spread", "backwards", "not aligned"}


def test_a_module_takes_what_it_was_recorded_for(tmp_path):
    """It made anything into arrays: of complex numbers a part, of masked ones those beneath."""
    x, s = RNG.standard_normal((3, 2)), 0.5
    g = compile(lambda x, s: np.sum(np.sin(x) * s, axis=0), target="c")
    g(x, s)
    g.save(tmp_path / "saved")
    f = imported(tmp_path / "saved", "call")
    for name, given in GIVEN.items():
        if name in TAKEN:
            assert close(f(given(x), s)[0], g(x, s), 1e-12), name
            continue
        with pytest.raises(ValueError, match=r"^x is .*, and recorded for float64\[3, 2\]"):
            f(given(x), s)
    for number in (np.float64(s), np.array(s)):
        assert np.array_equal(f(x, number), f(x, s))
    for number in (1, True, 1j, "1", None, np.float32(1), np.ma.masked, np.ones(1), [1.0]):
        with pytest.raises(ValueError, match=r"^s is .*, and recorded for float64\[\]"):
            f(x, number)


def test_names_of_arguments_are_no_names_of_the_module(tmp_path):
    names = ("np", "results", "ctypes", "call_run", "_fit", "np_", "_call", "_call_", "ValueError")
    f = summing(names)
    g, xs = compile(f, target="c"), RNG.standard_normal((len(names), 2))
    g(*xs)
    g.save(tmp_path / "saved")
    h = imported(tmp_path / "saved", "call")
    assert close(h(*xs)[0], f(*xs), 1e-12)
    with pytest.raises(ValueError, match=r"^np is int"):
        h(1, *xs[1:])


def summing(names):
    """Return a function of arguments of these names."""
    return eval(f"lambda {', '.join(names)}: {' + 2.0 * '.join(names)}", {})


def test_names_of_arguments_are_no_macros(tmp_path):
    """The compiler did not take them; and a caller's macros are not known here."""
    names = (
        "NULL",
        "M_PI",
        "unix",
        "linux",
        "__linux__",
        "errno",
        "I",
        "EOF",
        "double",
        "out",
        "x",
    )
    f = summing(names)
    g, xs = compile(f, target="c"), RNG.standard_normal((len(names), 2))
    wanted = f(*xs)
    assert np.array_equal(g(*xs), wanted)
    g.save(tmp_path / "saved")
    made = imported(tmp_path / "saved", "call")
    assert close(made(**dict(zip(names, xs, strict=True)))[0], wanted, 1e-12)
    (found,) = called_from_c(tmp_path / "saved", "call", xs, [wanted])
    assert close(found, wanted, 1e-12)


@pytest.mark.parametrize("name", ["malloc", "write", "ValueError", "loop0", "α", "json"])
def test_names_of_functions_are_those_of_nothing_else(name, tmp_path):
    """`write` would have been that of the caller's C library."""
    f = lambda x: np.dot(WEIGHTS, x)
    f.__name__ = name
    x = RNG.standard_normal((3, 2))
    g = compile(f, target="c")
    wanted = g(x)
    g.save(tmp_path / "saved")
    h = imported(tmp_path / "saved", name)
    assert close(h(x)[0], wanted, 1e-12)
    with pytest.raises(ValueError, match=r"and recorded for float64\[3, 2\]"):
        h(x[:1])
    (found,) = called_from_c(tmp_path / "saved", name, [x], [wanted])
    assert close(found, wanted, 1e-12)


def loaded(folder, name="compiled_energy"):
    """Import a saved module by its path, and return it."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scaled(factor, n, folder):
    """Save what multiplies arrays of a length by a number."""

    def energy(x):
        return x * factor

    g = compile(energy, target="c")
    g(np.ones(n))
    g.save(folder)


@pytest.mark.parametrize("between", [lambda folder: None, shutil.rmtree])
def test_what_is_saved_again_is_what_runs(between, tmp_path, monkeypatch):
    """The library of before ran, which was loaded from that path; or Python's own old module."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    folder, before = tmp_path / "saved", []
    for factor, n in ((2.0, 3), (3.0, 3), (4.0, 6), (5.0, 2)):
        scaled(factor, n, folder)
        before.append((loaded(folder).compiled_energy, factor, n))
        for f, k, m in before:  # each is still what it was
            assert np.array_equal(f(np.ones(m))[0], np.full(m, k))
        between(folder)


def test_a_module_is_loaded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cached"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "saved"), *sys.path])
    monkeypatch.delitem(sys.modules, "compiled_energy", raising=False)
    scaled(2.0, 3, tmp_path / "saved")
    module = importlib.import_module("compiled_energy")
    assert np.array_equal(module.compiled_energy(np.ones(3))[0], np.full(3, 2.0))
    scaled(3.0, 6, tmp_path / "saved")
    importlib.reload(module)
    assert np.array_equal(module.compiled_energy(np.ones(6))[0], np.full(6, 3.0))
    del sys.modules["compiled_energy"]


def test_many_load_at_once(tmp_path):
    scaled(2.0, 3, tmp_path)
    with ThreadPoolExecutor(4) as pool:
        for module in pool.map(loaded, [tmp_path] * 4):
            assert np.array_equal(module.compiled_energy(np.ones(3))[0], np.full(3, 2.0))
    names = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert names == {*[f"compiled_energy.{x}" for x in ("c", "h", "py")], "libcompiled_energy.so"}


def test_a_folder_may_be_for_reading_alone(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    scaled(2.0, 3, tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "replace", refuse)
    assert np.array_equal(loaded(tmp_path).compiled_energy(np.ones(3))[0], np.full(3, 2.0))
    assert not [*tmp_path.glob("*.so")]


def function_of(tmp_path, f, *args):
    """Save the program of a call as C, and return the function of its module."""
    compiled = compile(f, target="c")
    compiled(*args)
    compiled.save(tmp_path / "saved")
    (path,) = (tmp_path / "saved").glob("*.py")
    return runpy.run_path(str(path))[path.stem]


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    "f, x, wanted",
    [
        (lambda x: np.sum(x * x), [1e200, 1.0, -1e300], [2e200, 2.0, -2e300]),
        (lambda x: np.sum(x * x), [INF, 1.0, -INF], [INF, 2.0, -INF]),
        (lambda x: np.sum(np.log(x)), [1e-160, 1.0, 0.0], [1e160, 1.0, INF]),
        (lambda x: np.sum(1.0 / x), [1e100, 1.0, 1e-100], [-1e-200, -1.0, -1e200]),
    ],
)
def test_large_and_infinite_gradients_are_given(tmp_path, f, x, wanted):
    """The sum of their squares is infinite, and modules took that for another branch."""
    with np.errstate(all="ignore"):
        saved = function_of(tmp_path, value_and_grad(f), np.ones(3))
        np.testing.assert_allclose(saved(np.array(x))[1], wanted, rtol=1e-14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: np.sum(x * x), [NAN, 1.0, 1.0]),
        (lambda x: np.sum(x / (x * x)), [0.0, 1.0, 1.0]),
    ],
)
def test_where_a_derivative_is_computed_anew_modules_say_so(tmp_path, f, x):
    saved = function_of(tmp_path, value_and_grad(f), np.ones(3))
    with pytest.raises(ValueError, match="its derivative meets NaN or an infinite quotient"):
        saved(np.array(x))


OWN = {
    "logaddexp": (
        np.logaddexp,
        [0.3, INF, -INF, 800.0, NAN, -1.0],
        [0.1, INF, 2.0, -3.0, 1.0, -1.0],
    ),
    "remainder": (np.remainder, [5.5, -5.5, 5.5, -6.0, 1.0, -1], [2.0, 2.0, -2.0, 3.0, 0.0, INF]),
    "any": (lambda x, y: np.where(np.any(x > y), x, y), [1.0, 2.0], [3.0, 1.0]),
    "all": (lambda x, y: np.where(np.all(x > y), x, y), [1.0, 2.0], [3.0, 1.0]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OWN)
def test_functions_that_c_has_not(tmp_path, name, dtype):
    f, *given = OWN[name]
    x, y = np.array(given, dtype)
    with np.errstate(all="ignore"):
        (found,) = function_of(tmp_path, lambda x, y: f(x, y), x, y)(x, y)
        wanted = f(x, y)
    np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    if shutil.which("cc"):  # new compilers take no function that is not declared
        strict = ["cc", "-Werror=implicit-function-declaration", "-fsyntax-only"]
        for source in tmp_path.rglob("*.c"):
            subprocess.run([*strict, source], check=True, capture_output=True)


def test_scalars_are_saved(tmp_path):
    f = value_and_grad(lambda x, y: x * y + np.sin(x), (0, 1))
    found = function_of(tmp_path, f, 1.0, 2.0)(0.5, 3.0)
    np.testing.assert_allclose(found, [1.5 + np.sin(0.5), 3.0 + np.cos(0.5), 0.5], rtol=1e-15)


@pytest.mark.parametrize(
    "f, match",
    [
        (np.sort, r"^(arg)?sort of float64\[3\] is not written in C.*'numpy', and save that$"),
        (lambda x: np.fft.fft(x).real, r"^fft of float64\[3\] is not written in C"),
        (lambda x, y=1j: x * (1j + x), "complex"),
    ],
)
def test_what_is_not_written_in_c_is_named_with_its_operands(tmp_path, f, match):
    compiled = compile(lambda x: f(x), target="c")
    compiled(np.ones(3))
    with pytest.raises(RecordingError, match=match):
        compiled.save(tmp_path / "saved")
