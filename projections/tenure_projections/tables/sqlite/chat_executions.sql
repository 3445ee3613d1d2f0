CREATE TABLE IF NOT EXISTS chat_executions (
    -- What became of each message. Versions are those of the owner's stream.
    recovery_class TEXT NOT NULL,          -- of the owner in recovery_owners
    session_id TEXT NOT NULL,              -- its owner_id
    physical_user_message_id TEXT NOT NULL,
    status TEXT NOT NULL,                  -- waiting (accepted, in no live term),
                                           -- admitted, started, settled, stripped, or
                                           -- lapsed (its term ended before anybody began
                                           -- it; or its owner was deleted)
    outcome TEXT,                          -- how it was settled first: completed, failed,
                                           -- cancelled, retired, stripped,
                                           -- closed_in_recovery, outcome_unknown; what
                                           -- came late does not change it
    origin TEXT,                           -- of its latest admission
    sender TEXT,
    content_digest TEXT,                   -- of its content, as the host gave it
    human INTEGER NOT NULL,                -- 1: a person sent it
    term BIGINT NOT NULL,                  -- number of the term of that admission, or 0
    generation BIGINT NOT NULL,            -- of that admission, or 0
    incarnation TEXT,                      -- the holding of that admission
    absorbed_json TEXT,                    -- ids of the messages merged into it
    absorbed_by TEXT,                      -- the message that it was merged into
    taken_into TEXT,                       -- the running execution that took it in
    accepted_version BIGINT,
    admitted_version BIGINT,               -- the latest admission
    started_version BIGINT,
    output_version BIGINT,                 -- output for a person was marked
    settled_version BIGINT,
    stripped_version BIGINT,               -- a gate kept it out, for ever
    verdict TEXT,                          -- that gate's: stale_admitted, stale_unadmitted
    late_version BIGINT,                   -- a result came after its holding ended
    known_at TEXT,                         -- times are ISO 8601, UTC
    admitted_at TEXT,
    started_at TEXT,
    ended_at TEXT,                         -- settled or stripped, whichever was first
    PRIMARY KEY (recovery_class, session_id, physical_user_message_id)
)
