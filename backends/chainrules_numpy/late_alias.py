"""Registration of NumPy's aliases as data; a signature is read at the first use of its alias.

Reading five hundred signatures takes half as long as importing NumPy.
"""

from __future__ import annotations

import functools

from chainrules_py import extend

alias = functools.partial(extend.alias, late=True)
