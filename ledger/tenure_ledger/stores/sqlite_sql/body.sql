SELECT body FROM payloads WHERE stream = ? AND digest = ?
