INSERT INTO payloads (digest, stream, body, key_id)
VALUES ($1, $2, $3, $4)
ON CONFLICT (stream, digest) DO NOTHING
