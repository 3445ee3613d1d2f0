SELECT pg_logical_emit_message(true, 'tenure.confirm', '')
