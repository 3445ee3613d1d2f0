CREATE TABLE IF NOT EXISTS tool_calls (
    -- Each tool call. Arguments and results are bodies: payloads has them by digest.
    recovery_class TEXT NOT NULL,          -- of the owner in recovery_owners
    owner_id TEXT NOT NULL,
    physical_user_message_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    state TEXT NOT NULL,                   -- intended, dispatched, completed, closed
    outcome TEXT,                          -- of a closed one: outcome_unknown,
                                           -- never_started; what came late does not
                                           -- change it
    idempotency_key TEXT NOT NULL,         -- handed to the tool
    arguments_digest TEXT NOT NULL,
    result_digest TEXT,                    -- of a late result too
    intended_version BIGINT NOT NULL,
    dispatched_version BIGINT,             -- from here on it may have run
    completed_version BIGINT,
    closed_version BIGINT,
    late_version BIGINT,                   -- a result came after its holding ended
    intended_at TEXT NOT NULL,             -- times are ISO 8601, UTC
    dispatched_at TEXT,
    ended_at TEXT,                         -- completed or closed
    PRIMARY KEY (recovery_class, owner_id, physical_user_message_id, call_id)
)
