INSERT INTO commands (stream, command_id, digest, first_version, outcome)
VALUES ($1, $2, $3, $4, $5)
