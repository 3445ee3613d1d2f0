SELECT body FROM payloads WHERE stream = $1 AND digest = $2
