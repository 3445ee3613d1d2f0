INSERT INTO commands (stream, command_id, digest, first_version, outcome)
SELECT $1, $2, $3, $4, $5
WHERE {same}
