"""Programs that are kept on disk: found by another process, and never where something changed."""

import marshal
import os
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingWarning, cache_info, compile, folder, kept
from chainrules_py import primitive, scalar_rule, strict
from tests.engines.compile.random_programs import SAID, check_kept, run
from tests.engines.compile.shadow import same

X = np.linspace(0.5, 1.5, 4)
WEIGHTS = np.arange(12.0).reshape(4, 3).T
SCALE = 2.0
CODE = """
import numpy as np

class Model:
    power = 2.0
    def __init__(self, width):
        self.width = width
    def at(self, x):
        return helper(x) * self.width

def helper(x):
    return np.sin(x) + SHIFT

def f(x, n=3):
    for _ in range(n):
        x = MODEL.at(x) ** MODEL.power
    return np.sum(x * TABLE)

SHIFT = 0.5
TABLE = np.arange(4.0)
MODEL = Model(0.25)
"""


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    where = tmp_path / "kept"
    where.mkdir(mode=0o700)
    monkeypatch.setattr(kept.FOLDER, "path", where)
    return where


def made(code=CODE):
    """Make a module of people's."""
    module = types.ModuleType("made_for_keeping")
    exec(code, vars(module))
    return module


def found(f, *args, **settings):
    """Tell whether a program is found on disk; compare what it gives."""
    compiled = compile(f, keep=True, **settings)
    y, wanted = compiled(*args), f(*args)
    assert same(y, wanted)
    return compiled.programs[0].calls is None


@primitive
def bent(x):
    return np.asarray(x) ** 3


scalar_rule(bent, lambda y, x: 3 * x**2)


def in_words(x):
    return np.sum(np.tanh(WEIGHTS @ x) * SCALE) / np.sqrt(np.sum(x * x))


def in_place(x):
    y = np.zeros(4, like=x)
    y[1:3] = x[:2] * 2.0
    return np.sum(y * y + x[::-1].reshape(2, 2).reshape(-1))


def in_turns(x):
    for _ in range(300):
        x = np.sin(x) + 0.25
    return np.sum(x)


def in_branches(x):
    return np.sum(x * x) if np.sum(x) > 2 else -np.sum(x)


def with_words_of_mine(x):
    return np.sum(bent(x) * np.cumsum(x))


def in_factors(x):
    a = np.eye(4) * 5.0 + np.outer(x, x)
    return np.sum(np.linalg.solve(np.linalg.cholesky(a), x))


def in_quotients(x):
    return np.sum(np.exp(x) / (1.0 + x * x) / np.sum(x)) / 3.0


PROGRAMS = [in_quotients, in_words, in_place, in_turns, in_branches, with_words_of_mine, in_factors]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("way", [lambda f: f, ct.value_and_grad, ct.hessian])
def test_a_program_is_found_again(f, way):
    assert not found(way(f), X)
    assert found(way(f), X)
    assert found(way(f), X + 0.25)


def test_a_result_of_numbers_in_structures_is_found_again():
    g = ct.grad(lambda p, x: np.sum(np.tanh(p["w"] * x + p["b"])))
    p = {"w": X, "b": 0.5}
    first, second = compile(g, keep=True), compile(g, keep=True)
    first(p, X)
    assert second(p, X)["b"] == g(p, X)["b"]
    assert second.programs[0].calls is None


def test_each_branch_is_kept():
    for _ in range(2):
        compiled = compile(ct.grad(in_branches), keep=True)
        for x in (X, -X):
            assert np.array_equal(compiled(x), ct.grad(in_branches)(x))
    assert [program.calls for program in compiled.programs] == [None, None]
    assert cache_info().entries == 2


def changed_items():
    """Give what changes something that a program hangs on, by what it is."""

    def at(path, value):
        def change(module):
            *owners, name = path.split(".")
            owner = module
            for each in owners:
                owner = getattr(owner, each)
            setattr(owner, name, value)

        return change

    def element(module):
        module.TABLE[1] += 0.5

    def inside(old, new):
        return lambda module: vars(module).update(vars(made(CODE.replace(old, new))))

    yield "a number", at("SHIFT", 0.75)
    yield "the sign of zero", at("SHIFT", -0.0)
    yield "an attribute", at("MODEL.width", 0.125)
    yield "an attribute of a class", at("Model.power", 3.0)
    yield "an element", element
    yield "how an array lies", at("TABLE", np.repeat(np.arange(4.0), 2)[::2])
    yield "a helper", inside("np.sin", "np.cos")
    yield "a method", inside("* self", "+ self")
    yield "a default", inside("n=3", "n=2")
    yield "a constant of the code", inside("range(n)", "range(n + 1)")
    yield "the class of a number", at("SHIFT", np.float64(0.5))


@pytest.mark.parametrize(
    "change", [each for _, each in changed_items()], ids=[name for name, _ in changed_items()]
)
def test_what_a_function_sees_is_seen(change):
    module = made()
    assert not found(ct.value_and_grad(module.f), X)
    assert found(ct.value_and_grad(made().f), X)
    again = made()
    change(again)
    assert not found(ct.value_and_grad(again.f), X)


def test_what_says_nothing_of_what_is_computed_is_not():
    assert not found(made().f, X)
    other = CODE.replace("def helper(x):", '\n\ndef helper(x):\n    """Help."""').replace(
        "def at(self, x):", "def at(self, x: float) -> float:"
    )
    assert not found(made(other).f, X)  # a text may be looked up
    assert found(made(CODE.replace("\ndef f", "\n\n\nUNUSED = 5\n\n\ndef f")).f, X)


@pytest.mark.parametrize(
    "args",
    [(X.astype("f4"),), (X[:3],), (np.arange(8.0)[::2],), (2.5,), ([*X],), (X, 2), (X, np.int8(3))],
    ids=["dtype", "shape", "strides", "number", "list", "static", "class of a static"],
)
def test_the_form_of_arguments_is_seen(args):
    f = lambda x, n=3: np.sum(np.sin(np.asarray(x) if isinstance(x, list) else x)) * n
    f = in_first if isinstance(args[0], list) else f
    found(f, X) if not isinstance(args[0], list) else found(f, [*X, 1.0])
    assert not found(f, *args)
    assert found(f, *args)


def in_first(x):
    return np.sin(x[0]) * len(x)


def test_options_and_modes_are_seen():
    g = ct.grad(in_words)
    assert not found(g, X)
    assert not found(ct.value_and_grad(in_words), X)
    assert compile(g, keep=True, exact=False)(X) is not None
    with strict():
        assert not found(g, X)
    with np.errstate(divide="ignore"):
        assert not found(g, X)
    assert cache_info().entries == 5


def with_rule(factor):
    @primitive
    def mine(x):
        return np.asarray(x) * 2

    scalar_rule(mine, lambda y, x: factor)
    return ct.grad(lambda x: np.sum(mine(x)))


def test_a_rule_that_is_stated_otherwise_is_seen():
    assert not found(with_rule(2.0), X)
    assert found(with_rule(2.0), X)
    assert not found(with_rule(3.0), X)


@pytest.mark.parametrize("damage", ["cut", "changed", "link", "empty"])
def test_a_damaged_entry_is_made_again(empty, damage, tmp_path):
    found(in_words, X)
    (entry,) = empty.iterdir()
    data = bytearray(entry.read_bytes())
    if damage == "link":
        entry.unlink()
        (tmp_path / "other").write_bytes(data)
        entry.symlink_to(tmp_path / "other")
    else:
        data[200] ^= 1
        entry.write_bytes({"cut": data[:500], "changed": data, "empty": b""}[damage])
    assert not found(in_words, X)
    assert found(in_words, X)


def forged(empty, change):
    """Put something else into the only entry, under the name that fits."""
    (entry,) = empty.iterdir()
    key = entry.name.partition("-")[0]
    data = change(entry.read_bytes())
    entry.unlink()
    with kept.FOLDER.private() as private:
        (private / "made").write_bytes(data)
        kept.FOLDER.put(key, private / "made")


def replaced(**fields):
    return lambda data: marshal.dumps(tuple(kept.Text(*marshal.loads(data))._replace(**fields)))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"nonsense",
        lambda data: marshal.dumps((1, 2)),
        replaced(source="def in_words(x, /):\n    return 5\n"),
        replaced(rules="another"),
        replaced(scope=(("multiply", ("named", "os", "system")), ("tanh", ("unheard",)))),
        replaced(words=(("named", "numpy", "no_word"),)),
        replaced(captured=(("WEIGHTS", 10_000),)),
    ],
)
def test_an_entry_that_makes_no_sense_is_passed_by(empty, change):
    found(in_words, X)
    forged(empty, change)
    assert not found(in_words, X)


def test_an_entry_that_gives_another_result_goes_with_a_warning(empty):
    found(in_words, X)

    def wrong(data):
        text = kept.Text(*marshal.loads(data))
        scope = tuple(
            [(n, ("named", "numpy", "sinh") if n == "tanh" else x) for n, x in text.scope]
        )
        return marshal.dumps(tuple(text._replace(scope=scope)))

    forged(empty, wrong)
    with pytest.warns(RecordingWarning, match="another result"):
        assert not found(in_words, X)
    assert found(in_words, X)
    forged(empty, wrong)
    with warnings.catch_warnings():  # it is made anew before that is told
        warnings.simplefilter("error")
        with pytest.raises(RecordingWarning, match="another result"):
            compile(in_words, keep=True)(X)
    assert found(in_words, X)


def test_what_has_no_print_is_not_kept(empty):
    generator = np.random.default_rng(0)

    def f(x):
        return x * 2.0 if generator is not None else x

    assert not found(f, X)
    assert not list(empty.iterdir())


def test_what_is_only_called_so_keeps_nothing(empty):
    compile(in_words)(X)
    assert not list(empty.iterdir())


def test_a_folder_that_cannot_be_written_to_costs_nothing(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.os, "replace", full)
    assert not found(in_words, X)
    assert not found(in_words, X)


def test_a_function_that_keeps_something_is_called_once_for_each_call():
    count = []

    def f(x):
        count.append(1)
        return x * 2.0

    compiled = compile(f, keep=True)
    compiled(X)
    with pytest.warns(RecordingWarning, match="each call changes"):
        compiled(X)
    compiled(X)
    assert len(count) == 3


def test_another_process_finds_it(empty):
    text = (
        "import numpy as np, chainrules_tape as ct\n"
        "from chainrules_compile import compile\n"
        "from tests.engines.compile import test_kept as t\n"
        "for f in t.PROGRAMS:\n"
        "    g = compile(ct.value_and_grad(f), keep=True)\n"
        "    y, bar = g(t.X)\n"
        "    print(f.__name__, g.programs[0].calls is None, float(y).hex(), bar.tobytes().hex())\n"
    )
    env = {**os.environ, "CHAINRULES_COMPILE_CACHE": str(empty)}
    first, second = [
        subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, check=True)
        .stdout.decode()
        .splitlines()
        for _ in range(2)
    ]
    assert [line.split()[1] for line in first] == ["False"] * len(PROGRAMS)
    assert [line.split()[1] for line in second] == ["True"] * len(PROGRAMS)
    assert [line.split()[2:] for line in first] == [line.split()[2:] for line in second]


@pytest.mark.parametrize(
    "start, step", [(3, 300), *[pytest.param(n, 12, marks=pytest.mark.nightly) for n in range(12)]]
)
def test_programs_of_samples_are_found_by_another_process(start, step, empty):
    run = [sys.executable, "-m", "tests.engines.compile.keeping", str(start), str(step)]
    env = {**os.environ, "CHAINRULES_COMPILE_CACHE": str(empty)}
    kept, found = [
        subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    new, before = [int(word) for word in kept.splitlines()[-1].split() if word.isdigit()][:2]
    assert new
    assert kept.endswith(", 0 left\n"), kept
    assert found.endswith(f"0 kept, {new + before} found, 0 left\n"), found


def test_numbers_and_pullbacks_are_found():
    def pulled(x):
        return ct.vjp(lambda x: np.sin(x) * x, x)

    matrix = np.eye(3) + 0.5
    for f, x in (
        (ct.value_and_grad(np.sin), 2.0),
        (ct.value_and_grad(np.log), 2.0),
        (ct.grad(lambda x: np.dot(x, x)), X),
        (np.linalg.slogdet, matrix),
        (lambda x: np.linalg.qr(x), matrix),
        (pulled, X),
    ):
        compile(f, keep=True)(x)
        before = cache_info().hits
        compile(f, keep=True)(x)
        assert cache_info().hits > before


def test_a_random_program():
    SAID.clear()
    run(check_kept, 1, start=3)
    assert SAID["kept"]


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(5))
def test_random_programs(turn):
    run(check_kept, 20, start=100 + turn)
