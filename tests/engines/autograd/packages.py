"""Programs of packages that are written for autograd: their results, and how long they take.

``python -m tests.engines.autograd.packages autograd`` runs them on autograd, ``ours`` through
`chainrules_autograd`, and either prints JSON: by program its numbers, and the least time of
some runs. ``table`` runs both in turns and prints what docs/autograd.md shows. It wants lifelines,
autograd-gamma, reliability and ceviche.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_autograd import as_autograd

ROUNDS = 3


def lifelines_programs() -> dict[str, Callable[[], Any]]:
    import lifelines
    from lifelines.datasets import load_rossi, load_waltons

    waltons, rossi = load_waltons(), load_rossi()

    def univariate(name: str, *arguments: Any) -> Callable[[], Any]:
        cls = getattr(lifelines, name)
        return lambda: cls(*arguments).fit(waltons["T"], waltons["E"]).summary["coef"].to_numpy()

    def regression(name: str, **options: Any) -> Callable[[], Any]:
        cls = getattr(lifelines, name)
        return lambda: cls(**options).fit(rossi, "week", "arrest").params_.to_numpy()

    return {
        "lifelines: Weibull": univariate("WeibullFitter"),
        "lifelines: log-normal": univariate("LogNormalFitter"),
        "lifelines: log-logistic": univariate("LogLogisticFitter"),
        "lifelines: generalised gamma": univariate("GeneralizedGammaFitter"),
        "lifelines: piecewise exponential": univariate("PiecewiseExponentialFitter", [20, 40]),
        "lifelines: spline": univariate("SplineFitter", [6.0, 20.0, 40.0, 75.0]),
        "lifelines: Weibull regression": regression("WeibullAFTFitter"),
        "lifelines: log-normal regression": regression("LogNormalAFTFitter"),
        "lifelines: Cox, spline baseline": regression(
            "CoxPHFitter", baseline_estimation_method="spline", n_baseline_knots=3
        ),
    }


def gamma_programs() -> dict[str, Callable[[], Any]]:
    import autograd_gamma as ag
    from autograd import grad, value_and_grad
    from autograd import numpy as anp

    a, x = np.linspace(0.5, 4.0, 50), np.linspace(0.2, 5.0, 50)
    by_order = grad(lambda a: anp.sum(ag.gammainc(a, x)))
    both = value_and_grad(lambda p: anp.sum(ag.betaincln(p[0], p[1], x / 6.0)))
    return {
        "autograd-gamma: gammainc in its order": lambda: by_order(a),
        "autograd-gamma: betaincln": lambda: both(np.array([1.5, 2.5]))[1],
    }


def reliability_programs() -> dict[str, Callable[[], Any]]:
    from reliability import Fitters

    rng = np.random.default_rng(1)
    times = rng.weibull(1.7, 80) * 30.0
    failed, running = times[times < 40.0], np.full(int(np.sum(times >= 40.0)), 40.0)
    told = {"show_probability_plot": False, "print_results": False}

    def fit(name: str, *parameters: str) -> Callable[[], Any]:
        cls = getattr(Fitters, name)
        # Its optimiser by derivatives; the others of its list use none.
        options = {"failures": failed, "right_censored": running, "optimizer": "TNC", **told}

        def run() -> Any:
            found = cls(**options)
            return np.array([getattr(found, p) for p in parameters])

        return run

    return {
        "reliability: Weibull": fit("Fit_Weibull_2P", "alpha", "beta"),
        "reliability: normal": fit("Fit_Normal_2P", "mu", "sigma"),
        "reliability: gamma": fit("Fit_Gamma_2P", "alpha", "beta"),
    }


def ceviche_programs() -> dict[str, Callable[[], Any]]:
    import autograd.numpy as npa
    import ceviche

    n, omega, step = 40, 2.0 * np.pi * 200e12, 5e-8
    source = np.zeros((n, n))
    source[10, 10] = 1e3

    def intensity(eps: Any) -> Any:
        simulation = ceviche.fdfd_ez(omega, step, eps.reshape((n, n)), [8, 8])
        field = simulation.solve(source)[2]
        return npa.sum(npa.abs(field[30, 20:30]) ** 2)

    gradient = ceviche.jacobian(intensity, mode="reverse")
    eps = np.random.default_rng(0).uniform(1.0, 2.0, n * n)
    return {"ceviche: gradient of an intensity": lambda: gradient(eps)}


MAKERS = (lifelines_programs, gamma_programs, reliability_programs, ceviche_programs)


def programs() -> dict[str, Callable[[], Any]]:
    """All of them, over the autograd that is imported."""
    return {name: f for make in MAKERS for name, f in make().items()}


def run() -> dict[str, Any]:
    """Run each, and give its numbers and its least time."""
    found = {}
    for name, program in programs().items():
        least = np.inf
        for _ in range(ROUNDS):
            start = time.process_time()
            numbers = np.ravel(program())
            least = min(least, time.process_time() - start)
        found[name] = numbers.tolist(), least
    return found


def on(which: str) -> dict[str, Any]:
    """Run the programs in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, which], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def distance(one: Any, other: Any) -> float:
    """The greatest difference, relative to the greatest number."""
    one, other = np.array(one), np.array(other)
    return float(np.max(np.abs(one - other)) / np.max(np.abs(other)))


def table(turns: int) -> str:
    """Run both in turns, and write a row for each program."""
    runs = [(on("autograd"), on("ours")) for _ in range(turns)]
    lines = ["| program | autograd, s | ours, s | ratio | results |", "|---|---|---|---|---|"]
    for name in runs[0][0]:
        theirs, ours = [min(found[i][name][1] for found in runs) for i in (0, 1)]
        apart = distance(runs[0][1][name][0], runs[0][0][name][0])
        lines.append(f"| {name} | {theirs:.3g} | {ours:.3g} | {ours / theirs:.2f} | {apart:.0e} |")
    return "\n".join(lines)


def main(which: str, turns: str = "3") -> None:
    """Print what was asked for."""
    warnings.simplefilter("ignore")
    if which == "table":
        print(table(int(turns)))
        return
    with as_autograd() if which == "ours" else contextlib.nullcontext():
        print(json.dumps(run()))


if __name__ == "__main__":
    main(*sys.argv[1:])
