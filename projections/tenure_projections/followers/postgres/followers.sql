CREATE TABLE IF NOT EXISTS followers (
    -- How far each read model beside the ledger's own tables has come.
    name text COLLATE "C" PRIMARY KEY,
    position bigint NOT NULL,   -- every event up to here is handled, or waits below
    tables_json text NOT NULL   -- the tables that are this model's, as it declares them
)
