"""Programs that start from the same imports: forks of one process, which has imported them once.

A process of its own for each program imports NumPy and SciPy again, which takes longer than the
programs do.
"""

from __future__ import annotations

import json
import subprocess
import sys

SERVER = """
import json
import os
import sys
import traceback

import {modules}

for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        failed = 0
        try:
            exec(json.loads(line), {{"__name__": "__main__", "sys": sys}})
        except BaseException:
            traceback.print_exc()
            failed = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(failed)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        printed = pipe.read()
    print(json.dumps([os.waitpid(child, 0)[1], printed]), flush=True)
"""


class Forks:
    """A process that has imported modules, and runs each program in a fork of its own.

    Parameters
    ----------
    modules : str
        What it imports, with commas.
    """

    def __init__(self, modules):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER.format(modules=modules)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, program):
        """Run a program and return what it printed; it fails if the program does."""
        self.process.stdin.write(json.dumps(program) + "\n")
        self.process.stdin.flush()
        status, printed = json.loads(self.process.stdout.readline())
        assert status == 0, printed
        return printed

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
