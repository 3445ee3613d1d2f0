-- Where no transaction is open that is older than the head, the head is settled.
SELECT
    coalesce(max(position), 0),
    (SELECT base FROM _tenure)
        + pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 16
FROM stored_events
WHERE {same}
