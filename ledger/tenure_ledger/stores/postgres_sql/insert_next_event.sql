-- The row before it is the one that was read, and has a lower position: who has its
-- transaction id already when it reads a stream may find rows of later ones there.
INSERT INTO stored_events
    (position, originator_id, originator_version, topic, state, hash)
VALUES (
    CASE WHEN {same} AND coalesce(pg_try_advisory_xact_lock_shared($7), true) AND (
        SELECT e.hash FROM stored_events e
        WHERE e.originator_id = $2 AND e.originator_version = $3 - 1
            AND e.position < (
                (SELECT base FROM _tenure) + pg_current_xact_id()::text::bigint << 16
            ) + $1::int
        LIMIT 1
    ) = $8 THEN
        ((SELECT base FROM _tenure) + pg_current_xact_id()::text::bigint << 16)
        + $1::int
    ELSE moved($2) END,
    $2, $3, $4, $5, $6
)
RETURNING position
