-- A look-up in the index for each: a DISTINCT would read every row.
WITH RECURSIVE found(name, nth) AS (
    (
        SELECT originator_id, 1 FROM stored_events
        WHERE originator_id > $1
        ORDER BY originator_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT e.originator_id FROM stored_events e
        WHERE e.originator_id > found.name
        ORDER BY e.originator_id
        LIMIT 1
    ), nth + 1
    FROM found
    WHERE found.name IS NOT NULL AND nth < $2
)
SELECT name FROM found WHERE {same} AND name IS NOT NULL ORDER BY nth
