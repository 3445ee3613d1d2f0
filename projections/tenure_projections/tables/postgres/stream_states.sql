CREATE TABLE IF NOT EXISTS stream_states (
    -- Streams that cannot be folded to their end: their other rows show where the fold
    -- stopped. No row: the stream is in order.
    stream text COLLATE "C" NOT NULL,
    recovery_class text,                   -- of the owner in recovery_owners
    owner_id text,
    agent_id text,                         -- where it is the stream of an agent
    state text NOT NULL,                   -- quarantined, too_new
    version bigint NOT NULL,               -- the event before which the fold stopped
    against_version bigint,                -- the event that it contradicts; 0: nothing
                                           -- on record allows it
    PRIMARY KEY (stream)
)
