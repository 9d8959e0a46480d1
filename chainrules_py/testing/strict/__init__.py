"""array-api-strict, as chainrules_py sees it. Importing this registers its arrays.

It is the library that rules are tested on where no GPU is: it has a second device that NumPy cannot
read, promotes as the standard says and no further, and has nothing that the standard has not.
"""

from chainrules_py.testing.strict import implementations

__all__ = ["implementations"]

chainrules_contract = 1
