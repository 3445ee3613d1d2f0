CREATE TABLE IF NOT EXISTS recovery_owner_terminal_events (
    -- Each end that an owner came to: the first of a generation is final.
    recovery_class text COLLATE "C" NOT NULL, -- of the owner in recovery_owners
    owner_id text COLLATE "C" NOT NULL,    -- its id in that class
    generation bigint NOT NULL,            -- the generation that ended
    event_type text COLLATE "C" NOT NULL,  -- what ended it, as given to terminate
    created_at timestamp with time zone NOT NULL DEFAULT now(), -- when
    payload_json text,                     -- terminal_status, incarnation, author, version
    PRIMARY KEY (recovery_class, owner_id, generation, event_type)
)
