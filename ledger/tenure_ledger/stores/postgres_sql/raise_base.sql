UPDATE _tenure SET base = (SELECT max(position) >> 16 FROM stored_events) + 1
    - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
WHERE {same}
