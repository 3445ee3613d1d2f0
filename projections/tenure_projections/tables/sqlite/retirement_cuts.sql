CREATE TABLE IF NOT EXISTS retirement_cuts (
    -- The end of each term. What comes after a cut has a higher version.
    recovery_class TEXT NOT NULL,          -- of the owner in recovery_owners
    session_id TEXT NOT NULL,              -- its owner_id
    cut_version BIGINT NOT NULL,           -- of the cut, in the owner's stream
    generation BIGINT NOT NULL,            -- the generation that it ended
    incarnation TEXT,                      -- the holding that it ended
    agent_id TEXT,                         -- the agent whose term it ended
    outcome TEXT NOT NULL,                 -- accepted, continue, forced
    boundary_message_id TEXT,              -- the term's last message in the host's list
    boundary_index BIGINT,                 -- its place there, if the host said it
    handover_digest TEXT,                  -- of the hand-over: its body is in payloads
    author TEXT NOT NULL,
    cut_at TEXT NOT NULL,                  -- ISO 8601, UTC
    PRIMARY KEY (recovery_class, session_id, cut_version)
)
