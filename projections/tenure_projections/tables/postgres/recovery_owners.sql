CREATE TABLE IF NOT EXISTS recovery_owners (
    -- Who owns what, now: one row per owner that was ever claimed. A projection of
    -- stored_events, written in the same transaction; `tenure rebuild` proves it.
    recovery_class text COLLATE "C" NOT NULL, -- kind of owner: session, subagent, cron ...
    owner_id text COLLATE "C" NOT NULL,    -- its id in that class
    generation bigint NOT NULL DEFAULT 1,  -- the fencing number: rises by one, always
    agent_id text,                         -- that holds it; NULL: nobody, or a thing in use
    message_id text,                       -- the message that its latest term works on
    active_at timestamp with time zone NOT NULL DEFAULT now(), -- when its latest
                                           -- generation began, by renewal too
    terminal_at timestamp with time zone,  -- when the owner came to its end; NULL: open
    terminal_status text,                  -- as given to terminate; or: deleted; or what
                                           -- a recovery or reaper wrote: of a session that
                                           -- waits for its next term, terminal_at is NULL
    PRIMARY KEY (recovery_class, owner_id),
    UNIQUE (agent_id)
)
