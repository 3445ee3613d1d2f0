DELETE FROM payloads WHERE {same} AND stream = $1
