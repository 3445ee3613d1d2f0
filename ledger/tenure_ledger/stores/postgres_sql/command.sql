SELECT stream, command_id, digest, first_version, outcome
FROM commands
WHERE {same} AND stream = $1 AND command_id = $2
