CASE WHEN 'stored_events'::regclass = {table}::oid THEN true
    ELSE current_setting('tenure.replaced')::boolean END
