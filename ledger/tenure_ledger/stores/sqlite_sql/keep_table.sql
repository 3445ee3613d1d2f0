INSERT OR IGNORE INTO kept_tables (name) VALUES (?)
