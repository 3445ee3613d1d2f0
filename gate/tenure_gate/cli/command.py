"""The command `tenure`: one subcommand for each thing that can be done from a shell."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from tenure_ledger.errors import Fault, Refused

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand named in `argv` (default: the process's own arguments).

    What follows the subcommand's name is handed to it unread. Returns the exit status;
    argparse itself raises `SystemExit(2)` for a command line it cannot read. A ledger
    that cannot be used is one line on the error stream, and status 2.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # An id may have what the encoding of this output cannot say.
        reconfigure(errors="backslashreplace")
    options, rest = _parser().parse_known_args(argv)
    run: Callable[[list[str]], int] = options.run
    try:
        status = run(rest)
        sys.stdout.flush()
    except (Fault, Refused) as problem:
        # What a server said may be several lines.
        lines = (line.strip() for line in str(problem).splitlines())
        print(f"tenure: {' '.join(lines)}", file=sys.stderr)
        return 2
    except OSError as problem:
        # What was found could not be told: a full disk, or nobody reads any more.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        if not isinstance(problem, BrokenPipeError):
            print(f"tenure: the output cannot be written: {problem}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure",
        description="Who may act, speak and be billed: answered from one ledger.",
    )
    parser.add_argument(
        "--version", action="version", version=f"%(prog)s {version('tenure')}"
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, (run, text) in _COMMANDS.items():
        commands.add_parser(name, add_help=False, help=text).set_defaults(run=run)
    return parser


def _demo(argv: list[str]) -> int:
    from tenure_gate import demo

    return demo.main(argv)


def _backup(argv: list[str]) -> int:
    from tenure_gate.cli import backup

    return backup.main(argv)


def _restored(argv: list[str]) -> int:
    from tenure_gate.cli import restored

    return restored.main(argv)


def _gate(argv: list[str]) -> int:
    from tenure_gate.cli import gate

    return gate.main(argv)


def _migrate(argv: list[str]) -> int:
    from tenure_gate.cli import migrate

    return migrate.main(argv)


def _rebuild(argv: list[str]) -> int:
    from tenure_gate.cli import rebuild

    return rebuild.main(argv)


def _recover(argv: list[str]) -> int:
    from tenure_gate.cli import recover

    return recover.main(argv)


def _reap(argv: list[str]) -> int:
    from tenure_gate.cli import recover

    return recover.reap_main(argv)


_COMMANDS: dict[str, tuple[Callable[[list[str]], int], str]] = {
    "demo": (
        _demo,
        (
            "a relay with late leftovers, the rule of flags that dies of them, a "
            "SIGKILL and the recovery after it, all on a real file"
        ),
    ),
    "gate": (
        _gate,
        "show what a model would see of a transcript, and why; writes nothing",
    ),
    "rebuild": (
        _rebuild,
        "make the tables anew from the events; --check only compares",
    ),
    "migrate": (
        _migrate,
        "make the tables of a ledger; --check only looks, --print-sql only tells",
    ),
    "recover": (
        _recover,
        "settle what a restart left; --dry-run only says what would be done",
    ),
    "reap": (_reap, "close what a lease that ran out and a dead process left"),
    "backup": (
        _backup,
        "copy a SQLite ledger that is in use, as a file that knows it is a copy",
    ),
    "restored": (
        _restored,
        "make a restored backup the ledger: no generation is given out again",
    ),
}
"""What does it, and what it does. Each imports what it needs when it is run."""
