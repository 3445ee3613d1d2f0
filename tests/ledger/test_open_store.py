from __future__ import annotations

from pathlib import Path

import pytest

from stored import append, event
from tenure_ledger.errors import InvalidInput
from tenure_ledger.stores import MemoryStore, SQLiteStore, open_store


def test_opening_touches_nothing(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/missing/relay.db")
    assert list(tmp_path.iterdir()) == []
    store.close()


def test_three_slashes_are_relative_to_the_folder_at_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///relay.db")
    monkeypatch.chdir("/")
    append(store, event("a", 1))
    store.close()
    assert (tmp_path / "relay.db").is_file()


def test_four_slashes_are_absolute_and_percent_signs_are_decoded(
    tmp_path: Path,
) -> None:
    store = open_store(f"sqlite:///{tmp_path}/what%3F a%23b #c.db?durability=normal")
    append(store, event("a", 1))
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["what? a#b #c.db"]


def test_the_environment_names_the_store_when_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_URL", f"sqlite:///{tmp_path}/relay.db")
    assert isinstance(open_store(None), SQLiteStore)
    monkeypatch.setenv("TENURE_URL", "")
    with pytest.raises(InvalidInput, match=r"TENURE_URL.*sqlite:///"):
        open_store(None)
    monkeypatch.delenv("TENURE_URL")
    with pytest.raises(InvalidInput, match=r"TENURE_URL.*sqlite:///"):
        open_store(None)


def test_each_memory_store_is_a_ledger_of_its_own() -> None:
    one, two = open_store("memory://"), open_store("memory://")
    assert isinstance(one, MemoryStore)
    append(one, event("a", 1))
    assert (one.head_position(), two.head_position()) == (1, 0)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "not a URL"),
        ("relay.db", "not a URL"),
        ("sqlite://relay.db", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///a%00b", "names no file"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite:///relay.db?durability=off", "durability=full"),
        ("sqlite:///relay.db?durability=", "durability=full"),
        ("sqlite:///relay.db?mode=ro", "durability=full"),
        ("memory://name", "takes no name"),
        ("memory://?durability=full", "takes no name"),
        ("postgresql://user@host/relay?schema=pg_mine", "not begin with pg_"),
        ("postgresql://user@host/relay?schema=", "must match"),
        ("postgresql://user@host/relay?durability=off", "durability=full"),
        ("postgresql://user@host/relay?sslmode", "no URL of PostgreSQL"),
        ("postgresql://user@host/%00", "no URL of PostgreSQL"),
        ("mysql://host/relay", "no store for mysql"),
    ],
)
def test_a_url_that_names_no_store_says_what_to_give(url: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        open_store(url)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(InvalidInput) as refusal:
        open_store("postgresql://user:hunter2@host/relay?nothing=1")
    assert "hunter2" not in str(refusal.value)
