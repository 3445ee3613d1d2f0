"""Any list, any verdicts, any ledger, put together to a view: for tests of the view."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple, get_args

from hypothesis import strategies as st

from gate_lists import FORMATS, Format, Line, journal, verdict
from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message
from tenure_gate.turns import Split, split
from tenure_gate.verdicts import VerdictName
from tenure_gate.view import View, assemble

__all__ = ["PASSING", "Case", "cases", "rows"]

IDS = ["m1", "m2", "m3", "m4", None]
CALLS = ["c1", "c2", "c3"]
NAMES: list[VerdictName | None] = [*get_args(VerdictName), None]
PASSING = {"current", "successor", "history", None}


class Case(NamedTuple):
    """A list in one format, taken apart, and the view of it."""

    host: Format
    messages: list[Message]
    parts: Split
    names: dict[int, VerdictName | None]
    """Verdicts by place."""
    view: View
    floor: bool
    """The host rewrote its history."""
    by: JournalSnapshot
    acting: int | None


@st.composite
def rows(draw: st.DrawFn, *, unique: bool) -> list[Line]:
    """Draw a list in any order; ``unique``: no call id is used, or answered, twice."""
    lines: list[Line] = []
    fresh = iter(range(100))
    open_calls: list[str] = []
    for number in range(draw(st.integers(0, 10))):
        role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        calls: tuple[str, ...] = ()
        results: tuple[str, ...] = ()
        if role == "assistant":
            count = draw(st.integers(0, 2))
            if unique:
                calls = tuple(f"call_{next(fresh)}" for _ in range(count))
                open_calls += calls
            else:
                calls = tuple(draw(st.sampled_from(CALLS)) for _ in range(count))
        if role == "tool" or (role == "user" and draw(st.booleans())):
            pool = open_calls if unique else CALLS
            chosen = st.lists(st.sampled_from(pool), max_size=2, unique=True)
            results = tuple(draw(chosen)) if pool else ()
            open_calls = [call for call in open_calls if call not in results]
        if role == "tool" and not results:
            results = (f"nobody_{number}",)
        name = draw(st.sampled_from(IDS)) if role == "user" else f"x{number}"
        parents = st.sampled_from([None, None, "m1", "m2", "gone", "x1", "x3"])
        parent = draw(parents) if role == "assistant" else None
        lines.append(Line(role, f"says {name}", name, calls, results, parent))
    order = draw(st.permutations(lines)) if draw(st.booleans()) else lines
    return list(order)


EXECUTION = st.fixed_dictionaries(
    {},
    optional={
        "admitted": st.sampled_from([2, 8]),
        "started": st.just(9),
        "settled": st.just(10),
        "outcome": st.sampled_from(["completed", "cancelled"]),
        "stripped": st.just(11),
        "into": st.sampled_from(["m1", "m3", "gone"]),
        "absorbed_by": st.sampled_from(["m2", "m3", "gone"]),
    },
)
FLOOR = st.sampled_from([None, "m1", "m2", "m3", "x2", "x4", "gone"])


@st.composite
def journals(draw: st.DrawFn) -> JournalSnapshot:
    """Draw what the ledger knows of some of the requests."""
    known = draw(st.dictionaries(st.sampled_from(["m1", "m2", "gone"]), EXECUTION))
    floors = draw(st.none() | st.tuples(FLOOR, FLOOR))
    return journal(known, cut=draw(st.sampled_from([0, 5])), floors=floors)


def cases(*, unique: bool) -> st.SearchStrategy[Case]:
    """Draw a list, verdicts, notes and a ledger; put the view together."""

    @st.composite
    def draw_case(draw: st.DrawFn) -> Case:
        host = FORMATS[draw(st.sampled_from(sorted(FORMATS)))]
        messages = host.make(draw(rows(unique=unique)))
        by = draw(journals())
        before = deepcopy(messages)
        parts = split(messages, host.reader, by)
        names: list[VerdictName | None] = [
            draw(st.sampled_from(NAMES)) for _ in parts.requests
        ]
        count = len(names)
        acting = draw(st.none() | st.integers(0, count - 1)) if count else None
        view = assemble(
            messages,
            parts,
            [
                None if name is None else verdict(name, key, by)
                for name, key in zip(names, parts.keys, strict=True)
            ],
            host.reader,
            by,
            acting=acting,
            handover=draw(st.none() | st.just("Done: A. Next: B.")),
            notices=draw(st.lists(st.just("Look at this first."), max_size=2)),
        )
        assert messages == before, "the host's list was changed"
        floor = by.state.relay.rewrite is not None
        places = dict(enumerate(names))
        return Case(host, messages, parts, places, view, floor, by, acting)

    return draw_case()
