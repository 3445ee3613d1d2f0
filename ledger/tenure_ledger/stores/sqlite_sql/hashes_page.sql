SELECT position, hash
FROM stored_events
WHERE position > ?
ORDER BY position
LIMIT ?
