"""How many workers a run gets: a small container is not filled with them."""

import pytest

from harness import workers


@pytest.mark.parametrize(
    ("limit", "gigabytes"), [("805306368", 0), ("1610612736", 1), ("max", 9), ("9223372036854771712", 9)]
)
def test_a_containers_limit_of_memory_counts(tmp_path, monkeypatch, limit, gigabytes):
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(workers, "LIMITS", (tmp_path / "memory.max", tmp_path / "missing"))
    machine = workers._lines
    monkeypatch.setattr(
        workers, "_lines", lambda path: ["MemAvailable: 10000000 kB"] if path.name == "meminfo" else machine(path)
    )
    assert workers.free_gigabytes() == gigabytes


@pytest.mark.parametrize(("free", "facts", "count"), [(0, 200, 1), (2, 200, 2), (30, 200, 4), (30, 17, 2), (30, 1, 1)])
def test_workers_fit_the_memory_and_the_facts(monkeypatch, free, facts, count):
    monkeypatch.setattr(workers, "free_gigabytes", lambda: free)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert workers.workers(facts) == count
