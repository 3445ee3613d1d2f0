CREATE TABLE IF NOT EXISTS interrupts (
    -- Each request that a gate kept out, and the one final answer to its clean-up.
    recovery_class TEXT NOT NULL,          -- of the owner in recovery_owners
    session_id TEXT NOT NULL,              -- its owner_id
    interrupt_id TEXT NOT NULL,
    physical_user_message_id TEXT NOT NULL,
    verdict TEXT NOT NULL,                 -- stale_admitted, stale_unadmitted
    cut_version BIGINT NOT NULL,           -- the cut that it came after
    author TEXT NOT NULL,                  -- who stripped it
    stripped_version BIGINT NOT NULL,
    stripped_at TEXT NOT NULL,             -- ISO 8601, UTC
    outcome TEXT,                          -- interrupted, or the guard's code; NULL: open
    settled_version BIGINT,
    settled_at TEXT,
    PRIMARY KEY (recovery_class, session_id, interrupt_id)
)
