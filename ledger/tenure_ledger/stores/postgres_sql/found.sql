SELECT c.relname::text, a.attname::text, a.atttypid::bigint,
    format_type(a.atttypid, a.atttypmod)
FROM pg_namespace n
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
LEFT JOIN pg_attribute a
    ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE n.nspname = $1::text
ORDER BY c.relname, a.attnum
