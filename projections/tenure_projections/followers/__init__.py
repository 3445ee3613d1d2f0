"""Read models of a user's own in the ledger's database, kept exactly once."""

from tenure_projections.followers.follower import Follower
from tenure_projections.followers.model import ModelTable, ReadModel
from tenure_projections.followers.rows import ModelRows
from tenure_projections.followers.tracking import Parked

__all__ = ["Follower", "ModelRows", "ModelTable", "Parked", "ReadModel"]
