INSERT INTO stored_events
    (position, originator_id, originator_version, topic, state, hash)
VALUES (
    CASE WHEN coalesce(pg_try_advisory_xact_lock_shared($7), true) AND (
        SELECT e.hash FROM stored_events e
        WHERE e.originator_id = $2 AND e.originator_version = $3 - 1
        LIMIT 1
    ) = $8 THEN
        ((SELECT base FROM _tenure) + pg_current_xact_id()::text::bigint << 16)
        + $1::int
    ELSE moved($2) END,
    $2, $3, $4, $5, $6
)
RETURNING position
