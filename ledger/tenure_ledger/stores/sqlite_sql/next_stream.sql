SELECT originator_id
FROM stored_events
WHERE originator_id > ?
ORDER BY originator_id
LIMIT 1
