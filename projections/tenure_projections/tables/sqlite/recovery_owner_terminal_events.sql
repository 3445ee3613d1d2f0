CREATE TABLE IF NOT EXISTS recovery_owner_terminal_events (
    -- Each end that an owner came to: the first of a generation is final.
    recovery_class TEXT NOT NULL,          -- of the owner in recovery_owners
    owner_id TEXT NOT NULL,                -- its id in that class
    generation BIGINT NOT NULL,            -- the generation that ended
    event_type TEXT NOT NULL,              -- what ended it, as given to terminate
    created_at TEXT NOT NULL,              -- when: ISO 8601, UTC
    payload_json TEXT,                     -- terminal_status, incarnation, author, version
    PRIMARY KEY (recovery_class, owner_id, generation, event_type)
)
