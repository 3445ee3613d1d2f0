INSERT INTO stored_events
    (position, originator_id, originator_version, topic, state, hash)
VALUES (
    ((SELECT base FROM _tenure) + pg_current_xact_id()::text::bigint << 16) + $1::int,
    $2, $3, $4, $5, $6
)
RETURNING position
