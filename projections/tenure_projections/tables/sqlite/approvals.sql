CREATE TABLE IF NOT EXISTS approvals (
    -- Each request for a person's decision. The first decision is final.
    recovery_class TEXT NOT NULL,          -- of the owner in recovery_owners
    owner_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    call_id TEXT NOT NULL,                 -- the call that waits for it
    tool TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,        -- what was asked for, and nothing else
    policy_version TEXT NOT NULL,          -- under which it was asked
    state TEXT NOT NULL,                   -- waiting, approved, denied, consumed, closed
    decision TEXT,                         -- approved, denied
    decided_by TEXT,
    close_reason TEXT,                     -- expired, cut, void
    timeout_seconds REAL,
    expires_at TEXT,                       -- times are ISO 8601, UTC
    requested_version BIGINT NOT NULL,
    decided_version BIGINT,
    consumed_version BIGINT,               -- its one call was dispatched
    closed_version BIGINT,
    requested_at TEXT NOT NULL,
    decided_at TEXT,
    ended_at TEXT,                         -- consumed or closed
    PRIMARY KEY (recovery_class, owner_id, request_id)
)
