CREATE TABLE IF NOT EXISTS stream_states (
    -- Streams that cannot be folded to their end: their other rows show where the fold
    -- stopped. No row: the stream is in order.
    stream TEXT NOT NULL,
    recovery_class TEXT,                   -- of the owner in recovery_owners
    owner_id TEXT,
    agent_id TEXT,                         -- where it is the stream of an agent
    state TEXT NOT NULL,                   -- quarantined, too_new
    version BIGINT NOT NULL,               -- the event before which the fold stopped
    against_version BIGINT,                -- the event that it contradicts; 0: nothing
                                           -- on record allows it
    PRIMARY KEY (stream)
)
