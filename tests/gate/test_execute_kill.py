"""kill -9 at every point of a resumed run: nothing twice, nothing lost (S10)."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

import schemas
from processes import Other, other
from resume_host import GONE, S, lines
from tenure import ChatExecutionKey, Ledger, Unstarted, open_ledger, recover
from tenure_ledger import events as e
from tenure_projections.live import LiveTables
from witness import violations
from worlds import STORES

SCRIPT = "from resume_host import serve; serve()"
KILLED = str(-signal.SIGKILL)
RAN = {"approved", "open", "new"}
CALLS = {"held back", "recorded", "lost", "denied", "no", *RAN}
TOLD = {"lost": "unknown", "denied": "denied", "no": "never_started"}


class Trial:
    """One folder and one ledger, and what is asked of the processes that use them."""

    def __init__(self, server: Other, folder: Path, store: str) -> None:
        folder.mkdir()
        self.server = server
        self.folder = folder
        self.lent = schemas.lend(LiveTables.specs) if store == "postgres" else None
        self.url = self.lent or f"sqlite:///{folder}/relay.db"

    def ask(self, what: str, kill_at: int = 0) -> str:
        """Let a process do this; return how it ended."""
        self.server.say(f"{what} {self.folder} {self.url} {kill_at}")
        return self.server.hear()

    def close(self) -> str:
        """Hold what must hold; return how it ended."""
        ended = check(self.folder, self.url)
        if self.lent is not None:
            schemas.give_back(self.lent)
        return ended


def outcome(ledger: Ledger) -> str:
    known = ledger.execution(ChatExecutionKey("ses_1", "m1"))
    assert known is not None
    return str(known.outcome)


def check(folder: Path, url: str) -> str:
    """Hold what must hold after any crash and one more run; return how it ended."""
    with open_ledger(url) as ledger:
        assert ledger.verify().ok
        assert violations(list(ledger.events())) == []
        world = Counter(line["call"] for line in lines(folder, "world"))
        assert set(world) <= RAN
        assert max(world.values(), default=0) <= 1
        history = {line["call"]: line["what"] for line in lines(folder, "history")}
        assert len(history) == len(lines(folder, "history"))
        # Without a reply somebody else is told, and looks.
        ended = outcome(ledger)
        replies = len(lines(folder, "reply"))
        if ended == "completed":
            assert replies == 1
            assert history.keys() == CALLS
            assert [line["key"] for line in lines(folder, "queue")] == ["m2"]
        else:
            assert ended == "closed_in_recovery"
            assert replies <= 1
            # Another one tells of the call that was lost.
            (notice,) = [one for one in ledger.pending_notices(S) if one.reasons]
            assert notice.reasons == ("visible_output_started",)
            assert "output_may_have_been_seen" in {one.kind for one in notice.facts}
            assert "m2" in ledger.owner(S).waiting
        for call, what in history.items():
            unsure = call in RAN and what == "unknown"
            expected = TOLD.get(call, {"kept": {"ran": {"n": call}}})
            assert unsure or what == expected
        rewrites = [
            one
            for one in ledger.history(S)
            if isinstance(one.event, e.HistoryRewritten)
        ]
        assert len(rewrites) == 1
        # Done is done: what nobody began is all that is left.
        left = [one.plan.steps for one in recover(ledger, GONE).resumed]
        assert left == ([(Unstarted(("m2",)),)] if ended == "completed" else [])
    return ended


@pytest.mark.parametrize(
    ("store", "every"),
    [
        ("sqlite", 2),
        ("postgres", 3),
        *(pytest.param(store, 1, marks=pytest.mark.prove) for store in STORES[1:]),
    ],
)
def test_s10_a_run_killed_at_any_point_does_nothing_twice_and_loses_nothing(
    tmp_path: Path, store: str, every: int
) -> None:
    ended: list[str] = []
    first = ""
    with other(SCRIPT, tmp_path / "unused.db") as server:
        for kill_at in range(every, 200, every):
            trial = Trial(server, tmp_path / str(kill_at), store)
            assert trial.ask("prepare") == "0"
            first = trial.ask("resume", kill_at)
            assert first in {"0", KILLED}
            assert trial.ask("resume") == "0"
            ended.append(trial.close())
            if first == "0":
                break
    assert first == "0"
    assert len(ended) * every > 40
    assert set(ended) == {"completed", "closed_in_recovery"}


@pytest.mark.parametrize("store", STORES[1:])
def test_s10_a_run_that_is_killed_again_and_again_ends_all_the_same(
    tmp_path: Path, store: str
) -> None:
    with other(SCRIPT, tmp_path / "unused.db") as server:
        for rest in (3, 5, 7):
            trial = Trial(server, tmp_path / str(rest), store)
            assert trial.ask("prepare") == "0"
            deaths = 0
            while trial.ask("resume", deaths * rest + rest) == KILLED:
                deaths += 1
            assert deaths > 1
            trial.close()
