"""kill -9 at every point of a resumed run: nothing twice, nothing lost (S10)."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from processes import Other, other
from resume_host import GONE, S, lines
from tenure import ChatExecutionKey, Ledger, Unstarted, open_ledger, recover
from tenure_ledger import events as e
from witness import violations

SCRIPT = "from resume_host import serve; serve()"
KILLED = str(-signal.SIGKILL)
RAN = {"approved", "open", "new"}
CALLS = {"held back", "recorded", "lost", "denied", "no", *RAN}
TOLD = {"lost": "unknown", "denied": "denied", "no": "never_started"}


def ask(server: Other, what: str, folder: Path, kill_at: int = 0) -> str:
    server.say(f"{what} {folder} {kill_at}")
    return server.hear()


def outcome(ledger: Ledger) -> str:
    known = ledger.execution(ChatExecutionKey("ses_1", "m1"))
    assert known is not None
    return str(known.outcome)


def check(folder: Path) -> str:
    """Hold what must hold after any crash and one more run; return how it ended."""
    with open_ledger(f"sqlite:///{folder}/relay.db") as ledger:
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


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.prove)])
def test_s10_a_run_killed_at_any_point_does_nothing_twice_and_loses_nothing(
    tmp_path: Path, every: int
) -> None:
    ended: list[str] = []
    first = ""
    with other(SCRIPT, tmp_path / "unused.db") as server:
        for kill_at in range(1, 200, every):
            folder = tmp_path / str(kill_at)
            folder.mkdir()
            assert ask(server, "prepare", folder) == "0"
            first = ask(server, "resume", folder, kill_at)
            assert first in {"0", KILLED}
            assert ask(server, "resume", folder) == "0"
            ended.append(check(folder))
            if first == "0":
                break
    assert first == "0"
    assert len(ended) * every > 40
    assert set(ended) == {"completed", "closed_in_recovery"}


def test_a_run_that_is_killed_again_and_again_ends_all_the_same(
    tmp_path: Path,
) -> None:
    with other(SCRIPT, tmp_path / "unused.db") as server:
        for rest in (3, 5, 7):
            folder = tmp_path / str(rest)
            folder.mkdir()
            assert ask(server, "prepare", folder) == "0"
            deaths = 0
            while ask(server, "resume", folder, deaths * rest + rest) == KILLED:
                deaths += 1
            assert deaths > 1
            check(folder)
