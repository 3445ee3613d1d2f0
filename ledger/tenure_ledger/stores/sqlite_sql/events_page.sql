SELECT position, originator_id, originator_version, topic, state, hash
FROM stored_events
WHERE position > ? AND position <= ?
ORDER BY position
LIMIT ?
