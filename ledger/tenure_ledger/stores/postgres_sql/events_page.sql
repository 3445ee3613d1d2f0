SELECT position, originator_id, originator_version, topic, state, hash
FROM stored_events
WHERE {same} AND position > $1 AND position <= $2
ORDER BY position
LIMIT $3
