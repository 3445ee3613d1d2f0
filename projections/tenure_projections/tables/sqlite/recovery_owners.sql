CREATE TABLE IF NOT EXISTS recovery_owners (
    -- Who owns what, now: one row per owner that was ever claimed. A projection of
    -- stored_events, written in the same transaction; `tenure rebuild` proves it.
    recovery_class TEXT NOT NULL,          -- kind of owner: session, subagent, cron ...
    owner_id TEXT NOT NULL,                -- its id in that class
    generation BIGINT NOT NULL DEFAULT 1,  -- the fencing number: rises by one, always
    agent_id TEXT,                         -- that holds it; NULL: nobody, or a thing in use
    message_id TEXT,                       -- the message that its latest term works on
    active_at TEXT NOT NULL,               -- when its latest generation began, by renewal
                                           -- too: ISO 8601, UTC
    terminal_at TEXT,                      -- when the owner came to its end; NULL: open
    terminal_status TEXT,                  -- as given to terminate; or: deleted; or what
                                           -- a recovery or reaper wrote: of a session that
                                           -- waits for its next term, terminal_at is NULL
    PRIMARY KEY (recovery_class, owner_id),
    UNIQUE (agent_id)
)
