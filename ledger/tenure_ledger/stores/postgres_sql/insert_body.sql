INSERT INTO payloads (digest, stream, body, key_id)
SELECT $1, $2, $3, $4
WHERE {same}
ON CONFLICT (stream, digest) DO NOTHING
