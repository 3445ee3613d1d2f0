"""The gate: membership, narrative, guard and command line."""
