SELECT (SELECT base FROM _tenure) + pg_current_xact_id()::text::bigint << 16
WHERE {same}
