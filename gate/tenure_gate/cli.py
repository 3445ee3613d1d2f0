"""The command `tenure`: one subcommand for each thing that can be done from a shell."""

import argparse
from collections.abc import Callable, Sequence
from importlib.metadata import version


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand named in `argv` (default: the process's own arguments).

    What follows the subcommand's name is handed to it unread. Returns the exit status;
    argparse itself raises `SystemExit(2)` for a command line it cannot read.
    """
    options, rest = _parser().parse_known_args(argv)
    run: Callable[[list[str]], int] = options.run
    return run(rest)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure",
        description="Who may act, speak and be billed: answered from one ledger.",
    )
    parser.add_argument(
        "--version", action="version", version=f"%(prog)s {version('tenure')}"
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    commands.add_parser(
        "demo",
        add_help=False,
        help="two terms of one session on a real file, a zombie refused, a SIGKILL, "
        "nothing lost",
    ).set_defaults(run=_demo)
    return parser


def _demo(argv: list[str]) -> int:
    from tenure_gate import demo

    return demo.main(argv)
