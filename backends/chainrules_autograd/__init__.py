"""autograd, as chainrules_py sees it: an engine whose arrays are NumPy's."""

chainrules_contract = 1
