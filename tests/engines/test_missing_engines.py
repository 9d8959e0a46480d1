"""An adapter whose engine is not installed says what to install."""

import subprocess
import sys

import pytest

CODE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{engine}":
            raise ModuleNotFoundError("No module named '{engine}'", name="{engine}")

sys.meta_path.insert(0, Missing())
from chainrules_{engine} import export
"""


@pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])
def test_it_names_the_extra(engine):
    command = [sys.executable, "-c", CODE.format(engine=engine)]
    found = subprocess.run(command, capture_output=True, check=False, text=True)
    assert f"pip install 'chainrules-py[{engine}]'" in found.stderr.splitlines()[-1]
