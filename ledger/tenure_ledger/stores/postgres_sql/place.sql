SELECT schema_version,
    coalesce((SELECT max(position) FROM stored_events), 0)
        >= base + pg_snapshot_xmax(pg_current_snapshot())::text::bigint << 16,
    origin <> here(),
    here(),
    'stored_events'::regclass::oid::bigint
FROM _tenure
