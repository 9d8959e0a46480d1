"""Registration of NumPy's rows as data, read against a signature when a row is first used.

To read five hundred signatures takes as long as half of the import of NumPy itself.
"""

from __future__ import annotations

import functools

from chainrules_py import extend

alias = functools.partial(extend.alias, late=True)
