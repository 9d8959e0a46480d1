"""Versions of autograd whose boxes are others."""

import operator

import pytest

pytest.importorskip("autograd")

from chainrules_autograd.engine import _private
from chainrules_py.errors import ContractError


def test_other_boxes_are_refused_with_the_versions_that_work(monkeypatch):
    _private.check()
    monkeypatch.setattr(_private, "node", operator.attrgetter("no_such_name"))
    with pytest.raises(ContractError, match=r"autograd>=1\.7,<1\.10"):
        _private.check()
