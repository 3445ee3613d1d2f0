"""The ledger: identity, events, decisions and stores."""
