SELECT coalesce(max(position), 0) FROM stored_events WHERE {same} AND position < $1
