SELECT name FROM kept_tables
