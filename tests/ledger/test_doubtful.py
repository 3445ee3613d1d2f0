"""A commit whose answer is lost is settled by the command id (section 5, rule 2)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from tenure import (
    First,
    Ledger,
    OutcomeUnknown,
    OwnerIsLive,
    OwnerRef,
    StoreUnavailable,
)
from tenure_ledger.rows import Doubtful, EventRow, Unit
from tenure_ledger.shell import Shell
from tenure_ledger.stores import SQLiteStore

SESSION = OwnerRef("session", "ses_1")

Loss = Literal["stored", "not stored", "stored, then the disk is gone"]


class LossyUnit:
    """A real unit whose commits end in doubt, for as long as there is a loss left."""

    def __init__(self, unit: Unit, losses: list[Loss]) -> None:
        self._losses = losses
        self.tail = unit.tail
        self.head = unit.head
        self.command = unit.command
        self.body = unit.body
        self.add = unit.add
        self.confirm = unit.confirm
        self.expect = unit.expect
        self.rows = unit.rows
        self._commit = unit.commit

    def commit(self) -> None:
        """Commit, or not, and lose the answer."""
        if not self._losses:
            self._commit()
            return
        loss = self._losses.pop(0)
        if loss != "not stored":
            self._commit()
        raise Doubtful(loss)


class LossyStore(SQLiteStore):
    """A real store on a real file that loses answers."""

    losses: list[Loss]
    gone = False

    @contextmanager
    def write(self, deadline_seconds: float) -> Generator[Unit]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Hand out a unit that may lose its answer."""
        if self.gone:
            msg = "the disk is gone; nothing was written"
            raise StoreUnavailable(msg)
        self.gone = bool(self.losses) and self.losses[0].endswith("gone")
        with super().write(deadline_seconds) as unit:
            yield LossyUnit(unit, self.losses)


def lossy(path: Path, losses: list[Loss], deadline_seconds: float = 30) -> Ledger:
    """Return a ledger on a file whose next commits end in doubt."""
    store = LossyStore(path)
    store.losses = losses
    shell = Shell(
        store,
        clock=lambda: datetime.now(UTC),
        process=lambda: "process 1",
        deadline_seconds=deadline_seconds,
    )
    return Ledger(shell)


@pytest.mark.parametrize(
    "losses",
    [["stored"], ["not stored"], ["not stored", "not stored"], ["stored", "stored"]],
)
@pytest.mark.parametrize("command_id", [None, "claim 1"])
def test_a_doubtful_commit_is_stored_once_and_reported_as_stored(
    tmp_path: Path, losses: list[Loss], command_id: str | None
) -> None:
    with lossy(tmp_path / "relay.db", losses) as ledger:
        first = First("msg_1", "human")
        one = ledger.claim(SESSION, "a", "host", first=first, command_id=command_id)
        ledger.check(one)
        topics = [one.event.topic for one in ledger.history(SESSION)]
        assert topics == [
            "ownership-claimed.v1",
            "submission-accepted.v1",
            "execution-admitted.v1",
        ]
        assert ledger.verify().ok


@pytest.mark.parametrize("loss", ["stored", "not stored"])
@pytest.mark.parametrize("command_id", [None, "call 1"])
def test_a_call_is_still_to_be_run_when_only_the_answer_was_lost(
    tmp_path: Path, loss: Loss, command_id: str | None
) -> None:
    losses: list[Loss] = []
    with lossy(tmp_path / "relay.db", losses) as ledger:
        one = ledger.claim(SESSION, "a", "host", first=First("msg_1", "human"))
        losses.append(loss)
        call = ledger.begin_tool_call(
            one, "msg_1", "call_1", "bash", {}, command_id=command_id
        )
        assert call.state == "fresh"
        again = ledger.begin_tool_call(
            one, "msg_1", "call_1", "bash", {}, command_id=command_id
        )
        assert again.state == "unknown"


def test_at_the_deadline_the_outcome_is_said_to_be_unknown(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with lossy(path, ["stored"] * 9, deadline_seconds=0) as ledger:
        with pytest.raises(OutcomeUnknown) as caught:
            ledger.claim(SESSION, "a", "host", command_id="claim 1")
        assert caught.value.command_id == "claim 1"
    with lossy(path, []) as ledger:
        again = ledger.claim(SESSION, "a", "host", command_id="claim 1")
        assert again.generation == 1
        assert len(ledger.history(SESSION)) == 1


def test_a_fault_after_a_doubtful_commit_never_says_nothing_was_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "relay.db"
    with lossy(path, ["stored, then the disk is gone"]) as ledger:
        with pytest.raises(OutcomeUnknown) as caught:
            ledger.claim(SESSION, "a", "host")
        found = caught.value.command_id
    with lossy(path, []) as ledger:
        assert ledger.claim(SESSION, "a", "host", command_id=found).generation == 1
        assert len(ledger.history(SESSION)) == 1


class DyingStore(SQLiteStore):
    """A real store that cannot be read any more after its next commit."""

    dying = False

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Read, while that is possible."""
        if self.dying:
            msg = "the disk is gone; nothing was written"
            raise StoreUnavailable(msg)
        return super().tail(stream, version)


def test_what_was_stored_is_answered_without_reading_again(tmp_path: Path) -> None:
    store = DyingStore(tmp_path / "relay.db")
    shell = Shell(
        store,
        clock=lambda: datetime.now(UTC),
        process=lambda: "process 1",
        deadline_seconds=30,
    )
    with Ledger(shell) as ledger:
        one = ledger.claim(SESSION, "a", "host", first=First("msg_1", "human"))
        store.dying = True
        call = ledger.begin_tool_call(one, "msg_1", "call_1", "bash", {})
        assert call.state == "fresh"
        request = ledger.request_approval(one, "call_2", "bash", "digest", "1")
        assert request.call_id == "call_2"


class CountingStore(SQLiteStore):
    """A real store that counts the rows it is asked for."""

    read = 0

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Read and count."""
        rows = super().tail(stream, version)
        self.read += len(rows)
        return rows


def test_a_refusal_does_not_read_a_long_stream_again(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with lossy(path, []) as ledger:
        ledger.claim(SESSION, "a", "host")
        for number in range(200):
            ledger.accept(SESSION, f"msg_{number}", "host")
    store = CountingStore(path)
    shell = Shell(
        store,
        clock=lambda: datetime.now(UTC),
        process=lambda: "process 2",
        deadline_seconds=30,
    )
    with Ledger(shell) as ledger:
        for _ in range(5):
            with pytest.raises(OwnerIsLive):
                ledger.claim(SESSION, "b", "host")
        assert store.read < 300
