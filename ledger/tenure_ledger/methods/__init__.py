"""The public methods of a ledger, one file a subject."""
