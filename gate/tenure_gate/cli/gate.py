"""`tenure gate`: what a model would see of a transcript, and why; nothing is written.

The view goes to the standard output, one message a line, in the transcript's own
format; what is said about it goes to the error stream.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from tenure_gate.cli.shared import check_there, ledger_option
from tenure_gate.guard import GuardRejected, InterruptTarget
from tenure_gate.readers import Message, Transcript, load_transcript
from tenure_gate.readers.transcripts import Format
from tenure_gate.refusals import NothingToSay
from tenure_gate.transform import NarrativeTransform
from tenure_gate.verdicts import Verdict
from tenure_gate.view import View
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import OwnerRef
from tenure_projections.opening import open_ledger

__all__ = ["main"]

NAME_WIDTH, KEY_WIDTH = 20, 12
"""Columns of what ``--explain`` prints: verdict, message id, why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 where a model may be called, 1 where nothing may be said.

    What cannot be judged is raised: `tenure` prints it, with the status 2.
    """
    options = _parser().parse_args(argv)
    transcript = _transcript(options.file, options.format)
    owner = OwnerRef(options.owner_class, options.session)
    check_there(options.ledger)
    with open_ledger(options.ledger) as ledger:
        gate = NarrativeTransform(ledger, _NoGuard(), reader=transcript.reader)
        try:
            view = gate.apply(
                owner,
                transcript.messages,
                authority=None,
                acting=options.acting,
                record=False,
            )
        except NothingToSay as refusal:
            if refusal.view is not None:
                _show(refusal.view, explain=options.explain)
            _say(_silence(refusal))
            return 1
    _show(view, explain=options.explain)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure gate",
        description="Print the messages that a model would be given for a transcript, "
        "one a line, by what the ledger says now. Nothing is written: what would be "
        "stripped, admitted or delivered is only left out.",
        epilog="Exit status: 0: this may be sent to a model. 1: nothing may be said "
        "now; the view and the verdict of the acting request are printed all the same. "
        "2: no ledger or no session there, or the transcript cannot be read.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a JSON list of messages, or one message a line; - is standard input",
    )
    ledger_option(parser)
    parser.add_argument("--session", metavar="S", required=True, help="the owner's id")
    parser.add_argument(
        "--class",
        dest="owner_class",
        metavar="CLASS",
        default="session",
        help="the owner's recovery class (default: session)",
    )
    parser.add_argument(
        "--format",
        choices=get_args(Format),
        help="default: told from the messages",
    )
    parser.add_argument(
        "--acting",
        metavar="ID",
        help="the request that the call would serve (default: the one started last "
        "and not settled, else the last)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="say on the error stream what each request is, and why",
    )
    return parser


class _NoGuard:
    """Nothing is interrupted where nothing is written."""

    def interrupt(self, target: InterruptTarget) -> GuardRejected:
        return GuardRejected("no_active_execution", f"not asked about {target.key}")


def _transcript(name: str, form: Format | None) -> Transcript:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as problem:
        msg = f"the transcript cannot be read: {problem}"
        raise InvalidInput(msg) from problem
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        msg = f"the transcript is no UTF-8: {problem.reason} at byte {problem.start}"
        raise InvalidInput(msg) from None
    return load_transcript(text, form)


def _show(view: View, *, explain: bool) -> None:
    for message in view.messages:
        sys.stdout.write(f"{_line(message)}\n")
    sys.stdout.flush()
    if explain:
        _say(_reasons(view.verdicts))


def _line(message: Message) -> str:
    text = json.dumps(message, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Half a surrogate pair, or a terminal that knows few characters.
        return json.dumps(message)
    return text


def _reasons(verdicts: Iterable[Verdict]) -> Iterable[str]:
    for verdict in verdicts:
        columns = f"{verdict.name:<{NAME_WIDTH}} {verdict.key or '-':<{KEY_WIDTH}}"
        yield f"{columns} {verdict.explain()}"


def _silence(refusal: NothingToSay) -> Iterable[str]:
    verdict = refusal.verdict
    if verdict is not None:
        yield f"{verdict.key or 'the acting request'} is {verdict.name}"
    yield f"tenure: {refusal}"
    for key in refusal.open:
        yield f"it may be called with --acting {shlex.quote(key)}"


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stderr.write(f"{line if line.isprintable() else ascii(line)}\n")
