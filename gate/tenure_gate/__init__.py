"""The gate: membership, narrative, guard, restart recovery and command line."""
