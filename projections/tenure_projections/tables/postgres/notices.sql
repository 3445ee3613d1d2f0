CREATE TABLE IF NOT EXISTS notices (
    -- What whoever takes work over must be told, and how far each notice got.
    recovery_class text COLLATE "C" NOT NULL, -- the owner whose next request it waits for
    owner_id text COLLATE "C" NOT NULL,
    notice_id text COLLATE "C" NOT NULL,
    about_class text NOT NULL,             -- the owner whose work stopped
    about_id text NOT NULL,
    about_generation bigint NOT NULL,
    event_type text NOT NULL,              -- retirement_cut, instance_restart, late_result,
                                           -- or as given to terminate
    reasons_json text NOT NULL,            -- why it must not run again
    facts_json text NOT NULL,              -- what is known about what it did
    text text NOT NULL,                    -- as it is given to the model
    issued_version bigint NOT NULL,
    issued_at timestamp with time zone NOT NULL, -- times are UTC
    delivered_version bigint,
    delivered_to text,                     -- the message whose request carries it
    delivered_at timestamp with time zone,
    done_version bigint,                   -- that request was completed
    done_at timestamp with time zone,
    PRIMARY KEY (recovery_class, owner_id, notice_id)
)
