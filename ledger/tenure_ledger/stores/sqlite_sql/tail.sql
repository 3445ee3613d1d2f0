SELECT position, originator_version, topic, state, hash
FROM stored_events
WHERE originator_id = ? AND originator_version >= ?
ORDER BY originator_version
