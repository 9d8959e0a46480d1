"""The command ``chainrules``, as ``python -m chainrules_py``."""

import sys
from importlib import import_module

if __name__ == "__main__":
    sys.exit(import_module("chainrules_py.cli").main())
