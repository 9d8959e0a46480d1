"""Programs that start from the same imports: forks of one process, which has imported them once.

A process of its own for each program imports NumPy or PyTorch again, which takes longer than the
programs do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

SERVER = """
import json
import os
import sys
import traceback

import {modules}


def run(program, folder, env):
    os.chdir(folder)
    os.environ.update(env)
    try:
        exec(program, {{"__name__": "__main__"}})
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        code = run(*json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        printed = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([code, printed]), flush=True)
"""


class Forks:
    """A process that has imported modules, and runs each program in a fork of its own.

    Parameters
    ----------
    modules : str
        What it imports, with commas.
    path : str
        Folders from which modules are imported first.
    """

    def __init__(self, modules, path=""):
        path = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER.format(modules=modules)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def run(self, program, folder=".", **env):
        """Run a program in a folder: its exit code, and what it printed as its output."""
        self.process.stdin.write(json.dumps([program, str(folder), env]) + "\n")
        self.process.stdin.flush()
        code, printed = json.loads(self.process.stdout.readline())
        return subprocess.CompletedProcess(program, code, printed, "")

    def pytest(self, arguments, folder, **env):
        """Run pytest in a folder, with no plugin but those that are named."""
        program = f"import pytest\nraise SystemExit(pytest.main({arguments!r}))"
        quiet = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return self.run(program, folder, **quiet, **env)
