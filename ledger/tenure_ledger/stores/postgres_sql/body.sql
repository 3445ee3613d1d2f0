SELECT body FROM payloads WHERE {same} AND stream = $1 AND digest = $2
