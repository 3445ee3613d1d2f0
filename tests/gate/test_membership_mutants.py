"""The naive rules of seed 003, each as a mutant that the table of cases must kill.

They take the real table and answer only its one question, "is this a member of the
term after the cut?", from appearances. A mutant that survives shows a case that lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import RequestFacts, locate, serving
from verdict_cases import CASES, Case
from verdict_rows import Asked, Member, by_the_ledger, row
from verdict_scenes import SCENES, journal_of
from worlds import World


def a_key_exists(at: Asked) -> bool:
    """Seed 003, 3.2: the ledger knows the key, in whatever term."""
    return at.known is not None


def by_live_generation(at: Asked) -> bool:
    """It was admitted under the generation that is live now."""
    known = at.known
    return known is not None and known.generation == at.journal.generation


def by_place_in_the_list(at: Asked) -> bool:
    """It stands behind the boundary in the host's list."""
    return at.after


def by_id_order(at: Asked) -> bool:
    """Its id sorts behind the id of the boundary, as ids made from clocks would."""
    cut = at.journal.cut
    boundary = cut.boundary.message_id if cut and cut.boundary else ""
    return (at.request.key or "") > boundary


def by_a_persons_flag(at: Asked) -> bool:
    """Seed 003, 2.1: a person sent it."""
    return at.request.human or (at.known is not None and at.known.human)


KILLED_BY: Mapping[Member, set[str]] = {
    # What an earlier term was given is taken for the successor's own.
    a_key_exists: {
        "third_term: done in the first",
        "third_term: cut in the second",
        "third_term: ghost of the first",
        "third_term: ghost of the second",
        "third_term: accepted",
        "third_term: cancelled",
        "third_term: ghost last",
        "third_term: ghost of the past",
        "renewed: renewed ghost",
        "waiting: ended with it",
        "waiting: waits for the next",
        "ended: terminal: runs",
        "ended: terminal: waits",
        "ended: terminal: only admitted",
    },
    # A renewed lease makes the running request a ghost; a term that ended and has no
    # successor yet seems to go on.
    by_live_generation: {
        "renewed: renewed",
        "waiting: ended with it",
        "waiting: waits for the next",
        "ended: terminal: runs",
        "ended: terminal: only admitted",
    },
    # The late retry of the seed's accident passes; what was carried over or reordered
    # to the front is killed.
    by_place_in_the_list: {
        "third_term: carried acting",
        "third_term: carried answered",
        "third_term: ghost of the second",
        "third_term: accepted",
        "third_term: late ghost",
        "third_term: vouched",
        "third_term: no id after",
        "third_term: cancelled",
        "third_term: successor first",
        "third_term: ghost last",
        "renewed: renewed ghost",
        "ended: terminal: waits",
        "ended: terminal: only admitted",
    },
    # The successor's first request sorts in front of everything (S25).
    by_id_order: {
        "third_term: acting",
        "third_term: settled here",
        "third_term: ghost of the first",
        "third_term: ghost of the second",
        "third_term: late ghost",
        "third_term: vouched",
        "third_term: successor first",
        "third_term: ghost last",
        "third_term: ghost of the past",
        "renewed: renewed",
        "renewed: renewed ghost",
        "waiting: waits for the next",
        "ended: terminal: runs",
        "ended: terminal: waits",
        "ended: terminal: only admitted",
        "ended: terminal: the past",
    },
    # Nobody sent the term's own requests; persons sent much of the past.
    by_a_persons_flag: {
        "third_term: settled here",
        "third_term: absorbed acts",
        "third_term: done in the first",
        "third_term: cancelled",
        "third_term: accepted",
        "third_term: vouched",
        "third_term: the past, vouched",
        "waiting: ended with it",
        "waiting: waits for the next",
        "ended: terminal: runs",
        "ended: terminal: waits",
    },
}


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, JournalSnapshot]:
    """Give every scene as the gate reads it."""
    found: dict[str, JournalSnapshot] = {}
    for name, build in SCENES.items():
        folder: Path = tmp_path_factory.mktemp(name)
        world = World("memory", folder)
        build(world)
        found[name] = journal_of(world.ledger)
        world.close()
    return found


def killers(journals: Mapping[str, JournalSnapshot], member: Member) -> set[str]:
    """Return the cases that this answer to the question gets wrong."""
    return {
        f"{case.scene}: {case.title}"
        for case in CASES
        if row(asked(journals[case.scene], case), member) != case.verdict
    }


def asked(journal: JournalSnapshot, case: Case) -> Asked:
    """Return the case's request as the table sees it."""
    request = RequestFacts(
        case.key,
        answered=case.answered,
        human=case.human,
        place=case.keys.index(case.key),
        acting=case.key in serving(journal, case.acting),
    )
    return Asked(journal, request, locate(journal, case.keys))


@pytest.mark.parametrize("naive", KILLED_BY, ids=lambda naive: naive.__name__)
def test_a_naive_rule_is_killed_by_these_cases(
    journals: Mapping[str, JournalSnapshot], naive: Member
) -> None:
    assert KILLED_BY[naive]
    assert killers(journals, naive) == KILLED_BY[naive]


def test_the_rule_by_the_ledger_survives_every_case(
    journals: Mapping[str, JournalSnapshot],
) -> None:
    assert killers(journals, by_the_ledger) == set()
