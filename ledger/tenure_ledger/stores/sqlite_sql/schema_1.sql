-- Schema version 1. Migrations are numbered and never edited once released; the
-- comments inside the statements are kept by SQLite and shown by `.schema`.

CREATE TABLE stored_events (
    -- The ledger: one row per event, only ever added to.
    position INTEGER PRIMARY KEY,        -- rowid alias, so dumps and VACUUM keep it
    originator_id TEXT NOT NULL,         -- the stream
    originator_version INTEGER NOT NULL, -- 1, 2, 3 ... in its stream: the fence
    topic TEXT NOT NULL,                 -- stored name of the event class
    state BLOB NOT NULL,                 -- the header of the event
    hash BLOB NOT NULL,                  -- SHA-256 of the four columns before it
    UNIQUE (originator_id, originator_version)
);

CREATE TABLE commands (
    -- Every accepted command, for ever: asked again, it is answered from here.
    stream TEXT NOT NULL,                -- the stream that the command names first
    command_id TEXT NOT NULL,            -- unique in that stream
    digest BLOB NOT NULL,                -- of what was asked, to tell reuse
    first_version INTEGER NOT NULL,      -- of its first event in the stream
    outcome BLOB NOT NULL,               -- JSON of the first answer
    PRIMARY KEY (stream, command_id)
) WITHOUT ROWID;

CREATE TABLE payloads (
    -- What a person may have written, apart from the ledger so that it can be erased.
    -- It has a rowid on purpose: a body may hold megabytes, and a table WITHOUT ROWID
    -- would keep them in the nodes that every look-up walks through.
    digest TEXT NOT NULL,                -- what the event refers to
    stream TEXT NOT NULL,                -- bodies are erased by stream
    body BLOB NOT NULL,
    key_id TEXT,                         -- the key it is encrypted under, if it is
    PRIMARY KEY (stream, digest)
);

CREATE TABLE kept_tables (
    -- Tables that every writer keeps in the transaction of its events: one that does
    -- not know them may not write here.
    name TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TRIGGER stored_events_are_append_only_on_update
BEFORE UPDATE ON stored_events
BEGIN
    SELECT RAISE(ABORT, 'stored_events is append-only: no row is ever changed');
END;

CREATE TRIGGER stored_events_are_append_only_on_delete
BEFORE DELETE ON stored_events
BEGIN
    SELECT RAISE(ABORT, 'stored_events is append-only: no row is ever deleted');
END;

CREATE TRIGGER commands_are_append_only_on_update
BEFORE UPDATE ON commands
BEGIN
    SELECT RAISE(ABORT, 'commands is append-only: no row is ever changed');
END;

CREATE TRIGGER commands_are_append_only_on_delete
BEFORE DELETE ON commands
BEGIN
    SELECT RAISE(ABORT, 'commands is append-only: no row is ever deleted');
END;

CREATE TRIGGER payloads_are_never_changed_on_update
BEFORE UPDATE ON payloads
BEGIN
    SELECT RAISE(ABORT, 'payloads are erased whole or kept: no row is ever changed');
END;
