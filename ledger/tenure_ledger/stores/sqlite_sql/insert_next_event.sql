INSERT INTO stored_events (originator_id, originator_version, topic, state, hash)
VALUES (?, ?, ?, ?, ?)
