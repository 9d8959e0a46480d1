"""What the judge does not do yet: a mend of it removes entries, or their tests fail."""

from __future__ import annotations

KNOWN: dict[str, str] = {}
"""Plants that are missed or called by another name, by their names."""

KNOWN_ALARMS: dict[str, str] = {}
"""Right rules that are called wrong, by their names."""

KNOWN_AFTER_OTHERS: dict[str, str] = {}
"""Right rules that are called wrong only after others were judged: not in every order of tests."""

KNOWN_IN_SOME_DRAWS: dict[str, str] = {}
"""Right rules that are called wrong in other draws than the first."""
