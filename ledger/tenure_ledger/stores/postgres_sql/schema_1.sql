-- Schema version 1. Migrations are numbered and never edited once released.

CREATE TABLE stored_events (
    position bigint NOT NULL,
    originator_id text COLLATE "C" NOT NULL,
    originator_version bigint NOT NULL,
    topic text NOT NULL,
    state bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (position),
    UNIQUE (originator_id, originator_version)
);
COMMENT ON TABLE stored_events IS
    'The ledger: one row per event, only ever added to.';
COMMENT ON COLUMN stored_events.position IS
    'Transaction id << 16 | place in the transaction: ordered like the horizon.';
COMMENT ON COLUMN stored_events.originator_id IS 'The stream.';
COMMENT ON COLUMN stored_events.originator_version IS
    '1, 2, 3 ... in its stream: the fence.';
COMMENT ON COLUMN stored_events.topic IS 'Stored name of the event class.';
COMMENT ON COLUMN stored_events.state IS 'The header of the event.';
COMMENT ON COLUMN stored_events.hash IS
    'SHA-256 of stream, version, topic and header.';

CREATE TABLE commands (
    stream text COLLATE "C" NOT NULL,
    command_id text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    first_version bigint NOT NULL,
    outcome bytea NOT NULL,
    PRIMARY KEY (stream, command_id)
);
COMMENT ON TABLE commands IS
    'Every accepted command, for ever: asked again, it is answered from here.';
COMMENT ON COLUMN commands.stream IS 'The stream that the command names first.';
COMMENT ON COLUMN commands.digest IS 'Of what was asked, to tell reuse.';
COMMENT ON COLUMN commands.first_version IS 'Of its first event in the stream.';
COMMENT ON COLUMN commands.outcome IS 'JSON of the first answer.';

CREATE TABLE payloads (
    digest text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    key_id text,
    PRIMARY KEY (stream, digest)
);
COMMENT ON TABLE payloads IS
    'What a person may have written, apart from the ledger so that it can be erased.';
COMMENT ON COLUMN payloads.digest IS 'What the event refers to.';
COMMENT ON COLUMN payloads.stream IS 'Bodies are erased by stream.';
COMMENT ON COLUMN payloads.key_id IS 'The key it is encrypted under, if it is.';

CREATE TABLE kept_tables (
    name text COLLATE "C" PRIMARY KEY
);
COMMENT ON TABLE kept_tables IS
    'Tables that every writer keeps in the transaction of its events.';

CREATE TABLE _tenure (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    schema_version bigint NOT NULL,
    base bigint NOT NULL,
    origin text NOT NULL
);
COMMENT ON TABLE _tenure IS 'One row: what this schema is.';
COMMENT ON COLUMN _tenure.base IS
    'Added to transaction ids: not 0 where a dump was restored into a cluster whose '
    'ids were lower.';
COMMENT ON COLUMN _tenure.origin IS
    'Where the ledger is written (`here`): a copy elsewhere is told by it.';

CREATE FUNCTION here() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT concat_ws(
        '/',
        (SELECT system_identifier FROM pg_control_system()),
        (SELECT oid FROM pg_database WHERE datname = current_database()),
        'stored_events'::regclass::oid
    )
$$;
COMMENT ON FUNCTION here IS
    'Cluster, database and table: a restored dump has others than it was made with.';
INSERT INTO _tenure (schema_version, base, origin) VALUES (0, 0, here());

CREATE FUNCTION moved(stream text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the stream % has moved', stream USING ERRCODE = 'TN001';
END
$$;
COMMENT ON FUNCTION moved IS
    'Ends a transaction that rests on a stream that is no more as it was read.';

CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: no row is ever changed or deleted', TG_TABLE_NAME;
END
$$;
COMMENT ON FUNCTION never IS 'Keeps tables append-only, whoever asks.';

CREATE TRIGGER stored_events_are_append_only
BEFORE UPDATE OR DELETE OR TRUNCATE ON stored_events
FOR EACH STATEMENT EXECUTE FUNCTION never();

CREATE TRIGGER commands_are_append_only
BEFORE UPDATE OR DELETE OR TRUNCATE ON commands
FOR EACH STATEMENT EXECUTE FUNCTION never();

CREATE TRIGGER payloads_are_never_changed
BEFORE UPDATE ON payloads
FOR EACH STATEMENT EXECUTE FUNCTION never();
