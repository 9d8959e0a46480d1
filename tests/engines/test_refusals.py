"""What an engine refuses of an operation, it refuses by our error, with what to write instead."""

from __future__ import annotations

import importlib
import itertools
import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from chainrules_py import ChainRulesError, NoRuleError, export, primitive
from chainrules_py.testing import backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.sample_runs import operations_of
from chainrules_py.values.pytree import flatten, unflatten

REMEDY = re.compile(
    r"[;:,] (or )?"
    r"(write|pass|call|give|state|make|take|use|apply|read|multiply|export|solve|import)\b"
)
OF_MLX = re.compile(r"Not implemented for (LUF|QRF)|Cannot vmap over the sorted sequence")
"""What MLX itself says where it has no transformation, as the page says that it does."""
DOORS = ("grad", "jvp", "vmap", "jit")
ENGINES = ("jax", "torch", "mlx", "autograd")
REFUSES = ("roots", "real_if_close", "complex_outside")
"""Operations that engines refuse somewhere."""


def of_mlx(operands):
    mx = pytest.importorskip("mlx.core")
    narrow = {"f": np.float32, "c": np.complex64}
    leaves, treedef = flatten(operands)
    made = [
        mx.array(x.astype(narrow.get(x.dtype.kind, x.dtype)))
        if isinstance(x, np.ndarray) and x.dtype.kind in "fciub"
        else x
        for x in leaves
    ]
    return unflatten(treedef, made)


def refusals(operation, engine, most):
    """Yield what an engine refuses of an operation's samples, by the door that it was asked at."""
    table = importlib.import_module(f"chainrules_{engine}").transformations
    as_vector = importlib.import_module("chainrules_kit.supported_transformations")._as_vector
    asarray, f = table.asarray or np.asarray, export(operation, to=engine)
    for instance in itertools.islice(instances(operation), most):
        operands, options = instance.build(backend(engine if engine in "jax torch" else "numpy"))
        if engine == "mlx":
            operands = of_mlx(operands)
        plain = operation if engine == "autograd" else f
        z, of_vector = as_vector(f, plain, operands, options)
        runs = {"value": lambda *_: f(*operands, **options)}  # noqa: B023
        if engine != "mlx" or z.size:  # its jvp of an empty array that is reshaped may never end
            runs |= {name: table.table[name].run for name in DOORS if name in table.table}
        for door, run in runs.items():
            with table.context():
                try:
                    at = () if door == "value" else (asarray(z), asarray(np.ones_like(z)))
                    run(*at) if door == "value" else run(of_vector, *at)
                except Exception as error:
                    yield f"{instance.name} / {door}", error


def check(operation, engine, most):
    pytest.importorskip(f"chainrules_{engine}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [*refusals(operation, engine, most)]
    bad = [
        (of, type(e).__name__, str(e))
        for of, e in found
        if not (isinstance(e, ChainRulesError) and REMEDY.search(str(e)))
        and not (engine == "mlx" and of.endswith("vmap") and OF_MLX.search(str(e)))
    ]
    assert not bad
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFUSES)
def test_a_refusal_says_what_to_write(name, engine):
    (operation,) = [operation for operation in operations_of() if operation.__name__ == name]
    found = check(operation, engine, 2)
    assert found or engine != "jax"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("operation", [pytest.param(w, id=w.__name__) for w in operations_of()])
def test_all_refusals_say_what_to_write(operation, engine):
    check(operation, engine, 4)


@pytest.mark.parametrize("engine", ["jax", "mlx"])
def test_systems_of_sparse_arrays(engine):
    asarray = {"jax": "jax.numpy", "mlx": "mlx.core"}[engine]
    asarray = pytest.importorskip(asarray).array
    sparse = importlib.import_module("chainrules_scipy.sparse")
    A = csr_array(np.array([[2.0, 1.0], [0.0, 3.0]]))
    f = export(lambda b: sparse.spsolve(sparse.with_data(A, asarray(A.data)), b), to=engine)
    with pytest.raises(NoRuleError, match=r"write v.solve\(A.toarray\(\), b\)"):
        f(asarray(np.ones(2)))


def test_what_a_person_wrote_is_given_a_body():
    @primitive
    def bare(x):
        """Nothing computes it."""

    with pytest.raises(NoRuleError, match=r"give it a body, or write @bare\.implement"):
        export(bare, to="autograd")(np.ones(2))
