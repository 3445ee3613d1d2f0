SELECT originator_version, hash
FROM stored_events
WHERE {same} AND originator_id = $1
ORDER BY originator_version DESC
LIMIT 1
