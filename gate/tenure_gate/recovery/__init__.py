"""Restart recovery: who is gone, what may come back, and what to do next."""
