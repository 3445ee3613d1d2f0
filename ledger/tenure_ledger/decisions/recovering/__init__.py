"""What a recovery run and a reaper decide (design section 7)."""
