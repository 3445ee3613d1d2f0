"""The same story in each of the three formats: whole turns, and no orphans."""

from __future__ import annotations

from copy import deepcopy

import pytest

from gate_lists import FORMATS, Line, a, s, t, texts, u
from gates import Host, S, next_term
from tenure import First, NarrativeTransform, TermRetired
from worlds import World

STORY: list[Line] = [
    s("be good"),
    u("m1"),
    a("", "c1", "c2", parent="m1"),
    t("c1", "c2"),
    a("done", parent="m1"),
    u("retry"),
    a("", "c3", parent="retry"),
    t("c3"),
    u("ghost"),
    a("whatever", parent="ghost"),
    u("m2"),
    a("", "c4", parent="m2"),
    t("c4"),
]

IDS = {"m1": "history", "retry": "stale_admitted", "ghost": "stale_unadmitted"}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("handover", [None, "Done: A."])
def test_a_relay_looks_the_same_in_every_format(
    world: World, name: str, handover: str | None
) -> None:
    ledger, host = world.ledger, Host()
    one = ledger.claim(S, "manager/1", "host", first=First("m1", "human"))
    gate = NarrativeTransform(ledger, host, reader=FORMATS[name].reader)
    messages = FORMATS[name].make(STORY)
    as_given = deepcopy(messages)
    past = FORMATS[name].make(STORY[:2])
    assert texts(gate.apply(S, past, authority=one).messages) == ["be good", "do m1"]
    ledger.settle(one, "m1", "completed")
    ledger.admit(one, "retry", "assistant_run")
    ledger.retire(one, "continue", handover)
    two = next_term(ledger, "m2")
    with world.refuses(TermRetired):
        gate.apply(S, messages, authority=one)
    view = gate.apply(S, messages, authority=two)
    found = {verdict.key: verdict.name for verdict in view.verdicts}
    assert found == {**IDS, "m2": "successor"}
    assert host.keys == ["retry", "ghost"]
    shown = texts(view.messages)
    whole = " ".join(shown)
    assert not any(word in whole for word in ("retry", "c3", "ghost", "whatever"))
    assert shown[0] == "be good"
    assert "do m2" in shown
    assert ">c4" in whole.replace("<", "").replace("> ", ">")
    if handover is None:
        assert "do m1" in shown
        assert all(call in whole for call in ("c1", "c2"))
    else:
        assert "do m1" not in shown
        assert not any(call in whole for call in ("c1", "c2"))
        assert handover in shown[1]
    assert messages == as_given
    assert texts(gate.apply(S, messages, authority=two).messages) == shown
