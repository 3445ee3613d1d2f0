CREATE TABLE IF NOT EXISTS retirement_cuts (
    -- The end of each term. What comes after a cut has a higher version.
    recovery_class text COLLATE "C" NOT NULL, -- of the owner in recovery_owners
    session_id text COLLATE "C" NOT NULL,  -- its owner_id
    cut_version bigint NOT NULL,           -- of the cut, in the owner's stream
    generation bigint NOT NULL,            -- the generation that it ended
    incarnation text,                      -- the holding that it ended
    agent_id text,                         -- the agent whose term it ended
    outcome text NOT NULL,                 -- accepted, continue, forced
    boundary_message_id text,              -- the term's last message in the host's list
    boundary_index bigint,                 -- its place there, if the host said it
    handover_digest text,                  -- of the hand-over: its body is in payloads
    author text NOT NULL,
    cut_at timestamp with time zone NOT NULL, -- UTC
    PRIMARY KEY (recovery_class, session_id, cut_version)
)
