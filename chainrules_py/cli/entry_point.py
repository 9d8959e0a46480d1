"""Entry point of the command, which names its missing dependencies."""

from __future__ import annotations

import importlib.util
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    missing = [name for name in ("click", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"chainrules: {' and '.join(missing)} cannot be imported, which the command is drawn "
            f"with; install them: pip install 'chainrules-py[cli]'\n"
        )
        return 2
    from chainrules_py.cli.commands import run

    return run(arguments)
