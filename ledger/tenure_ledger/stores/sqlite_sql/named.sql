SELECT type FROM sqlite_master
WHERE name = ?1 COLLATE NOCASE AND type <> 'trigger'
