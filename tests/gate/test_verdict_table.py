"""The verdict table of design section 6: each row, in words and with its evidence."""

from __future__ import annotations

from typing import get_args

import pytest

from tenure_gate.membership import RequestFacts, judge, locate, serving
from tenure_gate.verdicts import PASSES, STALE, Verdict, VerdictName
from verdict_cases import CASES, Case
from verdict_scenes import SCENES, S, journal_of
from worlds import World

every_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.scene}: {case.title}"
)


def judged(world: World, case: Case) -> Verdict:
    """Return the verdict of the case's request in its scene."""
    SCENES[case.scene](world)
    journal = journal_of(world.ledger)
    place = case.keys.index(case.key)
    request = RequestFacts(
        case.key,
        answered=case.answered,
        human=case.human,
        place=place,
        acting=case.key in serving(journal, case.acting),
    )
    return judge(journal, request, locate(journal, case.keys))


@every_case
def test_the_first_row_that_holds_decides(world: World, case: Case) -> None:
    verdict = judged(world, case)
    assert (verdict.name, verdict.key) == (case.verdict, case.key)
    assert verdict.passes == (case.verdict in {"current", "successor", "history"})


@every_case
def test_a_verdict_says_in_plain_words_why(world: World, case: Case) -> None:
    verdict = judged(world, case)
    words = verdict.explain()
    assert case.says in words
    assert (case.key or "without an id") in words
    assert "  " not in words
    assert "None" not in words
    assert "version 0" not in words
    assert repr(verdict) == f"Verdict({case.verdict!r}, {case.key!r})"


@every_case
def test_a_verdict_carries_its_evidence(world: World, case: Case) -> None:
    verdict = judged(world, case)
    seen = world.ledger.owner(S)
    evidence = verdict.evidence
    assert evidence["version"] == seen.version
    assert evidence["generation"] == seen.generation
    assert evidence["cut"] == (seen.cut.version if seen.cut else 0)
    assert evidence["cut_generation"] == (seen.cut.generation if seen.cut else 0)
    known = verdict.known
    assert evidence["admitted"] == (known.admitted if known else 0)
    assert evidence["place"] == case.keys.index(case.key)
    assert (evidence["answered"], evidence["human"]) == (case.answered, case.human)


def test_every_verdict_is_reached() -> None:
    assert {case.verdict for case in CASES} == set(get_args(VerdictName))
    assert {case.scene for case in CASES} == SCENES.keys()
    assert not PASSES & STALE


def test_verdicts_are_equal_when_name_key_and_evidence_are(world: World) -> None:
    case, other = CASES[0], CASES[1]
    one = judged(world, case)
    assert one == judge(one.journal, one.request, one.list_facts)
    assert hash(one) == hash(judge(one.journal, one.request, one.list_facts))
    two = judge(
        one.journal,
        RequestFacts(other.key, answered=False, human=False, place=1, acting=False),
        one.list_facts,
    )
    assert one != two
    assert one != "current"


def test_only_a_strip_on_record_is_recorded(world: World) -> None:
    by_title = {case.title: case for case in CASES if case.scene == "third_term"}
    SCENES["third_term"](world)
    journal = journal_of(world.ledger)
    found = {}
    for title in ("stripped", "ghost of the first", "late ghost"):
        key = by_title[title].key
        request = RequestFacts(key, answered=False, human=False, place=9, acting=False)
        verdict = judge(journal, request, locate(journal, by_title[title].keys))
        assert verdict.name in STALE
        found[title] = verdict.recorded
    assert found == {"stripped": True, "ghost of the first": False, "late ghost": False}
