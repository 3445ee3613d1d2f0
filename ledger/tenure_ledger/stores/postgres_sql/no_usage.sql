SELECT n.nspname::text FROM pg_namespace n
WHERE n.nspname = (parse_ident(split_part(current_setting('search_path'), ', ', 1)))[1]
    AND NOT has_schema_privilege(n.oid, 'USAGE')
