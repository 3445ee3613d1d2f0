SELECT has_table_privilege('_tenure', 'UPDATE')
