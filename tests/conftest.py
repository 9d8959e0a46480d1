"""What every test module finds ready."""

# Before anything is collected: under --import-mode=importlib a package that is first met as a file
# to collect is imported under its path, and a second time under its name.
import chainrules_py  # noqa: F401
