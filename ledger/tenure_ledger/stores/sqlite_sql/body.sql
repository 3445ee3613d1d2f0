SELECT CAST(body AS BLOB) FROM payloads WHERE stream = ? AND digest = ?
