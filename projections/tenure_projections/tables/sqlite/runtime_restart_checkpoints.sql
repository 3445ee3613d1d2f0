CREATE TABLE IF NOT EXISTS runtime_restart_checkpoints (
    -- What each agent would resume after a restart: its one live snapshot.
    agent_id TEXT NOT NULL,                -- whose snapshot it is
    mode TEXT NOT NULL,                    -- tool_approval_wait, queued_submission,
                                           -- reaction_loop, scheduled_work
    payload_json TEXT,                     -- the payload; NULL: its body was erased
    created_at BIGINT NOT NULL,            -- first saved: milliseconds since 1970, UTC
    updated_at BIGINT NOT NULL,            -- saved last: milliseconds since 1970, UTC
    recovery_class TEXT,                   -- of the owner in recovery_owners
    recovery_owner_id TEXT,                -- its owner_id
    execution_config_json TEXT,            -- with what it would resume; NULL: nothing
    generation BIGINT NOT NULL,            -- that saved it or carries it on
    PRIMARY KEY (agent_id)
)
