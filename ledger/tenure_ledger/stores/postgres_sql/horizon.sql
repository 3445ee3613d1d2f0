-- The least position that may still be committed: that of the oldest of our own
-- writers. Each holds ROW EXCLUSIVE on the table before it has a transaction id, so
-- whoever has none yet gets one that is not below this snapshot's xmax. The locks are
-- looked at after the snapshot; who is not seen has ended, and the next statement sees
-- what it left.
WITH locks AS MATERIALIZED (
    SELECT locktype, database, relation, mode, virtualtransaction, transactionid
    FROM pg_locks
), now AS (
    SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax
)
SELECT (SELECT base FROM _tenure) + coalesce(min(
    -- pg_locks shows the low half of a transaction id: the one that is near.
    now.xmax + ((
        own.transactionid::text::bigint - now.xmax + 2147483648
    ) & 4294967295) - 2147483648
), min(now.xmax)) << 16
FROM now
LEFT JOIN (
    SELECT x.transactionid
    FROM locks t JOIN locks x USING (virtualtransaction)
    WHERE t.locktype = 'relation'
        AND t.mode = 'RowExclusiveLock'
        AND t.relation = 'stored_events'::regclass
        AND t.database = (
            SELECT oid FROM pg_database WHERE datname = current_database()
        )
        AND x.locktype = 'transactionid'
        AND x.mode = 'ExclusiveLock'
) AS own ON true
WHERE {same}
