"""A network that learns to read handwritten digits, with two derivatives of its own.

The network is plain NumPy. Its layer and its loss are ours, so we say how to differentiate them:
once, as mathematics. The rules are checked, found by the types of the arguments, and train it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from tqdm import tqdm

from chainrules_py import Array, LinearMap, NoTangent, Tangent, explain, primitive, rule
from chainrules_py import ops as v
from chainrules_py.testing import check_rule
from chainrules_tape import value_and_grad

PICTURE = Path(__file__).with_suffix(".png")

# 1. A layer is a dataclass. `@primitive` is what lets a rule, and the tape, see that it is called.


@dataclass
class Dense:
    """Neurons that compute x @ w + b."""

    w: Array
    b: Array

    @primitive
    def __call__(self, x):
        """Apply the layer to a batch, one row each."""
        return x @ self.w + self.b


# A rule gives the value and, for each argument, a linear map: how to push a tangent forward, how to
# pull a cotangent back, and the values that these two need.


@rule(Dense.__call__)
def dense_rule(self: Dense, x: Array):
    """dY = X dW + db + dX W;  W̄ = Xᴴ Ȳ,  b̄ = Σ Ȳ,  X̄ = Ȳ Wᴴ."""
    of_layer = LinearMap(
        lambda layer_dot, x: x @ layer_dot.w + layer_dot.b,
        lambda y_bar, x: Tangent[Dense](w=v.conj(x.T) @ y_bar, b=v.sum(y_bar, axis=0)),
        x,
    )
    of_x = LinearMap(lambda x_dot, w: x_dot @ w, lambda y_bar, w: y_bar @ v.conj(w.T), self.w)
    return x @ self.w + self.b, (of_layer, of_x)


# 2. The loss. Softmax and cross-entropy are one function, so that no exponential overflows.


@primitive
def cross_entropy(logits, labels):
    """Compute the mean of -log softmax(logits) at the labels."""
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    right = shifted[np.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - right)


# Written in words (`v.exp`) and operators, a rule can itself be differentiated, and runs on every
# array library. The labels are integers: there is no tangent to push and no cotangent to pull.


@rule(cross_entropy)
def cross_entropy_rule(logits: Array, labels: Array):
    """State the slope (softmax(logits) - one_hot(labels)) / n."""
    n, classes = logits.shape
    p = v.exp(logits - v.max(logits, axis=1, keepdims=True))
    p = p / v.sum(p, axis=1, keepdims=True)
    one_hot = labels[:, None] % classes == v.arange_like(labels, stop=classes)
    slope = v.where(one_hot, p - 1.0, p) / n
    of_logits = LinearMap(lambda dot, g: v.sum(g * dot), lambda bar, g: bar * v.conj(g), slope)
    return cross_entropy(logits, labels), (of_logits, NoTangent())


# 3. Training. The gradient of a network is a `Tangent[Network]`: it adds and scales like a number,
# and subtracting it from a network gives a network.


@dataclass
class Network:
    """Two layers with tanh between them."""

    hidden: Dense
    output: Dense

    def __call__(self, x):
        """Compute the logits of a batch."""
        return self.output(np.tanh(self.hidden(x)))


def new_layer(rng, inputs, outputs):
    return Dense(rng.normal(size=(inputs, outputs)) / np.sqrt(inputs), np.zeros(outputs))


def loss_of(network, x, labels):
    return cross_entropy(network(x), labels)


def train(network, x, labels, rng, epochs=40, batch=16, rate=0.2):
    """Train by stochastic gradient descent; return the network and the loss of each step."""
    losses = []
    for _ in (progress := tqdm(range(epochs), unit=" epochs")):
        for some in np.array_split(rng.permutation(len(labels)), len(labels) // batch):
            loss, gradient = value_and_grad(loss_of)(network, x[some], labels[some])
            network = network - rate * gradient
            losses.append(float(loss))
        progress.set_postfix(loss=f"{np.mean(losses[-90:]):.4f}")
    return network, losses


def draw(losses, title):
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    mean = np.convolve(losses, np.ones(90) / 90, mode="valid")
    axes.semilogy(losses, color="#c6dbef", linewidth=0.8, label="one batch")
    axes.semilogy(np.arange(len(mean)) + 45, mean, color="#08519c", linewidth=2, label="mean of 90")
    axes.set(title=title, xlabel="step", ylabel="cross-entropy", xlim=(0, len(losses)))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(PICTURE, dpi=150)


def main(epochs=40):
    """Check the rules, show them, train, draw the loss; gives the accuracy on other images."""
    rng = np.random.default_rng(0)
    digits = load_digits()
    x, labels = digits.data / 16.0, digits.target
    test, training = np.split(rng.permutation(len(labels)), [360])
    network = Network(new_layer(rng, 64, 48), new_layer(rng, 48, 10))

    print("Are the rules right?")
    print(check_rule(new_layer(rng, 3, 2), rng.normal(size=(4, 3))))
    print(check_rule(cross_entropy, rng.normal(size=(4, 3)), np.array([0, 2, 1, 1])))

    print("\nWhich rules will be used?")
    print(explain(network.hidden, x))
    print(explain(cross_entropy, x, labels))

    print(f"\nTraining on {len(training)} images")
    network, losses = train(network, x[training], labels[training], rng, epochs)
    right = float(np.mean(np.argmax(network(x[test]), axis=1) == labels[test]))
    print(f"Accuracy on {len(test)} other images: {right:.1%}. The loss curve is in {PICTURE}")
    draw(losses, f"Handwritten digits: {right:.1%} of the test images are read right")
    return right


if __name__ == "__main__":
    main()
