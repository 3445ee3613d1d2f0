CREATE TABLE IF NOT EXISTS runtime_restart_checkpoints (
    -- What each agent would resume after a restart: its one live snapshot.
    agent_id text COLLATE "C" NOT NULL,    -- whose snapshot it is
    mode text NOT NULL,                    -- tool_approval_wait, queued_submission,
                                           -- reaction_loop, scheduled_work
    payload_json text,                     -- the payload; NULL: its body was erased
    created_at bigint NOT NULL,            -- first saved: milliseconds since 1970, UTC
    updated_at bigint NOT NULL,            -- saved last: milliseconds since 1970, UTC
    recovery_class text,                   -- of the owner in recovery_owners
    recovery_owner_id text,                -- its owner_id
    execution_config_json text,            -- with what it would resume; NULL: nothing
    generation bigint NOT NULL,            -- that saved it or carries it on
    PRIMARY KEY (agent_id)
)
