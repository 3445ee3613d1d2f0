CREATE TABLE IF NOT EXISTS chat_executions (
    -- What became of each message. Versions are those of the owner's stream.
    recovery_class text COLLATE "C" NOT NULL, -- of the owner in recovery_owners
    session_id text COLLATE "C" NOT NULL,  -- its owner_id
    physical_user_message_id text COLLATE "C" NOT NULL,
    status text NOT NULL,                  -- waiting (accepted, in no live term),
                                           -- admitted, started, settled, stripped, or
                                           -- lapsed (its term ended before anybody began
                                           -- it; or its owner was deleted)
    outcome text,                          -- how it was settled first: completed, failed,
                                           -- cancelled, retired, stripped,
                                           -- closed_in_recovery, outcome_unknown; what
                                           -- came late does not change it
    origin text,                           -- of its latest admission
    sender text,
    content_digest text,                   -- of its content, as the host gave it
    human integer NOT NULL,                -- 1: a person sent it
    term bigint NOT NULL,                  -- number of the term of that admission, or 0
    generation bigint NOT NULL,            -- of that admission, or 0
    incarnation text,                      -- the holding of that admission
    absorbed_json text,                    -- ids of the messages merged into it
    absorbed_by text,                      -- the message that it was merged into
    taken_into text,                       -- the running execution that took it in
    accepted_version bigint,
    admitted_version bigint,               -- the latest admission
    started_version bigint,
    output_version bigint,                 -- output for a person was marked
    settled_version bigint,
    stripped_version bigint,               -- a gate kept it out, for ever
    verdict text,                          -- that gate's: stale_admitted, stale_unadmitted
    late_version bigint,                   -- a result came after its holding ended
    known_at timestamp with time zone,     -- times are UTC
    admitted_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,     -- settled or stripped, whichever was first
    PRIMARY KEY (recovery_class, session_id, physical_user_message_id)
)
