CREATE TABLE IF NOT EXISTS approvals (
    -- Each request for a person's decision. The first decision is final.
    recovery_class text COLLATE "C" NOT NULL, -- of the owner in recovery_owners
    owner_id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    call_id text NOT NULL,                 -- the call that waits for it
    tool text NOT NULL,
    arguments_digest text NOT NULL,        -- what was asked for, and nothing else
    policy_version text NOT NULL,          -- under which it was asked
    state text NOT NULL,                   -- waiting, approved, denied, consumed, closed
    decision text,                         -- approved, denied
    decided_by text,
    close_reason text,                     -- expired, cut, void
    timeout_seconds double precision,
    expires_at timestamp with time zone,   -- times are UTC
    requested_version bigint NOT NULL,
    decided_version bigint,
    consumed_version bigint,               -- its one call was dispatched
    closed_version bigint,
    requested_at timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    ended_at timestamp with time zone,     -- consumed or closed
    PRIMARY KEY (recovery_class, owner_id, request_id)
)
