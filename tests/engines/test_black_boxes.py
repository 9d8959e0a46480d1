"""The page about black boxes: its programs run, and the engines agree."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "black-boxes.md"
BLOCK = re.compile(r"^```\{code-cell\} python3\n(?!:tags:)(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")


def test_its_programs_have_one_gradient_in_all_engines():
    for name in ("torch", "jax", "scipy"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    import jax

    before = jax.config.jax_enable_x64
    space: dict = {}
    count = 0
    try:
        for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            *lines, last = block.rstrip().splitlines()
            found = re.search(r"everywhere\(\w+, .*\)", last) if last[0] != " " else None
            exec("\n".join([*lines, "" if found else last]), space)
            if found is None:
                continue
            gradients = eval(found[0].partition(".items()")[0], space)
            for gradient in gradients.values():
                np.testing.assert_allclose(gradient, gradients["tape"], rtol=1e-9)
            count += 1
    finally:
        jax.config.update("jax_enable_x64", before)
    assert count == 5
