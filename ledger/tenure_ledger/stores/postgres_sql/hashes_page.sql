SELECT position, hash
FROM stored_events
WHERE position > $1
ORDER BY position
LIMIT $2
