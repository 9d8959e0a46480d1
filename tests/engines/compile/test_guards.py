"""What a compiled function looks up: seen where the contract says so, and said by name."""

from __future__ import annotations

import argparse
import collections
import copy
import ctypes
import dataclasses
import enum
import functools
import itertools
import math
import queue
import types
import warnings
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from scipy.linalg import lu_factor, lu_solve

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_compile.guards import Guards
from chainrules_py import Array, NoTangent, ignore_derivatives, primitive, rrule
from chainrules_py.extend import flatten
from chainrules_tape import grad, jvp, linearize, value_and_grad, vjp

X = np.linspace(0.1, 1.0, 5)
scale = 2.0
settings = types.ModuleType("settings_of_people")
settings.rate = 2.0


def helper(x):
    return x * scale


class Model:
    const = 5.0

    def __init__(self):
        self.rate, self.unused, self.w = 0.5, [1], np.arange(5.0)

    @property
    def twice(self):
        return 2 * self.rate

    def act(self, x):
        return np.tanh(x) * self.twice

    @staticmethod
    def bent(x):
        return np.cos(x)

    @classmethod
    def scaled(cls, x):
        return cls.const * x

    def loss(self, x):
        return np.sum(self.act(helper(x)) * self.bent(self.w)) + np.sum(self.scaled(x))


def replaced(self, x):
    return np.sin(x) * self.rate


CHANGES = {
    "attribute behind a property": lambda m: setattr(m, "rate", 0.7),
    "global of a helper": lambda m: globals().update(scale=3.0),
    "array in place": lambda m: m.w.fill(7.0),
    "array bound anew": lambda m: setattr(m, "w", np.ones(5)),
    "class attribute": lambda m: setattr(Model, "const", 6.0),
    "method": lambda m: setattr(Model, "act", replaced),
    "method of the object": lambda m: setattr(m, "act", np.sin),
    "static method": lambda m: setattr(Model, "bent", staticmethod(np.sin)),
    "static method of the object": lambda m: setattr(m, "bent", np.sin),
    "class method": lambda m: setattr(Model, "scaled", classmethod(lambda cls, x: x)),
    "class method of the object": lambda m: setattr(m, "scaled", np.sin),
}


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(Model, "const", 5.0)
    for name in ("act", "bent", "scaled"):
        monkeypatch.setattr(Model, name, vars(Model)[name])
    monkeypatch.setitem(globals(), "scale", 2.0)
    return Model()


def agrees(f, compiled, *args):
    np.testing.assert_allclose(compiled(*args)[0], f(*args)[0], rtol=1e-14)
    np.testing.assert_allclose(compiled(*args)[1], f(*args)[1], rtol=1e-14)


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_the_code_names_is_seen(model, change, target):
    f = value_and_grad(model.loss)
    compiled = compile(f, target=target)
    agrees(f, compiled, X)
    CHANGES[change](model)
    agrees(f, compiled, X)
    assert len(compiled.programs) == 2


class Default:
    rate = 2.0
    shift = None

    @classmethod
    def doubled(cls):
        return 2.0 * cls.rate

    @functools.cached_property
    def once(self):
        return 3.0


class Inherited(Default):
    @primitive
    def scaled(self, x):
        return self.rate * x

    @primitive
    def __call__(self, x):
        return self.rate * x


@dataclasses.dataclass
class Scaled:
    w: np.ndarray
    rate: ClassVar[float] = 2.0

    def loss(self, x):
        return self.rate * np.sum(self.w * x)


INHERITED, SCALED, NAMES = Inherited(), Scaled(np.ones(5)), {"w"}
LOOKED_UP = {
    "an attribute of a base": (lambda x: Inherited.rate * np.sum(x), (Default, "rate")),
    "an attribute over one of a base": (lambda x: Inherited.rate * np.sum(x), (Inherited, "rate")),
    "what a class method looks up": (lambda x: Inherited.doubled() * np.sum(x), (Default, "rate")),
    "an attribute that was None": (
        lambda x: np.sum(x) * (INHERITED.shift is None or INHERITED.shift),
        (Default, "shift"),
    ),
    "what a primitive looks up": (lambda x: np.sum(INHERITED.scaled(x)), (INHERITED, "rate")),
    "what a primitive that is called looks up": (
        lambda x: np.sum(INHERITED(x)),
        (INHERITED, "rate"),
    ),
    "a cached property": (lambda x: INHERITED.once * np.sum(x), (INHERITED, "once")),
    "an attribute of an argument's class": (Scaled.loss, (Scaled, "rate")),
}


@pytest.mark.parametrize("name", LOOKED_UP)
def test_what_a_class_holds_is_seen(name, monkeypatch):
    f, (owner, key) = LOOKED_UP[name]
    args = (SCALED, X) if f is Scaled.loss else (X,)
    if key == "rate":
        monkeypatch.setattr(owner, key, 1.0, raising=False)
    compiled = compile(f)
    assert compiled(*args) == f(*args)
    monkeypatch.setattr(owner, key, 5.0)
    assert compiled(*args) == f(*args)
    assert len(compiled.programs) == 2


def test_members_of_a_small_set_are_compared():
    compiled = compile(f := lambda x: np.sum(x * x) if "w" in NAMES else np.sum(x))
    for name in ("w", "b", "w"):
        NAMES.clear()
        NAMES.add(name)
        assert compiled(X) == f(X)
    assert len(compiled.programs) == 2


def test_what_an_object_of_a_class_without_a_module_holds_is_seen():
    space = {}
    exec("class Net:\n    def loss(self, x): return self.rate * (x * self.w).sum()", space)
    net = space["Net"]()
    net.rate, net.w = 2.0, np.ones(5)
    compiled = compile(lambda x: net.loss(x))
    assert compiled(X) == net.loss(X)
    for name, value in (("rate", 3.0), ("w", np.arange(5.0))):
        setattr(net, name, value)
        assert compiled(X) == net.loss(X)


def test_a_function_that_an_object_has_instead_of_a_method_is_seen(model):
    model.act = np.sin
    f = value_and_grad(model.loss)
    compiled = compile(f)
    agrees(f, compiled, X)
    for act in (np.cos, None):
        if act is None:
            del model.act
        else:
            model.act = act
        agrees(f, compiled, X)
    assert len(compiled.programs) == 3


def pull(model):
    return model.pulled * model.w


class Derived(Model):
    pulled, bias = 2.0, 1.0

    def loss(self, x):
        try:
            kept = self.mask
        except AttributeError:
            kept = 1.0
        return super().loss(x) * kept + np.sum(pull(self)) * x[0]


class Fields(dict):
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


LATER = {
    "attribute that a method of the base class reads": lambda m: setattr(m, "rate", 0.7),
    "attribute that a function reads": lambda m: setattr(m, "pulled", 3.0),
    "attribute that was absent": lambda m: setattr(m, "mask", 0.5),
    "method": lambda m: setattr(m, "act", np.sin),
}


@pytest.mark.parametrize("change", LATER)
def test_what_code_that_gets_the_object_names_is_seen(change):
    model = Derived()
    f = value_and_grad(model.loss)
    compiled = compile(f)
    agrees(f, compiled, X)
    LATER[change](model)
    agrees(f, compiled, X)
    assert len(compiled.programs) == 2


class Layer:
    def __init__(self, w=0.5):
        self.w, self.rate = np.full(5, w), 1.0

    def __call__(self, x):
        return self.forward(x)

    def __getitem__(self, i):
        return self.w[i] * self.rate

    def __enter__(self):
        return self.w * self.rate

    def __exit__(self, *reason):
        pass

    def __matmul__(self, x):
        return np.sum(self.w * x) * self.rate


class Sine(Layer):
    def forward(self, x):
        return np.sin(self.w * x) * self.rate


class Stack(Layer):
    def __init__(self):
        self.layers, self.named = [Sine(), Sine(0.7)], {"last": Sine(0.9)}
        self.calls = (self.layers[0].forward,)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return np.sum(self.named["last"](x)) + np.sum(self.calls[0](x))


def sized(w):
    return w * np.ones(5)


class Built(Sine):
    def __init__(self):
        super().__init__()
        self.w = sized(self.w)

    def __call__(self, x):
        return sized(super().__call__(x))


def entered(layer, x):
    with layer as w:
        return np.sum(w * x)


LAYER, STACK, BUILT = Sine(), Stack(), Built()
LED_TO = {
    "inherited __call__": (lambda x: np.sum(LAYER(x)), LAYER),
    "index": (lambda x: np.sum(LAYER[1:] * x[1:]), LAYER),
    "operator": (lambda x: LAYER @ x, LAYER),
    "with": (lambda x: entered(LAYER, x), LAYER),
    "object in a list": (lambda x: STACK(x), STACK.layers[1]),
    "attributes of an object in a list": (
        lambda x: np.sum(STACK.layers[1].w * x) * STACK.layers[1].rate,
        STACK.layers[1],
    ),
    "object in a dict": (lambda x: STACK(x), STACK.named["last"]),
    "method in a tuple": (lambda x: np.sum(STACK.calls[0](x)), STACK.layers[0]),
    "methods of bases, which functions have too": (
        lambda x: np.sum(BUILT(x) * Built().w),
        BUILT,
    ),
}


@pytest.mark.parametrize("way", LED_TO)
def test_what_an_object_reads_in_methods_that_are_not_named_is_seen(way):
    f, layer = LED_TO[way]
    f = value_and_grad(f)
    compiled = compile(f)
    agrees(f, compiled, X)
    layer.w = layer.w * 1.5
    agrees(f, compiled, X)
    layer.rate *= 1.25
    agrees(f, compiled, X)
    assert len(compiled.programs) == 3


class Value:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Holder:
    def __init__(self):
        self.__dict__["known"] = {"w": Value(np.ones(5))}

    def __getattr__(self, name):
        x = self.__dict__["known"][name]
        return x.value if isinstance(x, Value) else x


def test_attributes_that_a_method_finds_are_seen():
    holder = Holder()
    f = value_and_grad(lambda x: np.sum(holder.w * x))
    compiled = compile(f)
    agrees(f, compiled, X)
    holder.known["w"].value = np.zeros(5)
    agrees(f, compiled, X)
    assert len(compiled.programs) == 2


class Layered(Holder):
    def __init__(self, **layers):
        super().__init__()
        self.known.update(layers)

    def loss(self, x):
        return np.sum(self.layer(x) + self.layers[0](x))


class Growing:
    """Settings that make those that they lack."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Growing())


def test_objects_that_make_others_without_end_are_no_program():
    held = Growing()
    held.optim.rate = 3.0
    compiled = compile(value_and_grad(lambda x: x * held.optim.rate))
    with pytest.warns(RecordingWarning, match="make others without end"):
        assert compiled(2.0) == (6.0, 3.0)
    held.optim.rate = 5.0
    assert compiled(2.0) == (10.0, 5.0)


class Slotted:
    __slots__ = ("w",)

    def __init__(self):
        self.w = np.ones(5)

    def __call__(self, x):
        return x * self.w


class Found(Holder):
    def __call__(self, x):
        return x * self.w


class Nested(Holder):
    def __init__(self):
        super().__init__()
        self.known["inner"] = Slotted()

    def __call__(self, x):
        return self.inner(x)


def _renewed(layer):
    at = layer.known["inner"] if isinstance(layer, Nested) else layer
    if isinstance(at, Found):
        at.known["w"].value = at.w * 2.0
    else:
        at.w = at.w * 2.0


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_attributes_of_an_object_of_another_package_are_seen(target):
    model = np.polynomial.Polynomial([1.0, 2.0, 3.0])
    compiled = compile(grad(lambda x: np.sum(x * model.coef)), target=target)
    for k in (1.0, 2.0, 5.0):
        model.coef = k * np.arange(1.0, 4.0)
        assert compiled(np.ones(3)).tolist() == [k, 2.0 * k, 3.0 * k]


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("layer", [Slotted, Found, Nested])
def test_layers_that_a_method_finds_in_a_dict_are_followed(layer, target):
    model = Layered(layer=layer(), layers=[layer()])
    compiled, h = compile(grad(model.loss), target=target), 1e-6
    for change in (model.layer, model.layers[0], None):
        steps = [(model.loss(X + h * e) - model.loss(X - h * e)) / (2 * h) for e in np.eye(5)]
        np.testing.assert_allclose(compiled(X), steps, rtol=1e-6)
        if change is not None:
            _renewed(change)
    assert len(compiled.programs) == 3


def test_functions_and_objects_in_a_container_are_compared_by_identity():
    chosen = {"f": np.sin, "layer": Sine()}
    f = value_and_grad(lambda x: np.sum(chosen["f"](chosen["layer"](x))))
    compiled = compile(f)
    agrees(f, compiled, X)
    chosen["f"] = np.cos
    agrees(f, compiled, X)
    chosen["layer"] = Sine(0.2)
    agrees(f, compiled, X)
    assert len(compiled.programs) == 3


class Way(enum.Enum):
    UP = 1


class Settings(dict):
    def __init__(self):
        super().__init__(rate=0.5)
        self.w = np.ones(5)

    def loss(self, x):
        return np.sum(self.w * x) * self["rate"]


class Marked(np.ndarray):
    pass


class Pair(NamedTuple):
    w: np.ndarray
    rate: float


PAIRS = [(np.ones(5), 0.5), (np.full(5, 2.0), 0.25)]
WHERE = {
    "key of an enum": (
        lambda known, x: np.sum(known[Way.UP] * x),
        lambda: {Way.UP: np.ones(5)},
        lambda known: known.update({Way.UP: np.zeros(5)}),
    ),
    "key None": (
        lambda known, x: known[None] * np.sum(x),
        lambda: {None: 0.5},
        lambda known: known.update({None: 0.7}),
    ),
    "ordered dict": (
        lambda known, x: known["rate"] * np.sum(x),
        lambda: collections.OrderedDict(rate=0.5),
        lambda known: known.update(rate=0.7),
    ),
    "full deque of pairs": (
        lambda known, x: sum(np.sum(w * x) ** 2 * rate for w, rate in known),
        lambda: collections.deque(PAIRS, maxlen=2),
        lambda known: known.append((np.full(5, 3.0), 1.0)),
    ),
    "list of pairs": (
        lambda known, x: sum(np.sum(w * x) ** 2 * rate for w, rate in known),
        lambda: [*PAIRS],
        lambda known: known.reverse() or known.__setitem__(0, PAIRS[0]),
    ),
    "entry of a dict of its own class": (
        lambda known, x: known.loss(x),
        Settings,
        lambda known: known.update(rate=0.7),
    ),
    "attribute of a dict of its own class": (
        lambda known, x: known.loss(x),
        Settings,
        lambda known: setattr(known, "w", np.zeros(5)),
    ),
    "array of a namedtuple": (
        lambda known, x: np.sum(known.w * x) * known.rate,
        lambda: Pair(np.ones(5), 0.5),
        lambda known: known.w.fill(2.0),
    ),
    "array of its own class": (
        lambda known, x: np.sum(np.sin(known) * x),
        lambda: np.ones(5).view(Marked),
        lambda known: known.fill(2.0),
    ),
}


@pytest.mark.parametrize("where", WHERE)
def test_what_a_container_or_an_array_of_another_class_holds_is_seen(where):
    loss, make, change = WHERE[where]
    known = make()
    f = value_and_grad(lambda x: loss(known, x))
    compiled = compile(f)
    agrees(f, compiled, X)
    change(known)
    agrees(f, compiled, X)
    assert len(compiled.programs) == 2


def test_attributes_that_an_object_looks_up_by_itself_are_seen():
    fields = Fields(rate=0.5, w=np.ones(5))
    f = value_and_grad(lambda x: np.sum(x * fields.w) * fields.rate)
    compiled = compile(f)
    agrees(f, compiled, X)
    fields.rate = 0.7
    agrees(f, compiled, X)
    fields.w = np.zeros(5)
    agrees(f, compiled, X)
    assert len(compiled.programs) == 3


def test_arrays_in_a_partial_are_seen():
    w, rates = np.ones(5), {"rate": 0.5}
    f = value_and_grad(functools.partial(lambda w, r, x: np.sum(w * x) * r["rate"], w, rates))
    compiled = compile(f)
    agrees(f, compiled, X)
    w.fill(3.0)
    agrees(f, compiled, X)
    rates["rate"] = 0.7
    agrees(f, compiled, X)
    assert len(compiled.programs) == 3


def test_a_class_method_is_the_same_at_each_call():
    compiled = compile(lambda x: np.sum(Model.scaled(x)))
    for _ in range(3):
        compiled(X)
    (program,) = compiled.programs
    assert program.run(X) == compiled(X)


def test_what_the_code_does_not_name_is_not_compared(model):
    model.unused = [object() for _ in range(100_000)]
    compiled = compile(model.loss)
    compiled(X)
    model.unused = []
    compiled(X)
    assert len(compiled.programs) == 1
    assert "unused" not in compiled.explain()
    assert "guard        self.w is" in compiled.explain()


def tree(depth):
    return types.SimpleNamespace(w=1.0, parts=[tree(depth - 1) for _ in range(2)] if depth else [])


def table(n):
    return pytest.importorskip("pandas").DataFrame({"a": np.ones(n), "b": ["text"] * n})


MUCH = {
    "dict": lambda n: dict.fromkeys(range(n), 1.0),
    "objects": lambda n: [Model() for _ in range(n)],
    "forest": lambda n: [tree(5) for _ in range(n)],
    "table": table,
    "array": np.ones,
}


@pytest.mark.parametrize("kind", MUCH)
def test_what_is_compared_does_not_grow_with_what_is_captured(kind):
    """A table of 1e6 rows took 534 ms a call, a forest of 100 trees 36 ms."""
    counts = []
    for n in (50, 400):
        model = Model()
        model.held = MUCH[kind](n)
        compiled = compile(lambda x, model=model: np.sum(x * model.w) * len(model.held))
        assert compiled(X) == np.sum(X * model.w) * n
        guards = compiled.programs[0].guards
        counts.append((len(guards.lookups), sum([part.size for _, part, _ in guards.samples])))
    assert counts[0][0] == counts[1][0] < 12
    assert max(counts[0][1], counts[1][1]) < 16


def closure(k):
    def loss(x):
        return np.sum(x**2) * k

    def put(value):
        nonlocal k
        k = value

    return loss, put


def test_a_cell_is_compared_by_class_and_value():
    loss, put = closure(2.0)
    compiled, f = compile(value_and_grad(loss)), value_and_grad(loss)
    for value, programs in ((2.0, 1), (3.0, 2), (2.0, 2), (3, 3)):
        put(value)
        agrees(f, compiled, X)
        assert len(compiled.programs) == programs


HELD = {
    "dict": ({"w": np.ones(5)}, lambda p: p.update(w=p["w"] * 3.0), lambda p, x: x * p["w"]),
    "in place": ({"w": np.ones(5)}, lambda p: p["w"].fill(4.0), lambda p, x: x * p["w"]),
    "list": ([1.0, 2.0], lambda p: p.__setitem__(1, 5.0), lambda p, x: x * p[1]),
    "baked": ([np.ones(5)], lambda p: p[0].fill(3.0), lambda p, x: x * np.log(p[0] + 1.0)),
}


@pytest.mark.parametrize("kind", HELD)
def test_containers_are_compared_one_level_deep(kind):
    held, change, use = HELD[kind]
    f = value_and_grad(lambda x: np.sum(use(held, x)))
    compiled = compile(f)
    for programs in (1, 2):
        agrees(f, compiled, X)
        assert len(compiled.programs) == programs
        change(held)


GROWN = {
    "list": ([1.0], lambda p: p.append(2.0), sum),
    "dict": ({"a": 1.0}, lambda p: p.update(b=2.0), lambda p: sum(p.values())),
    "set": ({1.0}, lambda p: p.add(2.0), sum),
    "entry": ({"n": 1}, lambda p: p.update(n=p["n"] + 1), lambda p: p["n"]),
    "large array": (np.ones(2000), lambda p: np.add(p, 1.0, out=p), lambda p: p[3]),
    "namespace": (
        argparse.Namespace(rate=1.0),
        lambda p: setattr(p, "rate", 3.0),
        lambda p: p.rate,
    ),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("way", ["captured", "static"])
@pytest.mark.parametrize("kind", GROWN)
def test_a_container_that_has_grown_or_changed_is_another(kind, way, target):
    held, change, use = copy.deepcopy(GROWN[kind][0]), *GROWN[kind][1:]
    if way == "static":
        f = compile(lambda x, p: x * use(p), static="p", target=target)
    else:
        of = compile(lambda x: x * use(held), target=target)
        f = lambda x, _: of(x)
    for _ in range(2):
        assert np.array_equal(f(X, held), X * use(held))
        change(held)
    assert np.array_equal(f(X, held), X * use(held))


def test_the_attributes_of_what_an_argument_holds_are_looked_up():
    outer, inner = Model(), Model()
    outer.inner = inner
    compiled = compile(lambda x, m: np.sum(x * m.inner.rate))
    for inner.rate in (1.0, 2.0):
        assert compiled(X, outer) == np.sum(X * inner.rate)


SIGNED = [(0.0, -0.0), (0j, -0j), (np.float64(0.0), np.float64(-0.0)), ((0.0,), (-0.0,))]
SIGNED += [({"a": [0.0]}, {"a": [-0.0]}), (complex(-1, 0.0), complex(-1, -0.0)), ([1], [True])]


@pytest.mark.parametrize("pair", SIGNED)
def test_numbers_that_are_equal_are_compared_by_their_bits(pair):
    def use(p):
        found = flatten(p)[0][0]
        return repr(found) == repr(first)

    first = flatten(pair[0])[0][0]
    static = compile(lambda x, p: x * use(p), static="p")
    given = [np.array_equal(static(X, p), X * use(p)) for p in pair]
    held = argparse.Namespace()
    captured = compile(lambda x: x * use(held.p))
    for held.p in pair:
        given.append(np.array_equal(captured(X), X * use(held.p)))
    assert all(given)


def weighted(x, m):
    return x * m.w * settings.rate


@pytest.mark.parametrize("given", [True, False])
def test_objects_that_are_handed_on_are_looked_up_as_self_is(given):
    model = Model()
    f = value_and_grad(lambda x, m: np.sum(weighted(x, m if given else model)))
    compiled = compile(f)
    for k in (1.0, 2.0, 3.0):
        model.w = model.w * k
        agrees(f, compiled, X, model)
    settings.rate += 1.0
    agrees(f, compiled, X, model)
    assert len(compiled.programs) == 4


# ---------------------------------- what runs as it is, and is said


class Keeping:
    def __init__(self):
        self.log, self.last, self.w, self.seen = [], None, np.ones(5), np.zeros(5)

    def appending(self, x):
        value = np.sum(x * self.w)
        self.log.append(value)
        return value

    def storing(self, x):
        self.last = np.sum(x * self.w)
        return self.last

    def writing(self, x):
        self.seen += 1.0
        return np.sum(x * self.seen)


@pytest.mark.parametrize(
    "method, name", [("appending", "log"), ("storing", "last"), ("writing", "seen")]
)
def test_what_is_written_outside_is_said_by_name_and_written_once(method, name):
    ours, theirs = Keeping(), Keeping()
    compiled = compile(getattr(ours, method))
    compiled(X)
    with pytest.warns(RecordingWarning, match=f"each call changes self.{name}"):
        compiled(X)
    for _ in range(4):
        compiled(X)  # said once: a warning is an error here
    for _ in range(6):
        getattr(theirs, method)(X)
    assert ours.log == theirs.log
    assert ours.last == theirs.last
    assert np.array_equal(ours.seen, theirs.seen)
    assert compiled.as_it_is


@pytest.mark.parametrize("make", [lambda f: f, value_and_grad])
def test_a_loop_that_keeps_a_history_is_never_recorded(make, monkeypatch):
    """Its steps were recorded anew, twice at least."""
    recorded, model, history = [], Model(), []
    monkeypatch.setattr(Guards, "put_back", lambda self: recorded.append(self))

    def step(x):
        value = np.sum(x * model.w)
        history.append(1.0)
        return value

    compiled = compile(make(step))
    compiled(X)
    with pytest.warns(RecordingWarning, match="each call changes history"):
        compiled(X)
    for _ in range(8):
        compiled(X)
    assert history == [1.0] * 10
    assert not recorded


history: list[object] = []


def keeping(x):
    history.append(x * 2.0)
    return np.sum(x * x)


KEEPS = {
    "grad": lambda: grad(keeping)(X),
    "vjp": lambda: vjp(keeping, X),
    "jvp": lambda: jvp(keeping, (X,), (X,)),
    "linearize": lambda: linearize(keeping, X),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("keep", KEEPS)
def test_a_traced_value_whose_differentiation_is_over_is_an_object_like_any_other(keep, target):
    history.clear()
    KEEPS[keep]()
    compiled = compile(
        value_and_grad(lambda x: np.sum(x**3) + 0 * len(history)), target=target, strict=True
    )
    for k in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(compiled(k * X)[1], 3 * (k * X) ** 2, rtol=1e-14)
    assert len(compiled.programs) == 1
    history.clear()


def test_an_argument_that_holds_a_traced_value_whose_differentiation_is_over_is_named():
    history.clear()
    grad(keeping)(X)
    compiled = compile(value_and_grad(lambda x, state: np.sum(x**3) + 0 * len(state)))
    with pytest.warns(RecordingWarning, match="state_0 is a Variable"):
        compiled(X, history)
    with pytest.raises(RecordingError, match="state_0 is a Variable"):
        compile(grad(lambda x, state: np.sum(x**3)), strict=True)(X, history)
    history.clear()


def test_a_recorded_value_that_stays_in_a_container_is_an_object_like_any_other():
    history.clear()
    model = Model()
    model.parts = {"of": {"it": history}}

    def deep(x):
        model.parts["of"]["it"].append(x * 2.0)
        return np.sum(x)

    with pytest.warns(RecordingWarning, match="lives on"):
        compile(deep)(X)
    compiled = compile(lambda x: np.sum(x**3) + 0 * len(history), strict=True)
    for _ in range(2):
        compiled(X)
    assert len(compiled.programs) == 1
    history.clear()


def test_a_captured_value_that_is_differentiated_is_named():
    found = []

    def f(a):
        inner = compile(lambda x: np.sum(x * a), strict=True)
        found.append(inner)
        return inner(X)

    np.testing.assert_allclose(grad(f)(2.0), np.sum(X))
    assert "a is being differentiated" in found[0].explain()
    assert not found[0].as_it_is


class Naming:
    def loss(self, x):
        self.best = np.sum(x) * 2.0
        return self.best


def test_an_attribute_that_was_not_there_is_said():
    naming = Naming()
    compiled = compile(naming.loss)
    compiled(X)
    with pytest.warns(RecordingWarning, match=r"each call changes self\.best"):
        compiled(2 * X)
    assert naming.best == np.sum(2 * X) * 2.0


def test_a_traced_value_that_is_stored_is_said():
    keeping = Keeping()
    compiled = compile(value_and_grad(keeping.storing))
    compiled(X)
    with pytest.warns(RecordingWarning, match=r"each call changes self\.last"):
        compiled(X)


def _by_default(x, held={}):  # noqa: B006
    held[len(held)] = x
    return np.sum(x) * len(held)


def _by_keyword(x, *, held=[]):  # noqa: B006
    held.append(x)
    return np.sum(x) * len(held)


def _counted(held, x):
    held.k = getattr(held, "k", 0) + 1
    return np.sum(x) * held.k


OF_PASSED = {
    "a default": lambda: copy_of(_by_default),
    "a default by keyword": lambda: copy_of(_by_keyword),
    "a default of a helper": lambda: functools.partial(
        lambda helper, x: 2.0 * helper(x), copy_of(_by_default)
    ),
    "an argument of a partial": lambda: functools.partial(_counted, types.SimpleNamespace()),
}


def copy_of(f):
    """Copy a function with its defaults, which it writes to."""
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__)
    made.__defaults__ = copy.deepcopy(f.__defaults__)
    made.__kwdefaults__ = copy.deepcopy(f.__kwdefaults__)
    return made


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", OF_PASSED)
def test_what_a_function_writes_to_what_it_is_passed_is_written_once(name, target):
    plain, compiled = OF_PASSED[name](), compile(OF_PASSED[name](), target=target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        for _ in range(4):
            assert compiled(X) == plain(X)


def test_what_is_passed_beforehand_is_compared():
    scaled, items = types.SimpleNamespace(k=1.0), [1.0]
    calls = [
        compile(grad(lambda x, held=scaled: np.sum(x * held.k))),
        compile(functools.partial(lambda held, x: x * held.k, scaled)),
        compile(functools.partial(lambda held, x: np.ones(5) * sum(held), items)),
    ]
    for f in calls:
        f(np.ones(5))
    scaled.k = 5.0
    items.append(4.0)
    for f in calls:
        np.testing.assert_array_equal(f(np.ones(5)), 5.0 * np.ones(5))


def test_the_order_of_a_captured_dict_is_compared():
    held = {"a": 1.0, "b": 2.0}
    f = compile(lambda x: np.concatenate([x * k for k in held.values()]))
    f(np.ones(1))
    held["a"] = held.pop("a")
    np.testing.assert_array_equal(f(np.ones(1)), [2.0, 1.0])


def _decays(y):
    k = math.exp(-y[0])
    y += 1.0
    return y * k


def _swaps(y):
    if float(y[0]) < 5.0:
        y[0], y[1] = y[1], y[0]
    return np.sum(y)


def _grows(y):
    y += 1.0
    return y * 2.0


def _by_another_name(y):
    z = np.asarray(y)
    z *= 3.0
    return np.sum(y * y)


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize(
    "f, static", [(_decays, ()), (_swaps, ()), (_grows, ("y",)), (_by_another_name, ())]
)
def test_an_argument_that_is_static_is_written_to_once_in_a_call(f, static, target):
    compiled = compile(f, target=target, static=static)
    for _ in range(3):
        x, y = X.copy(), X.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecordingWarning)
            np.testing.assert_array_equal(compiled(y), f(x))
        np.testing.assert_array_equal(y, x)
    assert "each call changes y" in compiled.explain()


def test_a_memory_that_is_filled_once_is_no_obstacle():
    class Cached:
        c = None

        def loss(self, x):
            if self.c is None:
                self.c = np.ones(5) * 2
            return np.sum(x * self.c)

    compiled = compile(value_and_grad(Cached().loss))
    for _ in range(3):
        compiled(X)
    assert len(compiled.programs) == 1


MOVING = {
    "iterator": lambda: iter(range(100)).__next__,
    "count": lambda: itertools.count().__next__,
    "generator": lambda: (k for k in range(100)).__next__,
    "queue": lambda: [queue.SimpleQueue(), queue.SimpleQueue()][0].qsize,
    "random numbers": lambda: np.random.default_rng(0).normal,
}


@pytest.mark.parametrize("kind", ["iterator", "count", "generator", "random numbers"])
def test_what_gives_something_else_each_time_is_found_before_it_is_used(kind):
    take, same = MOVING[kind](), MOVING[kind]()
    compiled = compile(lambda x: x * 0.0 + take())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = [compiled(X)[0] for _ in range(4)]
    assert found == [same() for _ in range(4)]
    assert any(["runs as it is" in str(w.message) for w in said])
    assert not compiled.programs


def test_what_is_another_each_time_is_said_after_three_recordings():
    model = Keeping()
    step = compile(value_and_grad(lambda x: np.sum(x * model.w)))
    for _ in range(3):
        model.w = model.w - 0.1 * step(X)[1]
    with pytest.warns(RecordingWarning, match=r"3 times for too few calls.*model\.w is another"):
        step(X)
    for _ in range(3):
        model.w = model.w - 0.1 * step(X)[1]
    assert len(step.programs) == 3
    assert step.as_it_is


def test_other_forms_are_no_row():
    compiled = compile(np.sum)
    for n in range(1, 12):
        compiled(np.ones(n))
    assert len(compiled.programs) == 11


# ---------------------------------- never an error where the tape is right

DATA = {
    "asarray": lambda x, y: x * np.asarray(y),
    "array": lambda x, y: x * np.array(y, float),
    "columns": lambda x, y: x * np.c_[y, y].T,
    "row": lambda x, y: x * np.r_[y[1:], 0],
    "largest": lambda x, y: x * float(y.max()),
    "each": lambda x, y: x * np.vectorize(lambda v: v + 1)(y),
}


@pytest.mark.filterwarnings("error::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize("name", DATA)
def test_small_data_of_which_plain_numbers_are_needed(name):
    f = value_and_grad(lambda x, y: np.sum(DATA[name](x, y)))
    compiled, y = compile(f), np.arange(5.0) + 1
    for k in (1.0, 2.0, 1.0):
        agrees(f, compiled, X, k * y)
    y[1] = 9.0
    agrees(f, compiled, X, y)
    by_value = name in ("array", "largest")  # the others hold elements of what is noted
    assert len(compiled.programs) == (3 if by_value else 1)


def test_large_data_of_which_plain_numbers_are_needed_run_as_they_are():
    f = value_and_grad(lambda x, y: np.sum(x * np.asarray(y)[:5]))
    compiled = compile(f)
    with pytest.warns(RecordingWarning, match=r"test_guards.py:\d+: np\.asarray\(y\)\n  use y"):
        agrees(f, compiled, X, np.arange(5000.0))
    with pytest.raises(RecordingError, match="does not become an array"):
        compile(f, strict=True)(X, np.arange(5000.0))


def test_a_constant_of_what_is_differentiated_is_never_baked_in():
    f = value_and_grad(lambda x: np.sum(x) * float(ignore_derivatives(x)[0]))
    compiled = compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        for k in (1.0, 2.0, 3.0, 4.0, 1.0):
            agrees(f, compiled, k * X)


@primitive
def scaled_by(x, table):
    return x * table["rate"]


libm = ctypes.CDLL(None)
libm.cbrt.restype, libm.cbrt.argtypes = ctypes.c_double, [ctypes.c_double]


@primitive
def by_ctypes(x, _):
    return np.array([libm.cbrt(float(v)) for v in x])


@primitive
def by_factors(x, factors, trans):
    return lu_solve(factors, np.asarray(x), trans=trans)


@rrule.register(by_factors)
def by_factors_rrule(x: Array, factors: object, trans: int):
    y = by_factors(x, factors, trans)
    return y, lambda t: (by_factors(t, factors, 1 - trans), NoTangent(), NoTangent())


@rrule.register(by_ctypes)
def by_ctypes_rrule(x: Array, other: object):
    y = by_ctypes(x, other)
    return y, lambda t: (t / (3 * y * y), NoTangent())


GIVEN = {
    "number of the standard library": (lambda x, dt: x * math.exp(-dt), lambda k: 0.1 * k),
    "generator": (lambda x, rng: x * rng.normal(size=5), np.random.default_rng),
    "table": (lambda x, table: x * table["a"].to_numpy(), lambda k: table(5)),
    "in a primitive, ctypes": (by_ctypes, lambda k: None),
    "in a primitive, factors": (
        lambda x, lu: by_factors(x, lu, 0),
        lambda k: lu_factor(np.eye(5) * k + 1.0),
    ),
}


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", GIVEN)
def test_what_else_is_given_is_never_an_error(name, target):
    f, make = GIVEN[name]
    g = value_and_grad(lambda x, given: np.sum(f(x, given) * x))
    compiled = compile(g, target=target)
    for k in (1, 2, 1, 3):
        for found, wanted in zip(compiled(k * X, make(k)), g(k * X, make(k)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert compiled.as_it_is == (name == "generator")


def noisy(x, rng, more):
    return np.sum(x * rng.standard_normal(5) + more.random())


def with_defaults(rng, more):
    def f(x, rng=rng, *, more=more):
        return noisy(x, rng, more)

    return lambda x: f(x)


DRAWING = {
    "defaults": with_defaults,
    "a partial": lambda rng, more: functools.partial(noisy, rng=rng, more=more),
    "a partial inside": lambda rng, more: compiled_around(
        functools.partial(noisy, rng=rng, more=more)
    ),
    "cells": lambda rng, more: lambda x: noisy(x, rng, more),
}


def compiled_around(f):
    return lambda x: f(x)


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize("name", DRAWING)
def test_generators_draw_as_they_do_without(name):
    """Those of defaults and partials were left where the recording had brought them."""
    f, g = [DRAWING[name](np.random.default_rng(5), np.random.default_rng(6)) for _ in range(2)]
    compiled = compile(value_and_grad(f))
    for _ in range(4):
        (y, slope), (value, truth) = compiled(X), value_and_grad(g)(X)
        assert y == value
        np.testing.assert_array_equal(slope, truth)


def test_a_function_in_a_result_runs_as_it_is_with_the_line_to_write():
    compiled = compile(lambda x: (np.sum(x), lambda t: t * x))
    with pytest.warns(RecordingWarning, match="for the pullback of f"):
        assert compiled(X)[1](2.0)[0] == 2.0 * X[0]


def test_a_dict_that_a_primitive_takes():
    f = lambda x, table: np.sum(scaled_by(x, table) * 2.0)
    compiled = compile(f)
    for rate in (2.0, 3.0):
        assert compiled(X, {"rate": rate}) == f(X, {"rate": rate})
    assert grad(lambda x: np.sum(x))(X)[0] == 1.0


FACTOR = 1.0


class Vector:
    K = 2.0

    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Vector(self.v + FACTOR * other.v)

    @property
    def total(self):
        return FACTOR * np.sum(self.v) * self.K


def scaled(x):
    return FACTOR * WEIGHTS * x


WEIGHTS = np.ones(5)
MADE = {
    "an operator of a class": lambda x: np.sum((Vector(x) + Vector(x)).v),
    "a property of a class": lambda x: Vector(x).total,
}


@pytest.mark.parametrize("name", MADE)
def test_what_a_class_names_is_compared(name, monkeypatch):
    f = value_and_grad(MADE[name])
    compiled = compile(f)
    agrees(f, compiled, X)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    agrees(f, compiled, X)
    monkeypatch.setattr(Vector, "K", 3.0)
    agrees(f, compiled, X)


@pytest.mark.parametrize("static", [(), ("model",)])
def test_what_a_function_that_is_an_argument_names_is_compared(static, monkeypatch):
    f = lambda x, model: np.sum(model(x) ** 2)
    compiled = compile(f, static=static)
    monkeypatch.setitem(globals(), "WEIGHTS", np.ones(5))
    assert compiled(X, scaled) == pytest.approx(f(X, scaled))
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert compiled(X, scaled) == pytest.approx(f(X, scaled))
    WEIGHTS[:] = 3.0
    assert compiled(X, scaled) == pytest.approx(f(X, scaled))


class Params(dict):
    pass


class Numbers(list):
    pass


class ByName(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Copies:
    """Settings that are handed out as copies."""

    def __init__(self, **known):
        self.known = known

    def __getattr__(self, name):
        try:
            found = object.__getattribute__(self, "__dict__")["known"][name]
        except KeyError:
            raise AttributeError(name) from None
        return list(found) if isinstance(found, list) else found


HOLDERS = {
    "method of a dict": (lambda: Params(w=3.0), lambda p, s: p.get("w") * s, True),
    "values of a dict": (lambda: Params(w=3.0), lambda p, s: sum(p.values()) * s, True),
    "method of a list": (lambda: Numbers([3.0]), lambda p, s: p.index(3.0) + s, True),
    "names and methods": (lambda: ByName(w=3.0), lambda p, s: sum(p.values()) * s + p.w, True),
    "copies": (lambda: Copies(w=[3.0]), lambda p, s: sum(p.w) * s, False),
    "numbers": (lambda: Copies(w=3.0), lambda p, s: p.w * s, False),
}


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.filterwarnings("ignore")
def test_a_captured_object_is_as_it_was_after_the_recording(name):
    """What an attribute gives anew at each look-up is stored nowhere, and so not put back."""
    make, f, is_program = HOLDERS[name]
    held, other = make(), make()
    before = dict(vars(held)), list(held) if isinstance(held, dict) else None
    compiled = compile(lambda s: f(held, s), strict=is_program)
    for s in (2.0, 2.0, 3.0):
        assert compiled(s) == f(other, s)
    assert vars(held) == before[0]
    assert before[1] is None or list(held) == before[1]
    for each in (held, other):
        if isinstance(each, Numbers):
            each.insert(0, 7.0)
        else:
            held_in = each.known if isinstance(each, Copies) else each
            held_in["w"] = [5.0] if name == "copies" else 5.0
    assert compiled(2.0) == f(other, 2.0)
    assert f(held, 2.0) == f(other, 2.0)


class Endless:
    """An object of which every attribute is another such object."""

    def __init__(self, path=""):
        self.path = path

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Endless(f"{self.path}.{name}")


def test_what_an_object_gives_without_end_is_not_followed():
    held = Endless()
    compiled = compile(lambda x: np.sum(x * x) * (1.0 if held else 2.0))
    assert compiled(X) == np.sum(X * X)
    assert vars(held) == {"path": ""}


class Kept(Endless):
    """An object that keeps the other objects that it makes."""

    def __init__(self):
        self.made = {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["made"].setdefault(name, Kept())

    def __bool__(self):
        return self.left is not None

    def __len__(self):
        return self.left is not None


def test_an_object_that_makes_others_at_each_look_up_and_keeps_them_is_no_program():
    held = Kept()
    compiled = compile(lambda x: np.sum(x * x) * (1.0 if held else 2.0))
    with pytest.warns(RecordingWarning, match="make others without end"):
        assert [compiled(X), compiled(X)] == [np.sum(X * X)] * 2


def _by_lambda(x, scale):
    inner = lambda v: v * scale
    return np.sum(inner(x))


def _by_two_lambdas(x, scale):
    return np.sum((lambda: lambda v: v * scale)()(x))


def _by_list(x, scale):
    return sum([v * scale for v in x])


def _by_generator(x, scale):
    return sum(v * scale for v in x)


def _by_class(x, scale):
    class Inner:
        def act(self, v):
            return v * scale

    return np.sum(Inner().act(x))


def _outer(scale):
    return lambda x, _: np.sum(x * scale)


NOT_GLOBAL = [_by_lambda, _by_two_lambdas, _by_list, _by_generator, _by_class, _outer(2.0)]


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("f", NOT_GLOBAL, ids=lambda f: f.__name__)
def test_a_variable_of_the_function_is_not_the_global_of_its_name(f, target, monkeypatch):
    compiled = compile(f, target=target)
    for k in range(6):
        monkeypatch.setitem(globals(), "scale", X * k)
        np.testing.assert_allclose(compiled(X, 1.0 + k), f(X, 1.0 + k), rtol=1e-14)
    assert len(compiled.programs) == 1


def _attribute_of_the_name(x, model, rate):
    inner = lambda v: v * model.rate + rate
    return np.sum(inner(x))


def _global_inside(x, model, _):
    return np.sum((lambda v: v * scale + model.rate)(x))


@pytest.mark.parametrize("f", [_attribute_of_the_name, _global_inside])
def test_what_an_inner_function_looks_up_is_seen(f, model):
    compiled = compile(f)
    for k in (1.0, 2.0):
        model.rate = k
        globals().update(scale=k)
        np.testing.assert_allclose(compiled(X, model, 3.0), f(X, model, 3.0), rtol=1e-14)
    assert len(compiled.programs) == 2
