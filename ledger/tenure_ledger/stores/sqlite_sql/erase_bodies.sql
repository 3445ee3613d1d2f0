DELETE FROM payloads WHERE stream = ?
