INSERT INTO commands (stream, command_id, digest, first_version, outcome)
VALUES (?, ?, ?, ?, ?)
