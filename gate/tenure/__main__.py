"""The command line by another name: `python -m tenure`."""

import sys

from tenure_gate.cli import main

if __name__ == "__main__":
    sys.exit(main())
