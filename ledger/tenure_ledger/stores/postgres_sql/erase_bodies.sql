DELETE FROM payloads WHERE stream = $1
