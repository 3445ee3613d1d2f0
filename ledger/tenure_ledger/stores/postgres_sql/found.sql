-- Of each name in the schema its columns; then, of the tables, what is unique.
SELECT c.relname::text, c.relkind::text, a.attname::text, a.atttypid::bigint,
    format_type(a.atttypid, a.atttypmod),
    coalesce(l.collname::text, ''), a.attnotnull, NULL::text
FROM pg_namespace n
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind <> 't'
LEFT JOIN pg_attribute a
    ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE n.nspname = $1::text
UNION ALL
SELECT c.relname::text, c.relkind::text, NULL, NULL, NULL, NULL, NULL,
    o.contype::text || E'\n' || (
        SELECT string_agg(a.attname, E'\n' ORDER BY k.nth)
        FROM unnest(o.conkey) WITH ORDINALITY AS k (num, nth)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num
    )
FROM pg_namespace n
JOIN pg_class c ON c.relnamespace = n.oid
JOIN pg_constraint o ON o.conrelid = c.oid AND o.contype IN ('p', 'u')
JOIN pg_index i ON i.indexrelid = o.conindid AND i.indisvalid AND i.indimmediate
WHERE n.nspname = $1::text
