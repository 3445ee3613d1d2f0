-- Nobody waits here: whoever has waited in line for the stream holds it alone, and then
-- this one is to try again. ($7 is NULL for the one who holds it.)
INSERT INTO stored_events
    (position, originator_id, originator_version, topic, state, hash)
VALUES (
    CASE WHEN {same} AND coalesce(pg_try_advisory_xact_lock_shared($7), true) THEN
        ((SELECT base FROM _tenure) + pg_current_xact_id()::text::bigint << 16)
        + $1::int
    ELSE moved($2) END,
    $2, $3, $4, $5, $6
)
RETURNING position
