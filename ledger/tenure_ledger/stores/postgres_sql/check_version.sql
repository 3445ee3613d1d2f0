SELECT CASE WHEN coalesce((
    SELECT e.originator_version FROM stored_events e
    WHERE e.originator_id = $1
    ORDER BY e.originator_version DESC
    LIMIT 1
), 0) = $2 THEN 0 ELSE moved($1) END
WHERE {same}
