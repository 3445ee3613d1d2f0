"""One process lags with a warm memory while another writes: no verdict is wrong.

The witness is the file itself: what it held before the call, read by plain SQL, and the
whole log afterwards, folded from nothing.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from gate_hunter import Hunter, judge_again, strips_are_right
from gate_writer import Willing
from gates import S
from processes import other
from tenure import (
    Authority,
    FencedOut,
    NarrativeTransform,
    TermRetired,
    open_ledger,
)
from witness import violations

WRITER = """
    from gate_writer import write
    write(sys.argv[1], {seed}, {steps})
"""


def hunt(path: Path, seed: int, steps: int) -> Counter[str]:
    with other(WRITER.format(seed=seed, steps=steps), path) as writer:
        assert writer.hear() == "ready"
        with open_ledger(f"sqlite:///{path}", process="hunter") as ledger:
            hunter = Hunter(path, ledger)
            query = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            with closing(query) as db:
                writer.say()
                while writer.runs:
                    hunter.look(db)
                assert writer.end() == []
                hunter.look(db)
            history = ledger.history(S)
            assert ledger.verify().ok
            assert violations(list(ledger.events())) == []
            judge_again(history, hunter.judged)
            hunter.seen["strips"] = strips_are_right(history)
            return hunter.seen


def assert_it_was_a_hunt(seen: Counter[str]) -> None:
    """Sometimes: what the hunt is about did happen."""
    for what in (
        "cut before the call",
        "nothing_to_say",
        "warm",
        "strips",
        "successor",
        "history",
        "queued",
        "stale_admitted",
        "stale_unadmitted",
    ):
        assert seen[what], (what, seen)


def test_a_lagging_process_gives_no_wrong_verdict(tmp_path: Path) -> None:
    assert_it_was_a_hunt(hunt(tmp_path / "relay.db", seed=1, steps=400))


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(2, 4))
def test_a_lagging_process_gives_no_wrong_verdict_for_long(
    tmp_path: Path, seed: int
) -> None:
    assert_it_was_a_hunt(hunt(tmp_path / "relay.db", seed=seed, steps=4000))


def test_a_memory_that_is_warm_knows_of_every_single_write_of_another_process(
    tmp_path: Path,
) -> None:
    """No luck needed: each write of the other is followed by one look."""
    path = tmp_path / "relay.db"
    script = """
        from tenure import First, open_ledger
        from gates import S
        with open_ledger("sqlite:///" + sys.argv[1], process="other") as ledger:
            held = ledger.claim(S, "manager/0", "host", first=First("k0", "human"))
            for number in range(1, 13):
                say(held.to_json())
                hear()
                if number % 3 == 0:
                    ledger.retire(held, "continue", "go on")
                    say("cut")
                    hear()
                    first = First(f"k{number}", "continue_relay")
                    held = ledger.succeed(S, f"manager/{number}", "host", first=first)
                else:
                    ledger.admit(held, f"k{number}", "assistant_run")
            say(held.to_json())
            hear()
    """
    with other(script, path) as writer, open_ledger(f"sqlite:///{path}") as ledger:
        gate = NarrativeTransform(ledger, Willing())
        held: Authority | None = None
        number = 0
        while said := writer.hear():
            if said == "cut":
                with pytest.raises(TermRetired):
                    gate.apply(S, [*keys(number - 1)], authority=held)
            else:
                held = Authority.from_json(said)
                newest = f"k{number}"
                view = gate.apply(S, keys(number), authority=held, acting=newest)
                assert view.verdicts[-1].name in {"current", "successor"}
                assert not any(one.name == "stale_unadmitted" for one in view.verdicts)
                number += 1
            writer.say()
        assert writer.end() == []
        assert number == 13
        forged = Authority(S, 99, "never given", "manager/x")
        with pytest.raises(FencedOut):
            gate.apply(S, keys(1), authority=forged)


FORKS = """
    from gates import Gate, relayed, user, verdicts
    from tenure import open_ledger
    listed = [user("m1"), user("m3"), user("m4"), user("m2")]
    with open_ledger("sqlite:///" + sys.argv[1]) as ledger:
        _, two = relayed(ledger)
        gate = Gate(ledger)
        gate.apply([user("m1"), user("m2")], two)
        written, told = os.pipe()
        child = os.fork()
        if not child:
            os.read(written, 1)
            view = gate.apply([*listed[:2], listed[3]], two)
            ledger.admit(two, "m4", "assistant_run")
            good = verdicts(view)["m3"] == "queued" and not gate.host.asked
            os._exit(0 if good else 1)
        ledger.admit(two, "m3", "assistant_run")
        os.write(told, b"!")
        _, status = os.waitpid(child, 0)
        say("child", os.waitstatus_to_exitcode(status))
        found = verdicts(gate.apply(listed, two))
        say(found["m3"], found["m4"], found["m2"], gate.host.keys)
"""


def test_a_forked_process_and_its_parent_see_what_the_other_wrote(
    tmp_path: Path,
) -> None:
    with other(FORKS, tmp_path / "relay.db") as parent:
        assert parent.end() == ["child 0", "queued queued successor []"]


def keys(newest: int) -> list[dict[str, object]]:
    return [
        {"role": "user", "id": f"k{number}", "content": "go"}
        for number in range(newest + 1)
    ]
