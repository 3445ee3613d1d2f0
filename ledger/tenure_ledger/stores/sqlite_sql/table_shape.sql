SELECT '', c.name, upper(c.type), c."notnull", c.dflt_value, c.pk
FROM pragma_table_info(?1) c
UNION ALL
SELECT i.name, x.name, upper(x.coll), x.seqno, NULL, NULL
FROM pragma_index_list(?1) i, pragma_index_xinfo(i.name) x
WHERE i.origin <> 'c' AND x.key
