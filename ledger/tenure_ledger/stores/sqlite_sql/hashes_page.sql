SELECT position, hash
FROM stored_events
WHERE position > ? AND position <= ?
ORDER BY position
LIMIT ?
