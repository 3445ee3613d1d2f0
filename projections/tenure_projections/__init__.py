"""Projections of the ledger: folds, tables, replay and audit."""
