CREATE TABLE IF NOT EXISTS tool_calls (
    -- Each tool call. Arguments and results are bodies: payloads has them by digest.
    recovery_class text COLLATE "C" NOT NULL, -- of the owner in recovery_owners
    owner_id text COLLATE "C" NOT NULL,
    physical_user_message_id text COLLATE "C" NOT NULL,
    call_id text COLLATE "C" NOT NULL,
    tool text NOT NULL,
    state text NOT NULL,                   -- intended, dispatched, completed, closed
    outcome text,                          -- of a closed one: outcome_unknown,
                                           -- never_started; what came late does not
                                           -- change it
    idempotency_key text NOT NULL,         -- handed to the tool
    arguments_digest text NOT NULL,
    result_digest text,                    -- of a late result too
    intended_version bigint NOT NULL,
    dispatched_version bigint,             -- from here on it may have run
    completed_version bigint,
    closed_version bigint,
    late_version bigint,                   -- a result came after its holding ended
    intended_at timestamp with time zone NOT NULL, -- times are UTC
    dispatched_at timestamp with time zone,
    ended_at timestamp with time zone,     -- completed or closed
    PRIMARY KEY (recovery_class, owner_id, physical_user_message_id, call_id)
)
