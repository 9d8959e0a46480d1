"""``python -m chainrules_py``: the command ``chainrules``, which is a package of its own."""

import sys
from importlib import import_module

if __name__ == "__main__":
    sys.exit(import_module("chainrules_py.cli").main())
