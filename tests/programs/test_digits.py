"""The example: its rules are right, they are what runs, and the network learns."""

import importlib.util
import types
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")

from chainrules_py import LinearMap, NoTangent, Tangent, explain, frule, ops, rrule
from chainrules_py.testing import RuleCheckError, check_rule
from chainrules_tape import grad, jvp, value_and_grad

PATH = Path(__file__).resolve().parents[2] / "examples" / "digits.py"
LABELS = np.array([0, 2, 1, 1, 0])


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def network(digits, rng):
    return digits.Network(digits.new_layer(rng, 4, 6), digits.new_layer(rng, 6, 3))


def loss_of(digits, x, labels=LABELS):
    return lambda network: digits.cross_entropy(network(x), labels)


def numbers(network):
    """The weights of a network, or of its tangent, as one vector."""
    layers = (network.hidden, network.output)
    return np.concatenate([np.ravel(part) for layer in layers for part in (layer.w, layer.b)])


def like(network, vector):
    """A network with other weights."""
    layers, start = [], 0
    for layer in (network.hidden, network.output):
        parts = []
        for old in (layer.w, layer.b):
            parts.append(vector[start : start + old.size].reshape(old.shape))
            start += old.size
        layers.append(type(layer)(*parts))
    return type(network)(*layers)


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


# ------------------------------------------------------------------------------- the rules run


@pytest.fixture
def calls(digits, monkeypatch):
    """How often each of the two rules was run, whoever ran it; seen by what they make."""
    made = {LinearMap: 0, NoTangent: 0}

    def counted(cls):
        def make(*arguments):
            made[cls] += 1
            return cls(*arguments)

        return make

    monkeypatch.setattr(digits, "LinearMap", counted(LinearMap))
    monkeypatch.setattr(digits, "NoTangent", counted(NoTangent))

    def calls():
        loss = made[NoTangent]
        return {"dense_rule": (made[LinearMap] - loss) / 2, "cross_entropy_rule": loss}

    return calls


def test_grad_runs_the_rules(digits, network, rng, calls):
    grad(loss_of(digits, rng.normal(size=(5, 4))))(network)
    assert calls() == {"dense_rule": 2, "cross_entropy_rule": 1}


def test_a_plain_call_runs_no_rule(digits, network, rng, calls):
    loss_of(digits, rng.normal(size=(5, 4)))(network)
    assert calls() == {"dense_rule": 0, "cross_entropy_rule": 0}


def test_jvp_runs_the_rules(digits, network, rng, calls):
    jvp(loss_of(digits, rng.normal(size=(5, 4))), (network,), (like(network, numbers(network)),))
    assert calls() == {"dense_rule": 2, "cross_entropy_rule": 1}


def test_second_order_runs_the_rules_again(digits, rng, calls):
    logits = rng.normal(size=(5, 3))

    def slope_sum(logits):
        g = grad(digits.cross_entropy)(logits, LABELS)
        return np.sum(g * g)

    grad(slope_sum)(logits)
    assert calls()["cross_entropy_rule"] >= 2


def test_explain_names_the_rules(digits, network, rng):
    text = str(explain(network.hidden, rng.normal(size=(5, 4))))
    assert "(Dense, Array) (user)" in text
    assert f"{PATH}:" in text
    assert "(Array, Array) (user)" in str(explain(digits.cross_entropy, np.ones((2, 3)), LABELS))


# ------------------------------------------------------------------------- the rules are right


def test_the_judge_accepts_the_layer(digits, rng):
    check_rule(digits.new_layer(rng, 3, 2), rng.normal(size=(4, 3)))


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_the_judge_accepts_the_loss(digits, rng, scale):
    check_rule(digits.cross_entropy, scale * rng.normal(size=(5, 3)), LABELS)


def test_the_judge_rejects_a_wrong_layer(digits, rng, monkeypatch):
    """That it would notice: the cotangent of the bias is a mean in place of a sum."""
    operations = types.SimpleNamespace(sum=ops.mean, conj=ops.conj)
    monkeypatch.setattr(digits, "v", operations)
    with pytest.raises(RuleCheckError, match="adjoint"):
        check_rule(digits.new_layer(rng, 3, 2), rng.normal(size=(4, 3)))


def test_cotangents_have_the_form_of_the_primals(digits, rng):
    layer, x = digits.new_layer(rng, 4, 3), rng.normal(size=(5, 4))
    y, pullback = rrule(layer, x)
    layer_bar, x_bar = pullback(np.ones_like(y))
    assert isinstance(layer_bar, Tangent[digits.Dense])
    assert (layer_bar.w.shape, layer_bar.b.shape, x_bar.shape) == ((4, 3), (3,), (5, 4))
    _, pullback = rrule(digits.cross_entropy, y, LABELS)
    assert pullback(1.0)[1] == NoTangent()


def test_the_loss_does_not_overflow(digits):
    logits = np.array([[1000.0, 0.0, -1000.0], [-1e4, 1e4, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        loss, slope = value_and_grad(digits.cross_entropy)(logits, np.array([0, 1]))
        _, loss_dot = frule(
            (np.ones_like(logits), NoTangent()), digits.cross_entropy, logits, np.array([0, 1])
        )
    assert loss == 0.0
    assert loss_dot == 0.0
    assert np.all(slope == 0.0)


def test_gradient_against_finite_differences(digits, network, rng):
    f = loss_of(digits, rng.normal(size=(5, 4)))
    gradient = numbers(grad(f)(network))
    expected = differences(lambda p: f(like(network, p)), numbers(network))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-9)


def test_forward_mode_agrees_with_reverse_mode(digits, network, rng):
    f = loss_of(digits, rng.normal(size=(5, 4)))
    direction = rng.normal(size=numbers(network).size)
    _, y_dot = jvp(f, (network,), (like(network, direction),))
    np.testing.assert_allclose(y_dot, numbers(grad(f)(network)) @ direction, rtol=1e-12)


def test_second_order_against_finite_differences(digits, rng):
    logits, direction = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))

    def slope_along(logits):
        return np.sum(grad(digits.cross_entropy)(logits, LABELS) * direction)

    got = grad(slope_along)(logits)
    expected = differences(lambda v: slope_along(v.reshape(5, 3)), logits.ravel()).reshape(5, 3)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


def test_gradient_against_jax(digits, network, rng):
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    x = rng.normal(size=(5, 4))

    def loss(p):
        (w1, b1), (w2, b2) = p
        logits = jnp.tanh(x @ w1 + b1) @ w2 + b2
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(5), LABELS])

    with jax.enable_x64(True):
        layers = [(layer.w, layer.b) for layer in (network.hidden, network.output)]
        expected = jax.grad(loss)(jax.tree.map(jnp.asarray, layers))
        flat = np.concatenate([np.ravel(part) for layer in expected for part in layer])
    got = numbers(grad(loss_of(digits, x))(network))
    np.testing.assert_allclose(got, flat, rtol=1e-11, atol=1e-14)


def test_gradient_against_torch(digits, network, rng):
    torch = pytest.importorskip("torch")
    x = rng.normal(size=(5, 4))
    leaves = [
        torch.tensor(part, requires_grad=True)
        for layer in (network.hidden, network.output)
        for part in (layer.w, layer.b)
    ]
    w1, b1, w2, b2 = leaves
    logits = torch.tanh(torch.tensor(x) @ w1 + b1) @ w2 + b2
    torch.nn.functional.cross_entropy(logits, torch.tensor(LABELS)).backward()
    flat = np.concatenate([leaf.grad.numpy().ravel() for leaf in leaves])
    got = numbers(grad(loss_of(digits, x))(network))
    np.testing.assert_allclose(got, flat, rtol=1e-11, atol=1e-14)


# --------------------------------------------------------------------------- the network learns


def test_a_step_along_the_gradient_gives_a_network(digits, network, rng):
    x = rng.normal(size=(5, 4))
    gradient = grad(loss_of(digits, x))(network)
    assert isinstance(gradient, Tangent[digits.Network])
    stepped = network - 0.1 * gradient
    assert type(stepped) is digits.Network
    assert type(stepped.hidden) is digits.Dense
    np.testing.assert_array_equal(stepped.hidden.w, network.hidden.w - 0.1 * gradient.hidden.w)
    assert loss_of(digits, x)(stepped) < loss_of(digits, x)(network)


def test_a_short_training_lowers_the_loss(digits, network, rng):
    x = rng.normal(size=(60, 4))
    labels = np.argmax(x[:, :3], axis=1)
    before = digits.loss_of(network, x, labels)
    trained, losses = digits.train(network, x, labels, rng, epochs=5)
    assert len(losses) == 5 * (60 // 16)
    assert digits.loss_of(trained, x, labels) < 0.7 * before


def test_main_reads_digits(digits, tmp_path, monkeypatch, capsys):
    """All of the example, on all of the data; only shorter."""
    picture = tmp_path / "loss.png"
    monkeypatch.setattr(digits, "PICTURE", picture)
    assert digits.main(epochs=12) >= 0.95
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    for part in (
        "passed",
        "second order",
        "(Dense, Array) (user)",
        "other images: 9",
        str(picture),
    ):
        assert part in printed
    assert "wrong" not in printed


@pytest.mark.slow
def test_main_reads_digits_in_full(digits, tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "PICTURE", tmp_path / "loss.png")
    assert digits.main() >= 0.96
