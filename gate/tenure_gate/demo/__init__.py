"""The demonstration: `tenure demo`. Written as a user would write it, on `tenure`."""

from tenure_gate.demo.running import main

__all__ = ["main"]
