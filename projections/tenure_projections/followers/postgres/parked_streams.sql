CREATE TABLE IF NOT EXISTS parked_streams (
    -- Streams that a read model could not follow; their events wait for a retry.
    follower text COLLATE "C" NOT NULL,    -- its name in followers
    stream text COLLATE "C" NOT NULL,
    position bigint NOT NULL,              -- of the first event that waits
    version bigint NOT NULL,               -- the same event, in its stream
    error text NOT NULL,                   -- what its handling raised
    PRIMARY KEY (follower, stream)
)
