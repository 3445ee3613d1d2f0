SELECT
    CASE WHEN pg_is_in_recovery() THEN 0
        ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
    END,
    current_setting('server_encoding'),
    current_setting('synchronous_standby_names'),
    pg_backend_pid(),
    set_config('search_path', $1, false),
    set_config('TimeZone', 'UTC', false),
    set_config('synchronous_commit', CASE
        WHEN $2 = 'normal' THEN 'off'
        WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
        ELSE current_setting('synchronous_commit') END, false),
    -- A commit that did not wait for its standby says so by a warning.
    set_config('client_min_messages', 'warning', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('statement_timeout', '0', false),
    set_config('lock_timeout', '0', false),
    -- A policy that hides rows is an error: what is not seen would count as not there.
    set_config('row_security', 'off', false),
    -- From PostgreSQL 17 on; before, there is no such setting.
    CASE WHEN current_setting('server_version_num')::int >= 170000
        THEN set_config('transaction_timeout', '0', false) END,
    -- A plan that was made while a table was empty stays: it must use the index.
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    set_config('jit', 'off', false)
