"""Calls in a child of this process."""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any


def in_child(call: Callable[[], Any]) -> Any:
    """Return what a call gives in a child, as JSON carries it."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that have threads
        child = os.fork()
    if child == 0:
        try:
            sys.unraisablehook = threading.excepthook = lambda _: None
            os.write(writer, json.dumps(call()).encode())
        except BaseException as error:
            os.write(writer, json.dumps(f"after the fault: {error!r}"[:2000]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else "crashed"
