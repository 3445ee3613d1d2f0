INSERT INTO stored_events
    (position, originator_id, originator_version, topic, state, hash)
VALUES (?, ?, ?, ?, ?, ?)
