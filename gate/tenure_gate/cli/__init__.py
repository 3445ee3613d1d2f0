"""The command line: `tenure` and its subcommands."""

from tenure_gate.cli.command import main

__all__ = ["main"]
