"""What the judge does not do yet: each mend of it removes an entry, or the test fails."""

from __future__ import annotations

KNOWN: dict[str, str] = {}
"""Plants that are missed or called by another name, by their names, and what is said of them."""

KNOWN_ALARMS: dict[str, str] = {}
"""Right rules that are called wrong, by their names, and what is said of them."""
