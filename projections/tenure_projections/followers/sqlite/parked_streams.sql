CREATE TABLE IF NOT EXISTS parked_streams (
    -- Streams that a read model could not follow; their events wait for a retry.
    follower TEXT NOT NULL,     -- its name in followers
    stream TEXT NOT NULL,
    position BIGINT NOT NULL,   -- of the first event that waits
    version BIGINT NOT NULL,    -- the same event, in its stream
    error TEXT NOT NULL,        -- what its handling raised
    PRIMARY KEY (follower, stream)
) WITHOUT ROWID
