SELECT count(*) FROM stored_events WHERE position <= $1
