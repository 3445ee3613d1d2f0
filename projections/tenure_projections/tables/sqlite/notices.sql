CREATE TABLE IF NOT EXISTS notices (
    -- What whoever takes work over must be told, and how far each notice got.
    recovery_class TEXT NOT NULL,          -- the owner whose next request it waits for
    owner_id TEXT NOT NULL,
    notice_id TEXT NOT NULL,
    about_class TEXT NOT NULL,             -- the owner whose work stopped
    about_id TEXT NOT NULL,
    about_generation BIGINT NOT NULL,
    event_type TEXT NOT NULL,              -- retirement_cut, instance_restart, late_result,
                                           -- or as given to terminate
    reasons_json TEXT NOT NULL,            -- why it must not run again
    facts_json TEXT NOT NULL,              -- what is known about what it did
    text TEXT NOT NULL,                    -- as it is given to the model
    issued_version BIGINT NOT NULL,
    issued_at TEXT NOT NULL,               -- times are ISO 8601, UTC
    delivered_version BIGINT,
    delivered_to TEXT,                     -- the message whose request carries it
    delivered_at TEXT,
    done_version BIGINT,                   -- that request was completed
    done_at TEXT,
    PRIMARY KEY (recovery_class, owner_id, notice_id)
)
