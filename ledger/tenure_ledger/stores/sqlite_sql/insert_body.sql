INSERT INTO payloads (digest, stream, body, key_id)
VALUES (?, ?, ?, ?)
ON CONFLICT (stream, digest) DO NOTHING
