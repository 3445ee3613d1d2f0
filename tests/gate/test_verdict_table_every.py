"""Every small case: `judge` and the rows of the table agree, and the count is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import get_args

from immutables import Map
from msgspec.structs import replace

from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import ListFacts, RequestFacts, judge
from tenure_gate.verdicts import VerdictName
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.ownership import Cut, Ownership, Terminal
from tenure_ledger.folds.stream import State
from verdict_rows import Asked, row
from verdict_scenes import S
from worlds import START

KEY = "m"
AT = START
CUTS = {
    version: Cut(version, generation, "i", "accepted", None, None, "a", "host", AT)
    for version, generation in ((10, 1), (20, 2))
}
END = Terminal(30, 3, "done", "ok", "i", "host", AT)
OWNERS = {
    "first term": Ownership("live", term=1),
    "second term": Ownership("live", term=2, cuts=Map({10: CUTS[10]}), cut=CUTS[10]),
    "third term": Ownership("live", term=3, cuts=Map(CUTS), cut=CUTS[20]),
    "waiting": Ownership("cut", term=2, cuts=Map(CUTS), cut=CUTS[20], ended=20),
    "terminal, never cut": Ownership("terminal", term=1, ends=Map({30: END}),
                                     terminal=END, ended=30),
    "terminal": Ownership("terminal", term=3, cuts=Map(CUTS), cut=CUTS[20],
                          ends=Map({30: END}), terminal=END, ended=30),
}  # fmt: skip
PLACES = [
    ListFacts(boundary, first)
    for boundary, first in product((None, 0, 1, 2), (None, 0, 1, 2))
]
YES_NO = (False, True)
CASES_COUNT = 93_184
"""Of every owner, execution, request and place: a table that shrank is noticed."""


def executions() -> Iterator[Execution | None]:
    """Yield what the ledger may know: each fact in each term, and what it never heard.

    Versions 1 to 9 are of the first term, 11 to 19 of the second, 21 to 29 of the
    third.
    """
    yield None
    for accepted, admitted, started, settled, stripped in product(
        (0, 2), (0, 3, 13, 23), (0, 4, 24), (0, 25), (0, 26)
    ):
        if accepted or admitted or stripped:
            yield Execution(
                KEY,
                accepted=accepted,
                admitted=admitted,
                term=admitted // 10 + 1 if admitted else 0,
                generation=admitted // 10 + 1 if admitted else 0,
                started=started,
                settled=settled,
                outcome="completed" if settled else None,
                stripped=stripped,
                verdict="stale_admitted" if stripped else None,
            )


def requests() -> Iterator[RequestFacts]:
    """Yield one request at the place 1 of its list, with every fact."""
    for key, answered, human, acting in product((KEY, None), YES_NO, YES_NO, YES_NO):
        yield RequestFacts(key, answered=answered, human=human, place=1, acting=acting)


def journals() -> Iterator[JournalSnapshot]:
    """Yield every owner that knows every execution."""
    for own, known in product(OWNERS.values(), executions()):
        state = State(S.stream, version=31, ownership=own)
        if known is not None:
            by_key = state.executions.by_key.set(KEY, known)
            told = replace(state.executions, by_key=by_key)
            state = replace(state, executions=told)
        yield JournalSnapshot.of(state)


def test_every_small_case_is_what_the_first_row_says() -> None:
    seen: Counter[str] = Counter()
    for journal, request in product(journals(), requests()):
        # A boundary is where, and only where, a term has ended.
        for place in PLACES:
            if (place.boundary is None) == (journal.ended == 0):
                verdict = judge(journal, request, place)
                assert verdict.name == row(Asked(journal, request, place)), (
                    verdict.evidence
                )
                seen[verdict.name] += 1
    assert seen.keys() == set(get_args(VerdictName))
    assert seen.total() == CASES_COUNT


def test_every_small_case_has_its_words() -> None:
    for journal, request in product(journals(), requests()):
        for place in (ListFacts(None if not journal.ended else 1, 1), PLACES[-1]):
            words = judge(journal, request, place).explain()
            assert words
            assert "None" not in words
            assert " ," not in words


def test_the_last_of_cuts_and_ends_ended_a_term_last() -> None:
    """Also where a claim followed without a cut: a history that came from elsewhere."""
    ended = {name: snapshot(own).ended for name, own in OWNERS.items()}
    assert list(ended.values()) == [0, 10, 20, 20, 30, 30]
    for name in ("terminal, never cut", "terminal"):
        claimed = replace(OWNERS[name], status="live", term=4, terminal=None)
        assert snapshot(claimed).ended == 30


def snapshot(own: Ownership) -> JournalSnapshot:
    return JournalSnapshot.of(State(S.stream, ownership=own))
