SELECT stream, command_id, digest, first_version, outcome
FROM commands
WHERE stream = ? AND command_id = ?
