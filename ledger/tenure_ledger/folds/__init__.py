"""Pure folds: from stored events to the state that decisions read."""
