SELECT CASE WHEN (
    SELECT e.hash FROM stored_events e
    WHERE e.originator_id = $1
    ORDER BY e.originator_version DESC
    LIMIT 1
) IS NOT DISTINCT FROM $2 THEN 0 ELSE moved($1) END
WHERE {same}
