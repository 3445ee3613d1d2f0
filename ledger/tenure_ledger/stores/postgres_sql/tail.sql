SELECT position, originator_version, topic, state, hash
FROM stored_events
WHERE {same} AND originator_id = $1 AND originator_version >= $2
ORDER BY originator_version
