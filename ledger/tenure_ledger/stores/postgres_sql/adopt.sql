UPDATE _tenure SET origin = here() WHERE {same}
