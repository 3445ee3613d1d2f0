-- Whether commits wait for standbys; where they do, this one does too.
SELECT current_setting('synchronous_standby_names') <> '',
    CASE WHEN current_setting('synchronous_standby_names') <> ''
        THEN pg_logical_emit_message(true, 'tenure.word', '') END
