"""Registering and looking up at the same time: the interleavings that go wrong, forced."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from chainrules_py import LinearMap, Numeric, primitive, rrule, rule
from chainrules_py.extend import find_rule
from chainrules_py.primitives import plugins
from chainrules_py.primitives.method_table import Cache
from chainrules_py.registry import table

WAIT = 20.0


def fresh() -> Any:
    @primitive
    def f(x):
        return x

    return f


def stated(factor: float, annotation: Any) -> Callable[..., Any]:
    def f_rule(x):
        return x, (LinearMap(lambda t: factor * t, lambda t: factor * t),)

    f_rule.__annotations__ = {"x": annotation}
    f_rule.__qualname__ = f"f_rule_{factor}"
    return f_rule


class Hold:
    """Stops the first thread that comes through, until it is released."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.thread: int | None = None

    def __call__(self, *args: Any) -> Any:
        answer = self.call(*args)
        if threading.get_ident() == self.thread:
            self.reached.set()
            assert self.go_on.wait(WAIT)
        return answer


def register_between_reading_and_filling(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """A lookup reads the rules; another thread registers; then the lookup fills its cache."""
    f = fresh()
    rule(f)(stated(2.0, Numeric))
    hold = Hold(table._resolve)
    monkeypatch.setattr(table, "_resolve", hold)
    answers: list[Any] = []

    def look_up() -> None:
        hold.thread = threading.get_ident()
        answers.append(find_rule(f, (float,)))

    thread = threading.Thread(target=look_up)
    thread.start()
    assert hold.reached.wait(WAIT)
    rule(f)(stated(3.0, float))
    hold.go_on.set()
    thread.join(WAIT)
    assert not thread.is_alive()
    return f, answers[0]


def test_a_rule_registered_between_reading_and_filling_is_not_lost(monkeypatch):
    f, _ = register_between_reading_and_filling(monkeypatch)
    assert rrule(f, 1.0)[1](1.0) == (3.0,)


def test_a_registry_that_clears_its_cache_in_place_fails_that_test(monkeypatch):
    """A planted race: the same interleaving loses the rule if the dict is cleared, not replaced."""

    def clearing() -> None:
        for cache in list(table._caches.values()):
            cache.open().clear()

    monkeypatch.setattr(table, "invalidate", clearing)
    f, _ = register_between_reading_and_filling(monkeypatch)
    assert rrule(f, 1.0)[1](1.0) == (2.0,)  # stale


def test_a_registry_that_stores_into_the_newest_dict_fails_it_as_well(monkeypatch):
    fill = table._fill

    def racing(f: Any, operands: Any, config: Any) -> Any:
        found = fill(f, operands, config)
        cache = table._caches[config.capabilities] if config else table._plain
        cache.open()[f, operands] = found  # bound after reading the rules
        return found

    monkeypatch.setattr(table, "_fill", racing)
    f, _ = register_between_reading_and_filling(monkeypatch)
    assert rrule(f, 1.0)[1](1.0) == (2.0,)  # stale


def test_backends_are_imported_outside_the_lock(monkeypatch):
    """A thread imports a backend that registers; another, inside the lock, waits for no import."""
    from chainrules_py.primitives import method_table

    importing, registered = threading.Event(), threading.Event()
    f = fresh()

    class Planted:
        __module__ = "planted_library"

    def import_module(name: str) -> Any:
        importing.set()
        assert registered.wait(WAIT), "the registry's lock was held while a backend was imported"
        rule(f)(stated(5.0, Planted))
        module = type(threading)("planted_backend")
        module.chainrules_contract = plugins.CONTRACT  # type: ignore[attr-defined]
        return module

    monkeypatch.setattr(
        plugins,
        "announced",
        lambda group: (
            (("planted_library", "planted_backend"),) if group == plugins.BACKENDS else ()
        ),
    )
    monkeypatch.setattr(plugins.importlib, "import_module", import_module)
    monkeypatch.setattr(plugins, "_seen", set())
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(find_rule(f, (Planted,))))
    thread.start()
    assert importing.wait(WAIT)
    done = threading.Event()

    def other() -> None:
        with method_table.lock:
            rule(f)(stated(4.0, float))
        done.set()

    threading.Thread(target=other).start()
    assert done.wait(WAIT)
    registered.set()
    thread.join(WAIT)
    assert found[0] is not None, "the lookup that loaded the backend did not see its rules"


def test_a_lookup_waits_for_a_backend_that_another_thread_is_importing(monkeypatch):
    class Planted:
        __module__ = "planted_library2"

    f = fresh()
    entered, go_on = threading.Event(), threading.Event()
    lock = threading.Lock()  # stands for the import lock of the module

    def import_module(name: str) -> Any:
        entered.set()
        with lock:
            assert go_on.wait(WAIT)
            if find_rule(f, (int,)) is None:
                rule(f)(stated(5.0, Planted))
                rule(f)(stated(6.0, int))
        module = type(threading)("planted_backend2")
        module.chainrules_contract = plugins.CONTRACT  # type: ignore[attr-defined]
        return module

    monkeypatch.setattr(
        plugins,
        "announced",
        lambda group: (
            (("planted_library2", "planted_backend2"),) if group == plugins.BACKENDS else ()
        ),
    )
    monkeypatch.setattr(plugins.importlib, "import_module", import_module)
    monkeypatch.setattr(plugins, "_seen", set())
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(find_rule(f, (Planted,)))) for _ in range(2)
    ]
    threads[0].start()
    assert entered.wait(WAIT)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(WAIT)
    assert len(found) == 2
    assert None not in found


def test_eight_threads_lose_no_rule_and_see_no_stale_one():
    """8 threads, 10,000 trials each: after a rule is registered, every lookup finds it."""
    trials_each = 10_000
    wrong: list[str] = []
    barrier = threading.Barrier(8)

    class Kind:
        pass

    def work(k: int) -> None:
        f = fresh()
        barrier.wait(WAIT)
        for trial in range(trials_each):
            if trial % 25 == 0:
                f = fresh()
                if find_rule(f, (float,)) is not None:
                    wrong.append(f"{k}: a rule before there is one")
                rule(f)(stated(float(trial), Numeric))
            if trial % 25 == 12:
                rule(f)(stated(trial + 0.5, float))
            found = find_rule(f, (float,))
            expected = (trial // 25) * 25 + (12.5 if trial % 25 >= 12 else 0.0)
            name = None if found is None else found.reverse.source.name  # type: ignore[union-attr]
            if name != f"f_rule_{expected}":
                wrong.append(f"{k}: {name} instead of f_rule_{expected}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert wrong == []


def test_caches_are_replaced_and_not_cleared():
    f, cache = fresh(), Cache()
    old = cache.open()
    rule(f)(stated(1.0, float))
    assert cache.table is old  # nobody has asked about f
    find_rule(f, (float,))
    rule(f)(stated(2.0, int))
    assert cache.table is not old
