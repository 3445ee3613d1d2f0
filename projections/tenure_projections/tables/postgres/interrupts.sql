CREATE TABLE IF NOT EXISTS interrupts (
    -- Each request that a gate kept out, and the one final answer to its clean-up.
    recovery_class text COLLATE "C" NOT NULL, -- of the owner in recovery_owners
    session_id text COLLATE "C" NOT NULL,  -- its owner_id
    interrupt_id text COLLATE "C" NOT NULL,
    physical_user_message_id text NOT NULL,
    verdict text NOT NULL,                 -- stale_admitted, stale_unadmitted
    cut_version bigint NOT NULL,           -- the cut that it came after
    author text NOT NULL,                  -- who stripped it
    stripped_version bigint NOT NULL,
    stripped_at timestamp with time zone NOT NULL, -- UTC
    outcome text,                          -- interrupted, or the guard's code; NULL: open
    settled_version bigint,
    settled_at timestamp with time zone,
    PRIMARY KEY (recovery_class, session_id, interrupt_id)
)
