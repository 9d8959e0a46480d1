"""Programs of other frameworks end where the framework's own do; the docs list them."""

import numpy as np
import pytest

from tests.engines.frameworks.programs import BEGIN, END, PAGE, PROGRAMS, table


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # which are the frameworks' own
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_ends_where_the_frameworks_own_does(program, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    pytest.importorskip(program.module)
    if program.engine == "PyTensor":
        pytest.importorskip("pytensor", minversion="3", reason="exports need PyTensor 3")
    ours, theirs = program.run()
    np.testing.assert_allclose(
        np.asarray(ours), np.asarray(theirs), program.tolerance, program.tolerance
    )


def test_the_table_of_the_page_is_that_of_the_programs():
    """``python -m tests.engines.frameworks.programs`` writes it."""
    assert BEGIN + table() + END in PAGE.read_text(encoding="utf-8")
