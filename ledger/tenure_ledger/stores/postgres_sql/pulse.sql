SELECT count(*) FROM stored_events WHERE {same} AND position > $1
